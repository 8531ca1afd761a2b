"""Old dates of files in the calendar of Spark 2 are not read as Gregorian dates."""

import io
import re
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


def read(
    metadata: dict[str, str] | None, *, days: list[date | None], times: list[datetime | None], writer: bytes = b""
) -> DataFileRows:
    """Read a file with a date column and a timestamp column in a struct."""
    when = pa.array([{"at": time} for time in times], pa.struct([("at", pa.timestamp("us", "UTC"))]))
    table = pa.table({"day": pa.array(days, pa.date32()), "when": when}).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    content = _replace_writer(sink.getvalue(), writer)
    at = Struct((Field("at", Primitive("timestamp"), True),))
    schema = Struct((Field("day", Primitive("date"), True), Field("when", at, True)))
    return read_rows(pa.BufferReader(content), len(content), schema, None, [], {}, None)


def _replace_writer(content: bytes, writer: bytes) -> bytes:
    """Replace the writer that a footer names by another one, padded to the same length."""
    (named,) = re.findall(rb"parquet-cpp-arrow version [0-9.]+", content)
    return content.replace(named, writer.ljust(len(named))) if writer else content


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
        ({"org.apache.spark.sql.parquet.row.metadata": "{}"}, {"day", "when.at"}),
        ({"org.apache.spark.sql.parquet.row.metadata": "{}", "org.apache.spark.version": "3.1.0"}, set()),
    ],
)
def test_old_values_of_a_legacy_file_are_unknown(metadata: dict[str, str] | None, columns: set[str]) -> None:
    rows = read(metadata, days=[OLD_DAY, None], times=[OLD_TIME, NEW_TIME])
    assert unread(rows) == columns


@pytest.mark.parametrize(
    ("writer", "metadata", "columns"),
    [
        (b"parquet-mr 1.10.1-databricks6", None, {"day", "when.at"}),
        (b"parquet-mr 1.10.1-databricks6", {"org.apache.spark.version": "3.3.0"}, set()),
        (b"parquet-mr version 1.12.3", None, set()),
        (b"parquet-rs version 50.0.0", None, set()),
    ],
)
def test_databricks_file_without_version_is_undecided(
    writer: bytes, metadata: dict[str, str] | None, columns: set[str]
) -> None:
    rows = read(metadata, days=[OLD_DAY, None], times=[OLD_TIME, NEW_TIME], writer=writer)
    assert unread(rows) == columns


def test_timestamps_without_time_zone_are_known() -> None:
    """Spark writes and reads them in the Gregorian calendar in every mode."""
    table = pa.table({"nz": pa.array([-14_831_769_600_000_000, None], pa.timestamp("us"))})
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(LEGACY), sink)
    content, schema = sink.getvalue(), Struct((Field("nz", Primitive("timestamp_ntz"), True),))
    (leaf,) = read_rows(pa.BufferReader(content), len(content), schema, None, [], {}, None).leaves
    assert (leaf.read, leaf.minimum) == (True, -14_831_769_600_000_000)


def test_widened_dates_stay_unknown() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"nz": pa.array([OLD_DAY], pa.date32())}).replace_schema_metadata(LEGACY), sink)
    content, schema = sink.getvalue(), Struct((Field("nz", Primitive("timestamp_ntz"), True),))
    rows = read_rows(pa.BufferReader(content), len(content), schema, None, [], {}, None)
    assert unread(rows) == {"nz"}


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
        "day: has values before 1582-10-15, which its file may store in the calendar of Spark 2",
        "when.at: has values before 1900, which its file may store in the calendar of Spark 2",
    ]
