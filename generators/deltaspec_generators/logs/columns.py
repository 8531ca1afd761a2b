"""Columns of a drawn log's schema, and the strategy of plain ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.logs import revision_features
from deltaspec_generators.logs.state import Body
from deltaspec_generators.logs.value_strategies import NESTED, TYPES, WITHOUT_BOUNDS

__all__ = [
    "Column",
    "assign_column_ids",
    "build_schema_string",
    "column_lists",
    "list_bounded_paths",
    "list_supported_types",
    "physical_name",
]

_PARTS = {"array": ("element",), "map": ("key", "value")}
"""What has an id of its own within a nested type."""


@dataclass(frozen=True)
class Column:
    """A column of the drawn schema."""

    name: str
    kind: str
    """A primitive type, `struct`, or a key of `values.NESTED`."""
    physical: str
    """Name in files, partition values and statistics; the same as `name` without column mapping."""
    id: int | None = None
    """Column id; None without column mapping."""
    fields: tuple[Column, ...] = ()
    text_type: str | None = None
    """`char(n)` or `varchar(n)`, which a schema keeps beside the type `string`."""
    metadata: Body = field(default_factory=dict)
    """What features keep with the column: expressions, defaults, changes of its type, ids of nested parts."""
    nullable: bool = True
    added: bool = False
    """Whether files of before may lack it."""

    def json(self) -> Body:
        """The field as the schema string has it."""
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
        """The column with this metadata besides."""
        return replace(self, metadata=self.metadata | metadata)


def build_schema_string(columns: tuple[Column, ...]) -> str:
    """The schema string of these columns."""
    return encode_json({"type": "struct", "fields": [each.json() for each in columns]})


def list_supported_types(supported: Collection[str]) -> list[str]:
    """Primitive types of tables with these features."""
    ntz = bool({*supported} & {*revision_features.NTZ_FEATURES})
    kinds = [kind for kind in TYPES if ntz or kind != "timestamp_ntz"]
    return [*kinds, "variant"] if revision_features.has_feature(supported, "variantType") else kinds


@st.composite
def column_lists(draw: st.DrawFn, kinds: list[str], others: list[str]) -> tuple[Column, ...]:
    """One to six columns; the first is a long named `id`.

    Args:
        kinds: primitive types that columns, and the fields of structs, may have.
        others: keys of `values.NESTED` and other types that columns may have.
    """
    found = [Column("id", "long", "id")]
    drawn = draw(st.lists(st.sampled_from((*kinds, "struct", *others)), max_size=4))
    for rare in ("timestamp_ntz", "variant"):  # one of them where its feature is there
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
    """The columns with ids and physical names of their own, and the highest id.

    Args:
        columns: without ids.
        revision: the text; the map of nested ids and its keys changed their names with the newest.
        nested: whether elements, keys and values have ids too.
    """
    highest = 0

    def next_id() -> int:
        nonlocal highest
        highest += 1
        return highest

    def numbered(column: Column) -> Column:
        own = next_id()
        inner = tuple(numbered(each) for each in column.fields)
        return replace(column, id=own, physical=physical_name(own), fields=inner)

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


def physical_name(column_id: int) -> str:
    """The physical name that a mapped column of this id gets."""
    return f"col-{column_id:08x}-0000-4000-8000-000000000000"


def list_bounded_paths(columns: tuple[Column, ...]) -> Iterator[tuple[Column, ...]]:
    """Paths of the columns and fields that statistics may bound, from the column inwards."""
    for column in columns:
        if column.kind == "struct":
            yield from ((column, *path) for path in list_bounded_paths(column.fields))
        elif column.kind not in (*WITHOUT_BOUNDS, "void"):
            yield (column,)
