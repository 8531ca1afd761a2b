"""Operations that change the schema of a written table."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import DataType, Field
from deltaspec_generators.schemas.changes import assign_column_ids, widen_field
from deltaspec_generators.schemas.value_conversion import build_converter, convert_all
from deltaspec_generators.table_history.columns import parse_columns
from deltaspec_generators.table_history.written_history import WrittenHistory

_Change = Callable[[tuple[Field, ...]], Sequence[Field]]


class WrittenSchemas(WrittenHistory):
    """Written table whose schema can be changed."""

    def change_schema(self, what: str, change: _Change, path: Sequence[str] = ()) -> None:
        """Change the fields of the schema, or of the struct at a path of fields, elements, keys and values."""
        with self.commit(what):
            self.change_struct(path, change)

    def add_column(self, name: str, kind: Any, *, path: Sequence[str] = (), at: int | None = None) -> None:
        """Add a column, or a field of the struct at a path; `at` is its position, by default the last."""
        new = parse_columns([(name, kind)])
        if self.mapping:
            new = assign_column_ids(new, self.column_ids, own_names=True, nested=self.nested_ids)

        def insert(fields: tuple[Field, ...]) -> Sequence[Field]:
            position = len(fields) if at is None else at
            return [*fields[:position], *new.fields, *fields[position:]]

        self.change_schema(f"add the column {'.'.join((*path, name))}", insert, path)

    def rename_column(self, old: str, new: str, *, path: Sequence[str] = ()) -> None:
        """Rename a column; only with column mapping."""
        with self.commit(f"rename {old} to {new}"):
            if not path and old in self.partition_columns:
                self.partition_columns = [new if each == old else each for each in self.partition_columns]
            rename = lambda fields: [replace(each, name=new) if each.name == old else each for each in fields]  # noqa: E731
            self.change_schema("", rename, path)

    def drop_column(self, name: str, *, path: Sequence[str] = ()) -> None:
        """Drop a column; only with column mapping."""
        self.change_schema(f"drop {name}", lambda fields: [each for each in fields if each.name != name], path)

    def reorder_columns(self, *names: str, path: Sequence[str] = ()) -> None:
        """Change the order of the columns."""
        self.change_schema(
            "reorder the columns", lambda fields: sorted(fields, key=lambda each: names.index(each.name)), path
        )

    def widen(self, name: str, kind: Any, *, path: Sequence[str] = (), steps: Sequence[str] = ()) -> None:
        """Widen the type of a column, or of its elements, keys or values (`steps`)."""
        after = parse_columns([(name, kind)]).fields[0].type
        if not path and name in self.partition_columns:
            self._convert_partition_values(name, after)
        self.change_schema(
            f"widen {name} to {kind}",
            lambda fields: [widen_field(each, steps, after) if each.name == name else each for each in fields],
            path,
        )

    def _convert_partition_values(self, name: str, after: DataType) -> None:
        """Convert the values of a partition column in the live files, whose adds keep the text of the older type."""
        (column,) = (each for each in self.schema.fields if each.name == name)
        key = column_mapping.physical_name(column, self.mapping)
        convert = build_converter(column.type, after)
        for path, stored in self.live.items():
            (value,) = convert_all(convert, [stored.partition[key]])
            self.live[path] = replace(stored, partition={**stored.partition, key: value})

    def make_nullable(self, name: str) -> None:
        """Let a column be null."""
        self.change_schema(
            f"let {name} be null",
            lambda fields: [replace(each, nullable=True) if each.name == name else each for each in fields],
        )

    def enable_mapping(self, mode: str = "name") -> None:
        """Enable column mapping on an existing table: columns keep their names, older files have no field ids."""
        with self.commit(f"enable column mapping by {mode}"):
            self.schema = assign_column_ids(self.schema, self.column_ids, own_names=False, nested=False)
            self.enable("columnMapping", properties={COLUMN_MAPPING_MODE: mode})
