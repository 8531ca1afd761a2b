"""Old dates of files in the calendar of Spark 2 are not read as Gregorian dates."""

import io
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.protocol.schema.data_types import Field, Primitive, Struct
from deltaspec.wire.data.row_reader import DataFileRows, read_rows

LEGACY = {"org.apache.spark.version": "4.2.0", "org.apache.spark.legacyDateTime": ""}
OLD_DAY, NEW_DAY = date(1582, 10, 14), date(1582, 10, 15)
OLD_TIME, NEW_TIME = datetime(1899, 12, 31, tzinfo=UTC), datetime(1900, 1, 2, tzinfo=UTC)


def read(metadata: dict[str, str] | None, *, days: list[date | None], times: list[datetime | None]) -> DataFileRows:
    """Read a file with a date column and a timestamp column in a struct."""
    when = pa.array([{"at": time} for time in times], pa.struct([("at", pa.timestamp("us", "UTC"))]))
    table = pa.table({"day": pa.array(days, pa.date32()), "when": when}).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    content = sink.getvalue()
    at = Struct((Field("at", Primitive("timestamp"), True),))
    schema = Struct((Field("day", Primitive("date"), True), Field("when", at, True)))
    return read_rows(pa.BufferReader(content), len(content), schema, None, [], {}, None)


def unread(rows: DataFileRows) -> set[str]:
    assert len(rows.uncertain) == sum(not leaf.read for leaf in rows.leaves)
    return {".".join(leaf.path) for leaf in rows.leaves if not leaf.read}


@pytest.mark.parametrize(
    ("metadata", "columns"),
    [
        (None, set()),
        ({"org.apache.spark.version": "4.2.0"}, set()),
        ({"org.apache.spark.version": "3.1.1"}, set()),
        ({"org.apache.spark.version": "x"}, set()),
        (LEGACY, {"day", "when.at"}),
        ({"org.apache.spark.version": "2.4.8"}, {"day", "when.at"}),
        ({"org.apache.spark.version": "3.0.0-preview2"}, {"when.at"}),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""}, {"when.at"}),
    ],
)
def test_old_values_of_a_legacy_file_are_unknown(metadata: dict[str, str] | None, columns: set[str]) -> None:
    rows = read(metadata, days=[OLD_DAY, None], times=[OLD_TIME, NEW_TIME])
    assert unread(rows) == columns


def test_values_of_both_calendars_are_known() -> None:
    rows = read(LEGACY, days=[NEW_DAY, None], times=[NEW_TIME, None])
    assert unread(rows) == set()
    day, time = sorted(rows.leaves, key=lambda leaf: leaf.path)
    assert (day.minimum, day.nulls, time.minimum) == (-141427, 1, -2208902400000000)


def test_columns_without_a_value_are_known() -> None:
    nothing: Any = [None, None]
    assert unread(read(LEGACY, days=nothing, times=nothing)) == set()


def test_reason_names_the_column() -> None:
    rows = read(LEGACY, days=[OLD_DAY], times=[OLD_TIME])
    assert sorted(rows.uncertain) == [
        "day: has values before 1582-10-15 in the calendar of Spark 2",
        "when.at: has values before 1900 in the calendar of Spark 2",
    ]
