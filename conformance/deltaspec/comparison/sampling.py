"""Compare a part of a table: some partitions, or rows with values of a column in a range.

The engine reads the part by a condition, with the table as it is, so that its log, partition pruning and file skipping
are tested too. The choice follows from the id of the table: the same table gives the same sample.
"""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from deltaspec.candidates.reference.row_reader import arrow_type
from deltaspec.comparison.judge import RowSelection
from deltaspec.comparison.judged_table import JudgedTable
from deltaspec.errors import InvalidUsage
from deltaspec.model.rows.predicate_trees import build_tree, find_type
from deltaspec.model.rows.predicates import And, Compare, IsNull, Operator, Or, Predicate
from deltaspec.protocol.files.bounds import read_bound
from deltaspec.protocol.files.partition_values import PartitionValueError, has_zone, parse_partition_value
from deltaspec.protocol.files.statistics import StatisticsError, parse_statistics
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Field, Primitive, get_type_name
from deltaspec.sql.logical_row_reader import repeat_value
from deltaspec.suites.predicate_forms import build_sql, is_spellable
from deltaspec.views.data.data_files import DataFile, DataFiles

_MOST_PARTITIONS = 50
"""Partitions of a sample; each makes the condition longer."""
_RANGE_TYPES = ("byte", "short", "integer", "long", "date")
"""Types whose bounds are exact and that every engine compares alike."""
_NOT_SPELLED = (Primitive("binary"), Primitive("float"), Primitive("double"), Primitive("void"))


def select_sample(table: JudgedTable, share: float) -> tuple[JudgedTable, RowSelection]:
    """Return a table with the files that have the rows of a sample, and the condition that selects the rows.

    Args:
        table: the complete table.
        share: of the bytes of its data files, between 0 and 1.

    Raises:
        InvalidUsage: the table has neither usable partition values nor a column with bounds in every file.
    """
    choices = random.Random(table.metadata.id)
    found = _select_partitions(table, share, choices) or _select_range(table, share, choices)
    if found is None:
        raise InvalidUsage(
            f"{table.uri}: --sample needs partition columns, or a column of integers or dates with statistics in "
            "every file"
        )
    files, predicate, columns = found
    rows = table.files.rows
    chosen = rows.filter(pl.col("path_key").is_in(pl.Series(sorted(files), dtype=pl.String).implode()))
    selection = RowSelection(
        build_sql(predicate, table.schema),
        list(build_tree(predicate, table.schema)),
        _build_expression(predicate, table),
        columns,
        selects_files=set(columns) <= set(table.partition_columns),
    )
    return replace(table, files=DataFiles(chosen), bytes=int(chosen["size"].sum() or 0)), selection


def _select_partitions(
    table: JudgedTable, share: float, choices: random.Random
) -> tuple[set[str], Predicate, tuple[str, ...]] | None:
    fields = [field for field in table.schema.fields if field.name in table.partition_columns]
    if not fields or any(field.type in _NOT_SPELLED for field in fields):
        return None
    groups: dict[tuple[Any, ...], list[DataFile]] = {}
    for file in table.files:
        values = _parse_values(table, file, fields)
        if values is not None:
            groups.setdefault(values, []).append(file)
    order = list(groups)
    choices.shuffle(order)
    total, size = max(table.bytes, 1), 0
    files: set[str] = set()
    parts: list[Predicate] = []
    for values in order[:_MOST_PARTITIONS]:
        if parts and size >= share * total:
            break
        size += sum(file.size or 0 for file in groups[values])
        files |= {file.path_key for file in groups[values]}
        parts.append(reduce(And, (_equal(field, value) for field, value in zip(fields, values, strict=True))))
    return (files, reduce(Or, parts), tuple(field.name for field in fields)) if parts else None


def _equal(field: Field, value: Any) -> Predicate:
    return IsNull((field.name,)) if value is None else Compare((field.name,), Operator.EQUAL, value)


def _parse_values(table: JudgedTable, file: DataFile, fields: list[Field]) -> tuple[Any, ...] | None:
    """Return the partition values of a file; None if a condition cannot name them."""
    found = []
    for field in fields:
        name = physical_name(field, table.mapping)
        text = file.partition_values.get(name)
        try:
            value = parse_partition_value(text, field.type)
        except PartitionValueError:
            return None
        is_unclear = get_type_name(field.type) == "timestamp" and text and not has_zone(text)
        if name not in file.partition_values or is_unclear:
            return None
        if value is not None and not is_spellable(value, field.type):
            return None
        found.append(value)
    return tuple(found)


def _select_range(
    table: JudgedTable, share: float, choices: random.Random
) -> tuple[set[str], Predicate, tuple[str, ...]] | None:
    """Choose a range of the column by which the fewest bytes have to be read."""
    best: tuple[int, set[str], Predicate, tuple[str, ...]] | None = None
    files = list(table.files)
    for field in table.schema.fields:
        if get_type_name(field.type) not in _RANGE_TYPES or field.name in table.partition_columns:
            continue
        bounds = [_read_bounds(table, file, field) for file in files]
        known = [each for each in bounds if each is not None]
        if not known or len(known) < len(files):
            continue
        low = choices.choice(known)[0]
        lowest, highest = min(first for first, _ in known), max(last for _, last in known)
        high = low + max(int((highest - lowest) * share), 0)
        chosen = [file for file, (first, last) in zip(files, known, strict=True) if first <= high and last >= low]
        size = sum(file.size or 0 for file in chosen)
        name = (field.name,)
        predicate = And(Compare(name, Operator.AT_LEAST, low), Compare(name, Operator.AT_MOST, min(high, highest)))
        if best is None or size < best[0]:
            best = size, {file.path_key for file in chosen}, predicate, name
    return None if best is None else best[1:]


def _read_bounds(table: JudgedTable, file: DataFile, field: Field) -> tuple[int, int] | None:
    try:
        found = parse_statistics(file.stats or "{}")
    except StatisticsError:
        return None
    name = physical_name(field, table.mapping)
    bounds = []
    for values in (found.min_values, found.max_values):
        stored = (values or {}).get(name)
        value = None if stored is None else read_bound(stored, field.type).value
        if not isinstance(value, int) or not is_spellable(value, field.type):
            return None
        bounds.append(value)
    return bounds[0], bounds[1]


def _build_expression(predicate: Predicate, table: JudgedTable) -> pc.Expression:
    match predicate:
        case And(left, right):
            return _build_expression(left, table) & _build_expression(right, table)
        case Or(left, right):
            return _build_expression(left, table) | _build_expression(right, table)
        case IsNull((name,)):
            return pc.field(name).is_null()
        case Compare((name,), operator, literal):
            kind = arrow_type(find_type(table.schema, (name,)))
            value: pa.Scalar = repeat_value(literal, kind, 1)[0]
            return _OPERATORS[operator](pc.field(name), value)
    raise ValueError(f"no expression for {predicate}")


_OPERATORS = {
    Operator.EQUAL: lambda column, value: column == value,
    Operator.AT_LEAST: lambda column, value: column >= value,
    Operator.AT_MOST: lambda column, value: column <= value,
}
