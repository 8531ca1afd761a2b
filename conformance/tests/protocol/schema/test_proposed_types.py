"""Types that only proposals define: names, storage, partition values and bounds."""

from typing import Any

import pytest

from deltaspec.protocol.schema.data_types import Primitive, Struct, UndefinedType
from deltaspec.protocol.schema.parquet_types import Annotation, Node
from deltaspec.protocol.schema.proposed_types import (
    find_bound_fault,
    find_name_fault,
    find_partition_value_fault,
    find_storage_fault,
    get_family,
    get_interval_type,
)

MONTHS, SECONDS = "interval year to month", "interval day to second"
VECTOR = UndefinedType("udt", Primitive("string"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (MONTHS, MONTHS),
        (SECONDS, SECONDS),
        ("interval year", MONTHS),
        ("interval month", MONTHS),
        ("interval hour to second", SECONDS),
        ("interval second", SECONDS),
        ("interval month to day", None),
        ("interval month to year", None),
        ("interval day to day", None),
        ("interval", None),
        ("interval week", None),
        ("INTERVAL YEAR", None),
        ("long", None),
    ],
)
def test_interval_types(name: str, expected: str | None) -> None:
    assert get_interval_type(name) == expected
    assert (get_family(UndefinedType(name)) == "interval") == (expected is not None)
    assert (find_name_fault(UndefinedType(name)) is None) == (expected in (None, name))


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        (UndefinedType("udt"), None),
        (VECTOR, "udt"),
        (UndefinedType("timestamp_nanos"), "timestamp-nanos"),
        (UndefinedType("timestamp_nanos_ntz"), "timestamp-nanos"),
        (UndefinedType("geography(OGC:CRS84, karney)"), "geospatial"),
        (UndefinedType("time(6)"), None),
        (Primitive("long"), None),
        (Struct(()), None),
    ],
)
def test_families(kind: Any, family: str | None) -> None:
    assert get_family(kind) == family


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [
        ("geometry(OGC:CRS84)", True),
        ("geometry(srid:4326)", True),
        ("geometry(4326)", False),
        ("geometry", False),
        ("geometry(OGC:CRS84, spherical)", False),
        ("geography(OGC:CRS84, spherical)", True),
        ("geography(projjson:crs,vincenty)", True),
        ("geography(OGC:CRS84)", False),
        ("geography(OGC:CRS84, flat)", False),
    ],
)
def test_geospatial_names(name: str, is_valid: bool) -> None:
    assert (find_name_fault(UndefinedType(name)) is None) == is_valid


def leaf(physical: str, annotation: Annotation | None = None) -> Node:
    return Node("x", "optional", physical, annotation)


NANOS_UTC = Annotation("TIMESTAMP", unit="NANOS", utc=True)
NANOS_LOCAL = Annotation("TIMESTAMP", unit="NANOS", utc=False)
MICROS_UTC = Annotation("TIMESTAMP", unit="MICROS", utc=True)


@pytest.mark.parametrize(
    ("kind", "node", "is_valid"),
    [
        (UndefinedType(MONTHS), leaf("INT32"), True),
        (UndefinedType(MONTHS), leaf("INT64"), False),
        (UndefinedType("interval hour"), leaf("INT64"), True),
        (UndefinedType(SECONDS), leaf("INT32"), False),
        (UndefinedType("timestamp_nanos"), leaf("INT64", NANOS_UTC), True),
        (UndefinedType("timestamp_nanos"), leaf("INT64", MICROS_UTC), False),
        (UndefinedType("timestamp_nanos"), leaf("INT64", NANOS_LOCAL), False),
        (UndefinedType("timestamp_nanos"), leaf("INT64"), False),
        (UndefinedType("timestamp_ntz_nanos"), leaf("INT64", NANOS_LOCAL), True),
        (UndefinedType("geometry(OGC:CRS84)"), leaf("BYTE_ARRAY"), True),
        (UndefinedType("geometry(OGC:CRS84)"), leaf("INT96"), False),
        (VECTOR, leaf("BYTE_ARRAY", Annotation("STRING")), True),
        (VECTOR, leaf("INT32"), False),
        (UndefinedType("udt", UndefinedType(MONTHS)), leaf("INT64"), False),
        (UndefinedType("time(6)"), leaf("INT32"), True),
        (Primitive("long"), leaf("INT32"), True),
    ],
)
def test_storage(kind: Any, node: Node, is_valid: bool) -> None:
    assert (find_storage_fault(kind, node) is None) == is_valid


@pytest.mark.parametrize(
    ("name", "text", "is_valid"),
    [
        (MONTHS, "INTERVAL '1-0' YEAR TO MONTH", True),
        (MONTHS, "INTERVAL '-1-11' YEAR TO MONTH", True),
        (MONTHS, "1-0", False),
        (MONTHS, "INTERVAL '7 12:34:56' DAY TO SECOND", False),
        (SECONDS, "INTERVAL '7 12:34:56.123456' DAY TO SECOND", True),
        (SECONDS, "INTERVAL '7' DAY", False),
        ("timestamp_nanos", "1970-01-01T00:00:00.123456789Z", True),
        ("timestamp_nanos", "1970-01-01T00:00:00.123456789", False),
        ("timestamp_nanos", "1970-01-01 00:00:00.123456789Z", False),
        ("timestamp_nanos_ntz", "1970-01-01T00:00:00.123456789", True),
        ("timestamp_nanos_ntz", "1970-01-01T00:00:00.123456", False),
        ("time(6)", "?", True),
        (MONTHS, "", True),
        (MONTHS, None, True),
    ],
)
def test_partition_values(name: str, text: str | None, is_valid: bool) -> None:
    assert (find_partition_value_fault(UndefinedType(name), text) is None) == is_valid


@pytest.mark.parametrize(
    ("kind", "bound", "is_valid"),
    [
        (UndefinedType(MONTHS), 1, False),
        (VECTOR, "a", False),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT(1 2)", True),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT (1.5 -2e3 3 4)", True),
        (UndefinedType("geometry(OGC:CRS84)"), "point zm(1 2 3 4)", True),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT Z (1 2)", False),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT(1)", False),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT(a b)", False),
        (UndefinedType("geometry(OGC:CRS84)"), "POINT(nan 1)", False),
        (UndefinedType("geometry(OGC:CRS84)"), 5, False),
        (UndefinedType("timestamp_nanos"), 5, True),
        (Primitive("long"), 5, True),
    ],
)
def test_bounds(kind: Any, bound: object, is_valid: bool) -> None:
    assert (find_bound_fault(kind, bound) is None) == is_valid
