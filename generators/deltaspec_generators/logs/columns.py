"""Columns of a drawn log, and strategies for plain columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.logs import revision_features
from deltaspec_generators.logs.value_strategies import NESTED, TYPES, WITHOUT_BOUNDS
from deltaspec_generators.names import build_physical_name
from deltaspec_generators.table_state import Body

__all__ = [
    "Column",
    "assign_column_ids",
    "build_schema_string",
    "column_lists",
    "list_bounded_paths",
    "list_supported_types",
]

_PARTS = {"array": ("element",), "map": ("key", "value")}
"""Parts of a nested type that have their own id."""


@dataclass(frozen=True)
class Column:
    """A column of the drawn schema."""

    name: str
    kind: str
    """A primitive type, `struct`, or a key of `value_strategies.NESTED`."""
    physical: str
    """Physical name; equals `name` without column mapping."""
    id: int | None = None
    """Column id; None without column mapping."""
    fields: tuple[Column, ...] = ()
    text_type: str | None = None
    """`char(n)` or `varchar(n)`, stored in the metadata of a string column."""
    metadata: Body = field(default_factory=dict)
    """Field metadata of features: expressions, defaults, type changes, nested ids."""
    nullable: bool = True
    added: bool = False
    """Whether older files may be missing the column."""

    def json(self) -> Body:
        """Return the field as in the schema string."""
        kind: Any = NESTED.get(self.kind, self.kind)
        if self.kind == "struct":
            kind = {"type": "struct", "fields": [each.json() for each in self.fields]}
        metadata: Body = dict(self.metadata)
        if self.id is not None:
            metadata |= {"delta.columnMapping.id": self.id, "delta.columnMapping.physicalName": self.physical}
        if self.text_type is not None:
            metadata["__CHAR_VARCHAR_TYPE_STRING"] = self.text_type
        return {"name": self.name, "type": kind, "nullable": self.nullable, "metadata": metadata}

    def with_metadata(self, metadata: Body) -> Column:
        """Return the column with additional metadata."""
        return replace(self, metadata=self.metadata | metadata)


def build_schema_string(columns: tuple[Column, ...]) -> str:
    """Build the schema string of these columns."""
    return encode_json({"type": "struct", "fields": [each.json() for each in columns]})


def list_supported_types(supported: Collection[str]) -> list[str]:
    """List the primitive types that tables with these features may use."""
    ntz = bool({*supported} & {*revision_features.NTZ_FEATURES})
    kinds = [kind for kind in TYPES if ntz or kind != "timestamp_ntz"]
    return [*kinds, "variant"] if revision_features.has_feature(supported, "variantType") else kinds


@st.composite
def column_lists(draw: st.DrawFn, kinds: list[str], others: list[str]) -> tuple[Column, ...]:
    """Draw one to seven columns; the first is a long named `id`.

    Args:
        kinds: primitive types of columns and struct fields.
        others: keys of `value_strategies.NESTED` and other types of columns.
    """
    found = [Column("id", "long", "id")]
    drawn = draw(st.lists(st.sampled_from((*kinds, "struct", *others)), max_size=4))
    for rare in ("timestamp_ntz", "variant"):  # drawn more often than by chance, where its feature is supported
        if rare in kinds and draw(st.booleans()):
            drawn.insert(0, rare)
    for number, kind in enumerate(drawn):
        name = draw(st.sampled_from(("c", "é", "C"))) + str(number)
        inner: tuple[Column, ...] = ()
        if kind == "struct":
            inner = tuple(Column(each, of, each) for each, of in (("x", "long"), ("y", draw(st.sampled_from(kinds)))))
        text_type = draw(st.sampled_from((None, "char(5)", "varchar(10)"))) if kind == "string" else None
        found.append(Column(name, kind, name, fields=inner, text_type=text_type))
    return tuple(found)


def assign_column_ids(
    columns: tuple[Column, ...], revision: Revision, *, nested: bool
) -> tuple[tuple[Column, ...], int]:
    """Assign ids and physical names to the columns; also return the highest id.

    Args:
        columns: without ids.
        revision: protocol revision; the current one renamed the map of nested ids and its keys.
        nested: whether elements, keys and values get ids too.
    """
    highest = 0

    def next_id() -> int:
        nonlocal highest
        highest += 1
        return highest

    def numbered(column: Column) -> Column:
        own = next_id()
        inner = tuple(numbered(each) for each in column.fields)
        return replace(column, id=own, physical=build_physical_name(own), fields=inner)

    def with_parts(column: Column) -> Column:
        parts = _PARTS.get(column.kind.partition(" ")[0], ())
        if not parts:
            return column
        if revision is Revision.CURRENT:  # [Changed in current]
            ids = {f"{column.physical}.{part}": next_id() for part in parts}
            return column.with_metadata({"delta.columnMapping.nested.ids": ids})
        return column.with_metadata(
            {"parquet.field.nested.ids": {f"{column.name}.{part}": next_id() for part in parts}}
        )

    found = tuple(numbered(each) for each in columns)
    if nested:
        found = tuple(with_parts(each) for each in found)
    return found, highest


def list_bounded_paths(columns: tuple[Column, ...]) -> Iterator[tuple[Column, ...]]:
    """Yield the paths, from the column inwards, of columns and fields that may have bounds."""
    for column in columns:
        if column.kind == "struct":
            yield from ((column, *path) for path in list_bounded_paths(column.fields))
        elif column.kind not in (*WITHOUT_BOUNDS, "void"):
            yield (column,)
