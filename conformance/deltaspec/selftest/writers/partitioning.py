"""Faults in partition values."""

from typing import Any

import msgspec

from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.protocol.actions import Action, Add, Cdc
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Field, get_type_name
from deltaspec.selftest.mutants import Method, faulty_commit, mutant
from deltaspec.selftest.writers.commits import change

SERIALIZED = "partition-values.serialization"


@mutant(FileWriter.serialize, SERIALIZED, suites=("write",), origin="part-002")
def null_written_as_hive_default(original: Method, files: FileWriter, value: Any, field: Field) -> str | None:
    """Writes null as the name of Hive's default partition."""
    return "__HIVE_DEFAULT_PARTITION__" if value is None else original(files, value, field)


@mutant(FileWriter.serialize, SERIALIZED, suites=("write",))
def dates_written_as_days(original: Method, files: FileWriter, value: Any, field: Field) -> str | None:
    """Writes dates as numbers of days."""
    is_date = get_type_name(field.type) == "date" and value is not None
    return str(value) if is_date else original(files, value, field)


@mutant(FileWriter.serialize, SERIALIZED, suites=("write",))
def booleans_written_as_digits(original: Method, files: FileWriter, value: Any, field: Field) -> str | None:
    """Writes booleans as 0 and 1."""
    return str(int(value)) if isinstance(value, bool) else original(files, value, field)


@mutant(FileWriter.serialize, SERIALIZED, suites=("write",), origin="path-003")
def values_percent_encoded(original: Method, files: FileWriter, value: Any, field: Field) -> str | None:
    """Encodes blanks and percent signs of values as in paths."""
    text: str | None = original(files, value, field)
    return text and text.replace("%", "%25").replace(" ", "%20").replace("'", "%27")


@faulty_commit("add.partition-values")
def partition_values_missing(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes no partition values; readers would have to take them from paths."""
    return change(actions, Add, lambda each: msgspec.structs.replace(each, partition_values={}))


@faulty_commit("add.partition-values")
def null_partition_values_left_out(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Leaves out partition values that are null."""
    return change(actions, Add, lambda each: msgspec.structs.replace(
        each, partition_values={key: text for key, text in each.partition_values.items() if text is not None}
    ))  # fmt: skip


@faulty_commit("add.partition-values", origin="cdf-003")
def null_partition_values_left_out_of_changes(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Leaves out partition values of change data files that are null."""
    return change(actions, Cdc, lambda each: msgspec.structs.replace(
        each, partition_values={key: text for key, text in each.partition_values.items() if text is not None}
    ))  # fmt: skip


@faulty_commit("column-mapping.partition-keys-physical", origin="part-012")
def keys_by_display_name(transaction: Transaction, actions: list[Action]) -> list[Action]:
    """Writes partition values of compacted files under the display names of columns."""
    if transaction.kind != "optimize":
        return actions
    names = {physical_name(each, transaction.state.mapping): each.name for each in transaction.state.schema.fields}
    return change(actions, Add, lambda each: msgspec.structs.replace(
        each, partition_values={names[key]: text for key, text in each.partition_values.items()}))  # fmt: skip


@mutant(FileWriter.split, "add.partition-values", suites=("write",))
def files_not_split(original: Method, files: FileWriter, rows: Any) -> Any:
    """Writes the rows of all partitions into a file of the first one."""
    return [(values, rows) for values, _ in original(files, rows)[:1]]
