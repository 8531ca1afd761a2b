"""Requirements of proposals for single file actions: bounds, partition values, and fields of removes.

Source: the proposals in `protocol_rfcs` of delta-io/delta.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from deltaspec.protocol.files.statistics import LeafColumn, StatisticsError, get_entry, iter_entries, parse_integer
from deltaspec.protocol.json_values import JsonError, parse_lossless
from deltaspec.protocol.schema.data_types import DataType, Primitive
from deltaspec.protocol.schema.proposed_types import find_bound_fault, find_partition_value_fault, get_family
from deltaspec.views.table.proposal_checks import ProposalCheck

_BOUNDS = ("minValues", "maxValues")
_COLLATED = "statsWithCollation"
_REQUIREMENTS = {
    "interval": "interval-types.no-bounds",
    "udt": "user-defined-types.no-bounds",
    "geospatial": "geospatial.bounds",
}
_PARTITION_REQUIREMENTS = {
    "interval": "interval-types.partition-values",
    "timestamp-nanos": "timestamp-nanos.partition-values",
}
PARTITION_FAMILIES = frozenset(_PARTITION_REQUIREMENTS)
"""Families of types whose partition values have a form that a proposal defines."""


class ProposedFiles(msgspec.Struct, frozen=True):
    """Requirements of proposals that the file actions of a table version are compared with."""

    columns: tuple[LeafColumn, ...] = ()
    """Columns of proposed types."""
    partition_columns: Mapping[str, DataType] = {}
    """Physical name to type of the partition columns of proposed types."""
    strings: frozenset[tuple[str, ...]] | None = None
    """Physical paths of the string columns, if the table supports collations."""
    is_adaptive: bool = False
    """Whether the table supports adaptiveMetadata."""


class FileFields(msgspec.Struct, frozen=True):
    """Fields of an add or remove action that proposals concern."""

    kind: str
    stats: str | None = None
    partition_values: Mapping[str, str | None] = {}
    deletion_timestamp: int | None = None
    extended_file_metadata: bool | None = None
    vector_storage: str | None = None


def select_columns(leaves: tuple[LeafColumn, ...] | None) -> tuple[LeafColumn, ...]:
    """Return the columns of proposed types."""
    return tuple(each for each in leaves or () if get_family(each.type) in _REQUIREMENTS)


def select_strings(leaves: tuple[LeafColumn, ...] | None) -> frozenset[tuple[str, ...]]:
    """Return the physical paths of string columns."""
    return frozenset(each.path for each in leaves or () if each.type == Primitive("string"))


def find_file_checks(action: FileFields, files: ProposedFiles) -> list[ProposalCheck]:
    """Return the violations of proposals by a file action."""
    found = list(_check_partition_values(action, files))
    statistics = _parse(action.stats)
    if statistics is not None:
        found += _check_bounds(statistics, files)
        found += _check_collated(statistics, files)
    return found + (list(_check_adaptive(action, statistics)) if files.is_adaptive else [])


def _parse(text: str | None) -> dict[str, Any] | None:
    """Return statistics; None without them, or if they are malformed, which other rules report."""
    try:
        found = None if text is None else parse_lossless(text).value
    except JsonError:
        return None
    return found if isinstance(found, dict) else None


def _check_partition_values(action: FileFields, files: ProposedFiles) -> Iterator[ProposalCheck]:
    for name, kind in files.partition_columns.items():
        fault = find_partition_value_fault(kind, action.partition_values.get(name))
        if fault is not None:
            yield ProposalCheck(_PARTITION_REQUIREMENTS[get_family(kind) or ""], name, fault)


def _check_bounds(statistics: dict[str, Any], files: ProposedFiles) -> Iterator[ProposalCheck]:
    for column in files.columns:
        for key in _BOUNDS:
            values = statistics.get(key)
            bound = _get_bound(values, column) if isinstance(values, dict) else None
            fault = None if bound is None else find_bound_fault(column.type, bound)
            if fault is not None:
                requirement = _REQUIREMENTS[get_family(column.type) or ""]
                yield ProposalCheck(requirement, ".".join(column.name), f"{key}: {fault}")
                break


def _get_bound(values: dict[str, Any], column: LeafColumn) -> Any:
    """Return the entry of a column; an object, which bounds of a struct are, counts as a bound."""
    try:
        return get_entry(values, column)
    except StatisticsError as fault:
        return str(fault)


def _check_collated(statistics: dict[str, Any], files: ProposedFiles) -> Iterator[ProposalCheck]:
    collated = statistics.get(_COLLATED)
    if files.strings is None or collated is None:
        return
    fault = None if isinstance(collated, dict) else "is not an object"
    for identifier, bounds in collated.items() if isinstance(collated, dict) else ():
        fault = fault or _find_collated_fault(identifier, bounds, files.strings)
    yield ProposalCheck("collations.statistics-form", _COLLATED, fault)


def _find_collated_fault(identifier: str, bounds: Any, strings: frozenset[tuple[str, ...]]) -> str | None:
    parts = identifier.split(".", 2)
    if len(parts) < 3 or not all(parts):
        return f"{identifier[:80]!r} is not provider.name.version"
    if not isinstance(bounds, dict) or not set(bounds) <= set(_BOUNDS):
        return f"{identifier[:80]} has other keys than minValues and maxValues"
    for key, values in bounds.items():
        if not isinstance(values, dict):
            return f"{key} of {identifier[:80]} is not an object"
        other = next((path for path, _ in iter_entries(values) if path not in strings), None)
        if other is not None:
            return f"{key} of {identifier[:80]} has {'.'.join(other)[:80]}, which is not a string column"
    return None


def _check_adaptive(action: FileFields, statistics: dict[str, Any] | None) -> Iterator[ProposalCheck]:
    inline = "is stored inline" if action.vector_storage == "i" else None
    yield ProposalCheck("adaptive-metadata.no-inline-vectors", "deletionVector", inline)
    if action.kind != "remove":
        return
    timestamp = None if action.deletion_timestamp is None else f"is {action.deletion_timestamp}"
    yield ProposalCheck("adaptive-metadata.removes", "deletionTimestamp", timestamp)
    extended = None if action.extended_file_metadata is True else "is not true"
    yield ProposalCheck("adaptive-metadata.removes", "extendedFileMetadata", extended)
    counted = statistics is not None and parse_integer(statistics.get("numRecords")) is not None
    yield ProposalCheck("adaptive-metadata.removes", "stats", None if counted else "has no numRecords")
