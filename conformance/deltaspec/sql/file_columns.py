"""Columns of one data file, resolved by the table's schema.

A partition column has the value in the log; a column that the file does not have is null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltaspec.protocol.files.partition_values import PartitionValueError, has_zone, parse_partition_value
from deltaspec.protocol.schema.column_mapping import get_partition_types, physical_name
from deltaspec.protocol.schema.data_types import DataType, Field, Struct, get_type_name
from deltaspec.sql.terms import Undecided
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, resolve_columns

_COLLATIONS, _CHAR_VARCHAR = "__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"\bchar(acter)?\s*\(", re.IGNORECASE)
"""In the declared type of a field; for a struct, array or map it covers the nested types."""


def resolve_column(parts: tuple[str, ...], schema: Struct) -> tuple[int, ...]:
    """Return the position of a column among the fields of each level. Raises `Undecided`.

    Names match in lower case. A member must also be unique in upper case: `ſ` and `s` conflict.
    """
    positions: list[int] = []
    kind: DataType = schema
    name = ".".join(parts)
    for part in parts:
        if not isinstance(kind, Struct):
            raise Undecided(f"{name} is inside the type {get_type_name(kind)}")
        found = [position for position, each in enumerate(kind.fields) if each.name.lower() == part.lower()]
        if positions and found:
            found = [position for position, each in enumerate(kind.fields) if each.name.casefold() == part.casefold()]
        if len(found) != 1:
            raise Undecided(f"the schema has {len(found)} columns {name}")
        positions += found
        kind = kind.fields[found[0]].type
    return tuple(positions)


def has_custom_order(field: Field) -> bool:
    """Return whether strings of a field do not compare by their bytes: they have a collation, or are padded `char`."""
    return _COLLATIONS in field.metadata or _CHAR.search(str(field.metadata.get(_CHAR_VARCHAR, ""))) is not None


@dataclass
class FileColumns:
    """Columns of one data file."""

    schema: Struct
    mapping: str | None
    partition_columns: Sequence[str]
    partition_values: Mapping[str, str | None]
    """From the log, by physical name."""
    file_schema: pa.Schema
    first_unambiguous: Mapping[str, int]
    """As `legacy_calendar.find_first_unambiguous_values` returns it."""

    def __post_init__(self) -> None:
        self._partitions = get_partition_types(self.schema, list(self.partition_columns), self.mapping)
        try:
            self._columns = resolve_columns(self.file_schema, self.schema, self.mapping)
        except UnresolvableColumns as error:
            raise Undecided(str(error)) from error

    def get_partition_name(self, field: Field) -> str | None:
        """Return the physical name of a partition column; None for any other field."""
        name = physical_name(field, self.mapping)
        return name if name in self._partitions else None

    def resolve_in_file(self, positions: tuple[int, ...]) -> tuple[list[Field], FileColumn | None]:
        """Return the fields from the top to a column, and the file's column; None if the file does not have it."""
        fields: list[Field] = []
        kind: DataType = self.schema
        column: FileColumn | None = None
        members = self._columns
        is_missing = False
        for position in positions:
            assert isinstance(kind, Struct)
            fields.append(kind.fields[position])
            kind = kind.fields[position].type
            column = members[position]
            is_missing = is_missing or column.place is None
            members = column.members
        return fields, None if is_missing else column

    def get_partition_value(self, name: str, data_type: DataType) -> Any:
        """Return the file's partition value as `parse_partition_value` parses it. Raises `Undecided`."""
        if name not in self.partition_values:
            raise Undecided(f"the log has no value for the partition column {name}")
        text = self.partition_values[name]
        if text and (
            get_type_name(data_type) == "binary" or (get_type_name(data_type) == "timestamp" and not has_zone(text))
        ):
            raise Undecided(f"the value of the partition column {name} depends on its writer")
        try:
            return parse_partition_value(text, data_type)
        except PartitionValueError as error:
            raise Undecided(f"the partition column {name}: {error}") from error

    def get_file_column(self, positions: tuple[int, ...]) -> str | None:
        """Return the top-level column of the file that contains a column of the table; None if it has none."""
        position = self._columns[positions[0]].place
        return None if position is None else str(self.file_schema.names[position])

    def extract_values(self, batch_columns: Mapping[str, pa.Array], positions: tuple[int, ...]) -> pa.Array:
        """Return the values of a column that the file has, from its top-level column. Raises `Undecided`."""
        top = self._columns[positions[0]]
        assert top.place is not None
        array, members = batch_columns[self.file_schema.names[top.place]], top.members
        for position in positions[1:]:
            column = members[position]
            if not pa.types.is_struct(array.type) or column.place is None:
                raise Undecided(f"the file stores {array.type} for a struct")
            array, members = array.flatten()[column.place], column.members
        return array
