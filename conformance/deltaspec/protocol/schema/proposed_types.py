"""Types that only proposals define: names, storage, partition values and bounds.

Source: the proposals Interval Types, User-Defined Types, Nanosecond Timestamps and Geospatial Types in `protocol_rfcs`
of delta-io/delta.
"""

import math
import re
from typing import Literal, TypeAlias

from deltaspec.protocol.schema.data_types import DataType, UndefinedType
from deltaspec.protocol.schema.parquet_types import Node, get_stored_type

Family: TypeAlias = Literal["interval", "udt", "timestamp-nanos", "geospatial"]
"""Types that one proposal defines."""

YEAR_MONTH, DAY_SECOND = "interval year to month", "interval day to second"
_CANONICAL_UNITS = {YEAR_MONTH: ("year", "month"), DAY_SECOND: ("day", "hour", "minute", "second")}
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?", re.ASCII)
_NANOS = {"timestamp_nanos": True, "timestamp_ntz_nanos": False, "timestamp_nanos_ntz": False}
"""Type name to whether values are in UTC. The proposal names no types; engines use these."""
_NANOS_TEXT = re.compile(r"[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z?)", re.ASCII)
_INTERVAL_TEXTS = {
    YEAR_MONTH: re.compile(r"INTERVAL '[+-]?\d{1,10}-\d{1,2}' YEAR TO MONTH", re.ASCII),
    DAY_SECOND: re.compile(r"INTERVAL '[+-]?\d{1,10} \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,6})?' DAY TO SECOND", re.ASCII),
}
_CRS = r"[^(),\s:]+:[^(),\s]+"
_GEOMETRY = re.compile(rf"geometry\({_CRS}\)")
_GEOGRAPHY = re.compile(rf"geography\({_CRS}, ?(spherical|vincenty|thomas|andoyer|karney)\)")
_POINT = re.compile(r"POINT(?: (Z|M|ZM))? ?\(([^()]*)\)", re.IGNORECASE)
_COORDINATES = {None: (2, 3, 4), "Z": (3,), "M": (3,), "ZM": (4,)}


def get_family(data_type: DataType) -> Family | None:
    """Return the proposal that defines a type; None for types of the protocol and for types that nobody defines."""
    if not isinstance(data_type, UndefinedType):
        return None
    if data_type.name == "udt":
        return "udt" if data_type.stored is not None else None
    if data_type.name in _NANOS:
        return "timestamp-nanos"
    if data_type.name.startswith(("geometry", "geography")):
        return "geospatial"
    return "interval" if get_interval_type(data_type.name) else None


def get_interval_type(name: str) -> str | None:
    """Return the canonical name of an interval type; None for other types and for mixed units."""
    match = _INTERVAL.fullmatch(name)
    if match is None:
        return None
    first, last = match[1], match[2] or match[1]
    for canonical, units in _CANONICAL_UNITS.items():
        if first in units and last in units:
            is_range = match[2] is None or units.index(first) < units.index(last)
            return canonical if is_range else None
    return None


def find_name_fault(data_type: UndefinedType) -> str | None:
    """Return why a writer must not spell a proposed type like this, or None."""
    canonical = get_interval_type(data_type.name)
    if canonical is not None:
        return None if data_type.name == canonical else f"{data_type.name} is not spelled {canonical}"
    if data_type.name.startswith("geometry"):
        return None if _GEOMETRY.fullmatch(data_type.name) else f"{data_type.name} is not geometry(<crs>)"
    if data_type.name.startswith("geography"):
        return (
            None if _GEOGRAPHY.fullmatch(data_type.name) else f"{data_type.name} is not geography(<crs>, <algorithm>)"
        )
    return None


def find_storage_fault(data_type: DataType, node: Node) -> str | None:
    """Return why a Parquet node does not store a proposed type as its proposal says, or None."""
    if not isinstance(data_type, UndefinedType):
        return None
    match get_family(data_type):
        case "udt":
            assert data_type.stored is not None
            return find_storage_fault(data_type.stored, node) or get_stored_type(data_type.stored, node).fault
        case "interval":
            expected = "INT32" if get_interval_type(data_type.name) == YEAR_MONTH else "INT64"
            is_expected = node.physical == expected
        case "timestamp-nanos":
            is_utc, found = _NANOS[data_type.name], node.annotation
            expected = f"INT64 TIMESTAMP(NANOS, {'UTC' if is_utc else 'no zone'})"
            is_expected = node.physical == "INT64" and found is not None and found.name == "TIMESTAMP"
            is_expected = is_expected and found is not None and (found.unit, found.utc) == ("NANOS", is_utc)
        case "geospatial":
            expected, is_expected = "BYTE_ARRAY", node.physical == "BYTE_ARRAY"
        case _:
            return None
    return None if is_expected else f"the file stores {node}; the proposal says {expected} for {data_type.name}"


def find_partition_value_fault(data_type: DataType, text: str | None) -> str | None:
    """Return why a partition value does not have the form that the proposal of its type defines, or None."""
    if not text or not isinstance(data_type, UndefinedType):
        return None
    match get_family(data_type):
        case "interval":
            canonical = get_interval_type(data_type.name) or ""
            is_valid = _INTERVAL_TEXTS[canonical].fullmatch(text) is not None
        case "timestamp-nanos":
            match = _NANOS_TEXT.fullmatch(text)
            is_valid = match is not None and (match[1] == "Z") == _NANOS[data_type.name]
        case _:
            return None
    return None if is_valid else f"{text[:80]!r} is not of type {data_type.name}"


def find_bound_fault(data_type: DataType, bound: object) -> str | None:
    """Return why statistics must not have a bound of a proposed type, or None."""
    match get_family(data_type):
        case "interval" | "udt":
            return "the type has no bounds"
        case "geospatial":
            return None if _is_point(bound) else f"{str(bound)[:80]!r} is not a point in well-known text"
    return None


def _is_point(bound: object) -> bool:
    match = _POINT.fullmatch(bound.strip()) if isinstance(bound, str) else None
    if match is None:
        return False
    try:
        numbers = [float(each) for each in match[2].split()]
    except ValueError:
        return False
    dimensions = match[1].upper() if match[1] else None
    return len(numbers) in _COORDINATES[dimensions] and not any(map(math.isnan, numbers))
