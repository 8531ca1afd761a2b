"""Faults in the statistics of written files."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.protocol.actions import Action, Add
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import change

Statistics: TypeAlias = dict[str, Any]


def _edit(original: Method, files: FileWriter, rows: pa.Table, edit: Callable[[Statistics], object]) -> str:
    found: Statistics = msgspec.json.decode(original(files, rows))
    edit(found)
    return msgspec.json.encode(found).decode()


@mutant(FileWriter.compute_statistics, "statistics.num-records", suites=("write",))
def num_records_too_high(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Counts one row too many."""
    return _edit(original, files, rows, lambda found: found.update(numRecords=rows.num_rows + 1))


@mutant(FileWriter.compute_statistics, "statistics.minimum-bounds-data", suites=("write",))
def minima_too_high(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Writes the maximum of integers as their minimum."""

    def edit(found: Statistics) -> None:
        found["minValues"] |= {key: value for key, value in found["maxValues"].items() if isinstance(value, int)}

    return _edit(original, files, rows, edit)


@mutant(FileWriter.compute_statistics, "statistics.minimum-bounds-data", "statistics.maximum-bounds-data",
        suites=("write",), origin="stat-011")  # fmt: skip
def dates_counted_from_year_one(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Counts the days of the bounds of dates from the year 1."""
    dates = {each.name for each in rows.schema if pa.types.is_date(each.type)}

    def shift(text: Any) -> str:
        return (date.min + timedelta(days=(date.fromisoformat(text) - date(1970, 1, 1)).days)).isoformat()

    def edit(found: Statistics) -> None:
        for bounds in (found["minValues"], found["maxValues"]):
            bounds.update({key: shift(value) for key, value in bounds.items() if key in dates})

    return _edit(original, files, rows, edit)


@mutant(FileWriter.compute_statistics, "statistics.null-count", suites=("write",))
def nulls_not_counted(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Writes 0 as the null count of every column."""
    return _edit(original, files, rows, lambda found: found.update(nullCount=dict.fromkeys(found["nullCount"], 0)))


@mutant(FileWriter.compute_statistics, "statistics.tight-null-count", suites=("write",), origin="dv-012")
def all_null_columns_without_nulls(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Writes 0 as the null count of columns that have no value."""

    def edit(found: Statistics) -> None:
        counts = found["nullCount"]
        found["nullCount"] = {key: 0 if count == rows.num_rows else count for key, count in counts.items()}

    return _edit(original, files, rows, edit)


@mutant(FileWriter.compute_statistics, "column-mapping.statistics-physical", suites=("write",))
def statistics_by_display_name(original: Method, files: FileWriter, rows: pa.Table) -> str:
    """Writes statistics under the display names of mapped columns."""
    names = {str(each.metadata.get(PHYSICAL_NAME, each.name)): each.name for each in files.state.schema.fields}

    def edit(found: Statistics) -> None:
        for part in ("minValues", "maxValues", "nullCount"):
            found[part] = {names.get(key, key): value for key, value in found[part].items()}

    return _edit(original, files, rows, edit)


@faulty_commit("statistics.tight-flag", "statistics.tight-bounds", origin="dv-012")
def bounds_kept_tight(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Leaves tightBounds true when a vector deletes rows."""
    return change(actions, Add, lambda each: msgspec.structs.replace(
        each, stats=each.stats and each.stats.replace('"tightBounds":false', '"tightBounds":true')))  # fmt: skip


@faulty_commit("deletion-vectors.needs-num-records", origin="dv-012")
def statistics_dropped_with_vectors(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Drops the statistics of a file that gets a deletion vector, its number of rows included."""
    return change(actions, Add, lambda each: each if each.deletion_vector is None
                  else msgspec.structs.replace(each, stats=None))  # fmt: skip


@faulty_commit("statistics.num-records")
def deleted_rows_not_counted(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Counts only the rows that a vector leaves."""

    def edit(add: Add) -> Add:
        if add.deletion_vector is None or add.stats is None:
            return add
        found = msgspec.json.decode(add.stats)
        found["numRecords"] -= add.deletion_vector.cardinality
        return msgspec.structs.replace(add, stats=msgspec.json.encode(found).decode())

    return change(actions, Add, edit)
