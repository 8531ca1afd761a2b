"""Draw the last commits of a table, after its layout: their choices come after all others.

So the tables of recorded choices, which end before, stay as they were.
"""

import math
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.files import paths
from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec.protocol.schema.data_types import Decimal, Primitive, Struct
from deltaspec_generators.data_files.statistics import shorten_decimal
from deltaspec_generators.data_files.stored_files import Row
from deltaspec_generators.operations.row_operations import draw_file
from deltaspec_generators.operations.table_operations import add_transaction
from deltaspec_generators.table_history.file_options import FileOptions
from deltaspec_generators.table_uris import ELSEWHERE_URI, ELSEWHERE_URI_OF_HADOOP
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.file_writer import draw_file_options, draw_partition, draw_rows

_FLOATS = (Primitive("float"), Primitive("double"))
_EQUAL_VALUES = (-0.0, 0.0, math.copysign(math.nan, -1.0))
"""Floats that differ in their bits from others that are equal, or that engines treat as equal."""


def draw_equal_values(builder: DataTableBuilder) -> None:
    """Append one or two files with zeros of one sign, decimals without zeros at the end, and other equal values.

    Some files are outside of the table, as in a shallow clone.
    """
    for _ in builder.choices.repeat(1, 2):
        number = builder.choices.pick(_EQUAL_VALUES)
        rows = [
            _replace_floats(row, builder.data_schema, number)
            for row in draw_rows(builder, builder.choices.integer(1, 3))
        ]
        partition = _replace_floats(draw_partition(builder), Struct(tuple(builder.partition_fields)), number)
        options = draw_file_options(builder, rows, partition)
        options = replace(
            options,
            style=replace(options.style, decimals="short"),
            texts={**(options.texts or {}), **_shorten_texts(builder, partition)},
        )
        if builder.choices.chance(1, 2):
            options = _move_elsewhere(builder, options)
        builder.add_file(rows, partition, options)


def _replace_floats(row: Row, schema: Struct, number: float) -> Row:
    """Return a row with this number in every column of floats."""
    return row | {each.name: number for each in schema.fields if each.type in _FLOATS}


def _shorten_texts(builder: DataTableBuilder, partition: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of decimal partition values without zeros at the end, by logical name."""
    fields = zip(builder.partition_fields, builder.partition_columns, strict=True)
    texts = {
        logical: serialize_partition_value(partition[each.name], each.type)
        for each, logical in fields
        if isinstance(each.type, Decimal)
    }
    return {name: shorten_decimal(text) for name, text in texts.items() if text is not None}


def _move_elsewhere(builder: DataTableBuilder, options: FileOptions) -> FileOptions:
    assert options.name is not None
    builder.record("path:elsewhere")
    root = builder.choices.pick((ELSEWHERE_URI, ELSEWHERE_URI_OF_HADOOP))
    return replace(options, path=root + paths.encode(options.name))


def can_remove(builder: DataTableBuilder) -> bool:
    """Return whether a file with rows may be removed, and others remain."""
    return sum(stored.live_count > 0 for stored in builder.list_files()) > 1 and not builder.append_only


def draw_removal_in_transaction(builder: DataTableBuilder) -> None:
    """Record a transaction of an application in a commit that only removes a file."""
    add_transaction(builder)
    builder.remove_file(draw_file(builder))
