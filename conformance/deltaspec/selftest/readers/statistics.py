"""Faults in skipping files by statistics and partition values."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.candidates.serve import EngineError
from deltaspec.model.rows.predicates import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    StartsWith,
)
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.selftest.mutants import Method, mutant

SKIPPING = "statistics.skipping"
Body = dict[str, Any]


def skip_with(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable,
              change: Callable[[Body], Any]) -> bool:  # fmt: skip
    """Return whether a file would be skipped with changed statistics."""
    if add.stats is not None:
        try:
            stats = msgspec.json.decode(add.stats)
        except msgspec.DecodeError:
            stats = None
        if isinstance(stats, dict):
            change(stats)
            add = msgspec.structs.replace(add, stats=json.dumps(stats))
    return bool(original(engine, condition, add, state))


def change_leaves(side: Any, change: Callable[[Any], Any]) -> Any:
    """Return bounds or counts with every leaf changed."""
    if isinstance(side, dict):
        return {name: change_leaves(each, change) for name, each in side.items()}
    return change(side)


def _change_side(stats: Body, side: str, change: Callable[[Any], Any]) -> None:
    if side in stats:
        stats[side] = change_leaves(stats[side], change)


def _cut(value: Any) -> Any:
    """Replace a cut maximum by a string just below what remains of it, which is not a prefix of the values."""
    is_cut = isinstance(value, str) and value[-1:] in ("\x7f", "\U0010ffff")
    return f"{value[:-2]}{chr(ord(value[-2]) - 1)}\U0010ffff" if is_cut and len(value) > 1 else value


@mutant(Engine.skips, "statistics.tight-by-default", suites=("predicates",))
def cut_maxima_taken_for_largest(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Compares with a maximum that was cut off, without the characters after it."""
    return skip_with(original, engine, condition, add, state, lambda stats: _change_side(stats, "maxValues", _cut))


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-002")
def cut_timestamps_taken_for_largest(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Compares with a maximum in milliseconds although the values have microseconds."""
    if not (isinstance(condition, Compare) and isinstance(condition.literal, int) and condition.literal % 1000):
        return bool(original(engine, condition, add, state))
    # the reference adds 999 microseconds to the maximum; with a literal between milliseconds, one less undoes this
    return skip_with(
        original, engine, condition, add, state, lambda stats: _change_side(stats, "maxValues", _subtract_millisecond)
    )


def _subtract_millisecond(value: Any) -> Any:
    if not (isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z?", value)):
        return value
    moment = datetime.fromisoformat(value.removesuffix("Z")) - timedelta(milliseconds=1)
    return moment.isoformat(timespec="milliseconds") + "Z" * value.endswith("Z")


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def maxima_taken_for_minima(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Takes the maximum for both bounds."""
    return skip_with(
        original, engine, condition, add, state, lambda stats: stats.update(minValues=stats.get("maxValues", {}))
    )


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-018")
def missing_null_counts_taken_for_zero(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Takes a missing null count for zero."""
    counts = {physical_name(each, state.mapping): 0 for each in state.schema.fields}
    return skip_with(
        original, engine, condition, add, state,
        lambda stats: stats.update(nullCount={**counts, **(stats.get("nullCount") or {})}),
    )  # fmt: skip


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-007")
def files_without_statistics_skipped(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips files without statistics if there is a predicate."""
    return (condition is not None and add.stats is None) or bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-018")
def columns_without_bounds_taken_for_null(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Takes a column without bounds for a column of nulls, and skips the file for comparisons."""
    if isinstance(condition, Compare) and len(condition.column) == 1 and add.stats is not None:
        names = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}
        maxima = json.loads(add.stats).get("maxValues", {})
        if condition.column[0] not in state.partition_columns and names[condition.column[0]] not in maxima:
            return True
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, "statistics.wide-null-count-else", suites=("predicates",))
def wide_null_counts_believed(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Concludes from a null count of some rows, less those that a vector deletes, that none is left."""
    deleted = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return skip_with(
        original, engine, condition, add, state,
        lambda stats: _change_side(
            stats, "nullCount", lambda count: 0 if isinstance(count, int) and count <= deleted else count
        ),
    )  # fmt: skip


@mutant(Engine.skips, "statistics.tight-by-default", suites=("predicates",))
def null_counts_not_reduced_by_vectors(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Takes the number of rows less those that a vector deletes for the number that all-null columns have."""
    deleted = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return skip_with(
        original, engine, condition, add, state, lambda stats: stats.update(numRecords=stats["numRecords"] - deleted)
    )


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def one_side_of_or_enough(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Skips a file if one side of OR rules it out."""
    return bool(original(engine, _replace_or(condition), add, state))


def _replace_or(condition: Any) -> Any:
    match condition:
        case Or(left, right) | And(left, right):
            return And(_replace_or(left), _replace_or(right))
        case Not(operand):
            return Not(_replace_or(operand))
    return condition


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def not_inverts_skipping(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Skips a file for NOT p if it would read it for p."""
    if isinstance(condition, Not):
        return not original(engine, condition.operand, add, state)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def null_safe_equality_taken_for_equality(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips every file for a null-safe comparison with null."""
    if isinstance(condition, NullSafeEqual):
        condition = Compare(condition.column, Operator.EQUAL, condition.literal)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def bounds_excluded(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Skips a file whose bound equals the literal of >= or <=."""
    exclusive = {Operator.AT_LEAST: Operator.GREATER, Operator.AT_MOST: Operator.LESS}
    if isinstance(condition, Compare) and condition.operator in exclusive:
        condition = Compare(condition.column, exclusive[condition.operator], condition.literal)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-024")
def is_null_skips_files_with_bounds(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips a file for IS NULL if the column has bounds."""
    if isinstance(condition, IsNull) and add.stats is not None and len(condition.column) == 1:
        names = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}
        if names[condition.column[0]] in json.loads(add.stats).get("minValues", {}):
            return True
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def is_not_null_needs_null_count_zero(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips a file for IS NOT NULL if the column has any null."""
    if isinstance(condition, IsNotNull) and add.stats is not None and len(condition.column) == 1:
        names = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}
        if json.loads(add.stats).get("nullCount", {}).get(names[condition.column[0]], 0):
            return True
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def numbers_rounded_to_double(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Parses the bounds of long values and decimals as floating-point numbers."""

    def round_number(value: Any) -> Any:
        return int(float(value)) if isinstance(value, int) and abs(value) > 2**53 and value < 2**63 - 1024 else value

    return skip_with(
        original, engine, condition, add, state, lambda stats: _change_side(stats, "maxValues", round_number)
    )


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def floats_without_bounds_taken_for_nan(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips files with a floating-point column without bounds, as if it had only NaN."""
    if isinstance(condition, Compare) and isinstance(condition.literal, float) and add.stats is not None:
        names = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}
        bounds = json.loads(add.stats).get("maxValues")
        if len(condition.column) == 1 and bounds and names[condition.column[0]] not in bounds:
            return bool(condition.literal == condition.literal)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, "column-mapping.log-read-by-physical-name", suites=("predicates",))
def statistics_looked_up_by_position(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Takes the bounds of the first columns in the order of the schema, although they are stored by name."""
    names = [physical_name(each, state.mapping) for each in state.schema.fields]

    def shift(stats: Body) -> None:
        for side in ("minValues", "maxValues", "nullCount"):
            values = list((stats.get(side) or {}).values())
            stats[side] = dict(zip(names, values, strict=False))

    return skip_with(original, engine, condition, add, state, shift)


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="part-013")
def partition_values_compared_as_text(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Compares the texts of partition values with the text of a literal."""
    texts = {each.name: add.partition_values.get(physical_name(each, state.mapping)) for each in state.schema.fields}
    if isinstance(condition, Compare) and condition.column[0] in state.partition_columns:
        text = texts[condition.column[0]]
        literal = condition.literal
        if isinstance(literal, int | float | str) and text and not isinstance(literal, bool):
            order = (text > str(literal)) - (text < str(literal))
            matches = {Operator.LESS: order < 0, Operator.AT_MOST: order <= 0, Operator.EQUAL: order == 0,
                       Operator.AT_LEAST: order >= 0, Operator.GREATER: order > 0}  # fmt: skip
            return not matches.get(condition.operator, True)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="part-013")
def inequality_skips_other_partitions(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Treats <> as = when it chooses partitions."""
    is_partition = isinstance(condition, Compare) and condition.column[0] in state.partition_columns
    if is_partition and condition.operator is Operator.NOT_EQUAL:
        condition = Compare(condition.column, Operator.EQUAL, condition.literal)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="cm-013")
def nested_statistics_found_by_leaf_name(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Uses the statistics of a field in a struct for a column of the same name."""

    def flatten(stats: Body) -> None:
        for side in ("minValues", "maxValues", "nullCount"):
            found = stats.get(side)
            if isinstance(found, dict):
                inner = {
                    name: value for each in found.values() if isinstance(each, dict) for name, value in each.items()
                }
                stats[side] = {**found, **{name: value for name, value in inner.items() if name in found}}

    return skip_with(original, engine, condition, add, state, flatten)


@mutant(Engine.skips, SKIPPING, suites=("predicates",), origin="stat-015")
def required_columns_need_bounds(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Fails to filter if a column that is not nullable has no bounds."""
    if condition is not None and add.stats is not None:
        minima = json.loads(add.stats).get("minValues", {})
        if any(not each.nullable and physical_name(each, state.mapping) not in minima for each in state.schema.fields):
            raise EngineError("corrupt", "a required column is null", phase="scan")
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def prefixes_skip_files_with_nulls(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips a file for LIKE 'x%' if the column has a null."""
    if isinstance(condition, StartsWith) and add.stats is not None and len(condition.column) == 1:
        names = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}
        if json.loads(add.stats).get("nullCount", {}).get(names[condition.column[0]], 0):
            return True
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def bounds_need_the_prefix(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Skips a file for LIKE 'x%' if no bound begins with the prefix."""
    if isinstance(condition, StartsWith) and condition.prefix and add.stats is not None and len(condition.column) == 1:
        name = {each.name: physical_name(each, state.mapping) for each in state.schema.fields}[condition.column[0]]
        stats = json.loads(add.stats)
        bounds = [(stats.get(side) or {}).get(name) for side in ("minValues", "maxValues")]
        if None not in bounds:
            return not any(str(each).startswith(condition.prefix) for each in bounds)
    return bool(original(engine, condition, add, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def only_first_member_of_lists_checked(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Compares the bounds with the first member of the list of IN."""
    if isinstance(condition, In):
        condition = Compare(condition.column, Operator.EQUAL, condition.literals[0])
    return bool(original(engine, condition, add, state))
