"""Statistics that the rows contradict, or that readers misinterpret."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug, no_finding
from known_bugs.single_file_tables import build_bounds, build_feature_protocol, build_single_file_table

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    remove_action,
)
from planted_tables.bases import log_only

BLOSSOM = "\U0001f33c"
VECTORS = {"delta.enableDeletionVectors": "true"}


@known_bug("stat-001", level="rows", STA002=1)
def truncated_maximum_below_a_supplementary_character(is_sound: bool) -> TableFiles:
    """A maximum is truncated to 32 characters plus U+FFFD, which sorts below the blossom that was cut off."""
    value = "a" * 32 + BLOSSOM
    high = "a" * 32 + ("\U0010ffff" if is_sound else "\ufffd")
    return build_single_file_table(_build_column(value, "a"), [("v", "string")], stats=build_bounds("v", "a", high))


@known_bug("stat-001", level="rows", STA004=1)
def untruncated_maximum_of_32_characters_raised(is_sound: bool) -> TableFiles:
    """A value of exactly 32 characters needs no truncation, but its maximum is raised."""
    value = "a" * 32
    high = value if is_sound else value + "\ufffd"
    return build_single_file_table(_build_column(value), [("v", "string")], stats=build_bounds("v", value, high))


@no_finding(
    "stat-002",
    "the protocol describes maxima truncated to milliseconds; readers must not skip by exact comparison",
    level="rows",
)
def timestamp_maximum_truncated_to_milliseconds() -> TableFiles:
    """The file contains .080758, the statistics say .080, and readers that compare exactly skip the row."""
    value = datetime(2024, 2, 29, 12, 0, 0, 80758, UTC)
    text = "2024-02-29T12:00:00.080Z"
    return build_single_file_table(
        _build_column(value, kind=pa.timestamp("us", "UTC")), [("v", "timestamp")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-003", level="rows", STA013=1)
def timestamp_bounds_in_microseconds(is_sound: bool) -> TableFiles:
    """Timestamp bounds have microseconds, which readers of milliseconds interpret as minutes."""
    value = datetime(2024, 2, 29, 12, 0, 0, 298677, UTC)
    text = "2024-02-29T12:00:00.298Z" if is_sound else "2024-02-29T12:00:00.298677Z"
    return build_single_file_table(
        _build_column(value, kind=pa.timestamp("us", "UTC")), [("v", "timestamp")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-004", level="rows", STA009=1)
def time_zone_in_timestamp_ntz_bounds(is_sound: bool) -> TableFiles:
    """Bounds of a timestamp without time zone are written as if it were in UTC."""
    text = "2024-02-29T12:00:00.500" + ("" if is_sound else "Z")
    table = _build_column(1_709_208_000_500_000, kind=pa.timestamp("us"))
    return build_single_file_table(
        table,
        [("v", "timestamp_ntz")],
        protocol=build_feature_protocol("timestampNtz"),
        stats=build_bounds("v", text, text),
    )


@known_bug("stat-009", level="rows", STA011=1)
def maximum_ignores_nan(is_sound: bool) -> TableFiles:
    """The bounds of the Parquet footer, which ignore NaN, are copied: a filter on x > 5 skips the file with a NaN."""
    table = _build_column(1.0, float("nan"))
    return build_single_file_table(table, [("v", "double")], stats=build_bounds("v", 1.0, None if is_sound else 1.0))


@known_bug("stat-009", FIL016=1)
def unquoted_infinity(is_sound: bool) -> TableFiles:
    """An infinite bound is written without quotes, which is not valid JSON."""
    text = '{"numRecords":1,"minValues":{"v":%s},"maxValues":{},"nullCount":{"v":0}}'
    return build_single_file_table(
        _build_column(float("inf")), [("v", "double")], stats=text % ('"Infinity"' if is_sound else "Infinity")
    )


@no_finding("stat-009", "zero and negative zero are equal", level="rows")
def bounds_of_zero_and_negative_zero() -> TableFiles:
    """The file contains zero and negative zero, and readers that distinguish them skip it for x = 0."""
    return build_single_file_table(_build_column(-0.0, 0.0), [("v", "double")], stats=build_bounds("v", 0.0, 0.0))


@known_bug("stat-011", level="rows", STA001=1, STA004=1)
def dates_counted_from_year_1(is_sound: bool) -> TableFiles:
    """Days are counted from the year 1, so the bounds of a date are wrong by 1969 years."""
    text = "2024-02-29" if is_sound else "3993-03-02"
    return build_single_file_table(
        _build_column(date(2024, 2, 29), kind=pa.date32()), [("v", "date")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-012", LIN001=1)
def raw_binary_bounds_in_the_log(is_sound: bool) -> TableFiles:
    """Bounds of a binary column are written as raw bytes, so the commit is not valid UTF-8."""
    files = build_table_with_data()
    line = json.dumps(files.commits[2][1]).encode()
    if not is_sound:
        line = line.replace(b"name 020", b"\xff\x80\xfe")
    files.extra["_delta_log/00000000000000000002.json"] = line + b"\n"
    return files


@no_finding("stat-014", "any column may have statistics; readers must not skip files by null bounds")
def parsed_statistics_of_columns_without_statistics() -> TableFiles:
    """Only one column has statistics. The checkpoint's parsed statistics contain all columns, null for the others,
    and readers skip files."""
    files = log_only.build_table(
        configuration={"delta.dataSkippingStatsColumns": "id", "delta.checkpoint.writeStatsAsStruct": "true"}
    )
    parsed = {
        "numRecords": 10,
        "minValues": {"id": None, "name": None},
        "maxValues": {"id": None, "name": None},
        "nullCount": {"id": None, "name": None},
    }
    rows = [
        {"add": {**row["add"], "stats_parsed": parsed}} if "add" in row else row
        for row in log_only.build_state_rows(files)
    ]
    values = pa.struct([("id", pa.int64()), ("name", pa.string())])
    counts = pa.struct([("id", pa.int64()), ("name", pa.int64())])
    kind = pa.struct([("numRecords", pa.int64()), ("minValues", values), ("maxValues", values), ("nullCount", counts)])
    files.checkpoints.append(CheckpointFiles(1, rows=rows, parsed={"stats_parsed": kind}))
    return files


@no_finding("stat-015", "statistics may omit any column, even a non-nullable one", level="rows")
def non_nullable_column_beyond_the_indexed_ones() -> TableFiles:
    """The last of 33 non-nullable columns has no statistics, and readers with a strict schema fail on the null."""
    fields = [{"name": f"c{n}", "type": "integer", "nullable": False, "metadata": {}} for n in range(33)]
    table = pa.table({f"c{n}": pa.array([n, n + 1], pa.int32()) for n in range(33)})
    with_stats = range(32)
    stats = {
        "minValues": {f"c{n}": n for n in with_stats},
        "maxValues": {f"c{n}": n + 1 for n in with_stats},
        "nullCount": {f"c{n}": 0 for n in with_stats},
    }
    return build_single_file_table(table, fields, stats=stats)


@known_bug("stat-016", level="rows", STA005=1)
def null_struct_not_counted(is_sound: bool) -> TableFiles:
    """In the rows null, {a: null} and {a: 5}, only the second counts as a null of s.a."""
    table, field = _build_struct_rows()
    return build_single_file_table(table, [field], stats=_build_nested_stats(5, 5, 2 if is_sound else 1))


@known_bug("stat-016", level="rows", STA004=1)
def values_below_a_null_struct_in_the_bounds(is_sound: bool) -> TableFiles:
    """The undefined content of a buffer below a null struct is included in the bounds of s.a."""
    table, field = _build_struct_rows()
    return build_single_file_table(table, [field], stats=_build_nested_stats(5 if is_sound else -777, 5, 2))


@no_finding("stat-020", "a null bound means the same as no bound", level="rows")
def null_bounds_of_an_all_null_column() -> TableFiles:
    """All values of a column are null, and its bounds are written as nulls, which some readers reject."""
    stats = {"minValues": {"v": None}, "maxValues": {"v": None}, "nullCount": {"v": 2}}
    return build_single_file_table(_build_column(None, None, kind=pa.int64()), [("v", "long")], stats=stats)


@known_bug("stat-020", level="rows", STA005=1)
def null_count_of_an_all_null_column_is_zero(is_sound: bool) -> TableFiles:
    """All values of a column are null, and its null count is 0."""
    table = _build_column(None, None, kind=pa.int64())
    return build_single_file_table(table, [("v", "long")], stats=build_bounds("v", None, None, 2 if is_sound else 0))


@no_finding("stat-021", "the writer decides which columns have statistics and how it counts leaves", level="rows")
def one_column_uses_the_statistics_limit() -> TableFiles:
    """An array of structs with 31 fields uses up the limit of columns with statistics, so later columns have none."""
    fields = [{"name": f"f{n}", "type": "integer", "nullable": True, "metadata": {}} for n in range(31)]
    element = {"type": "struct", "fields": fields}
    wide = {"type": "array", "elementType": element, "containsNull": True}
    kind = pa.list_(pa.struct([(f"f{n}", pa.int32()) for n in range(31)]))
    table = pa.table({"wide": pa.array([[]], kind), "later": pa.array([1], pa.int64())})
    return build_single_file_table(table, [("wide", wide), ("later", "long")])


@no_finding("stat-023", "the property is case-insensitive, and statistics use the names of the schema", level="rows")
def statistics_columns_named_in_another_case() -> TableFiles:
    """The property names `value` and the schema `Value`, and engines find no column to collect statistics for."""
    table = pa.table({"Value": pa.array([1, 2], pa.int64())})
    configuration = {"delta.dataSkippingStatsColumns": "value"}
    return build_single_file_table(
        table, [("Value", "long")], configuration=configuration, stats=build_bounds("Value", 1, 2)
    )


@no_finding("stat-026", "unknown fields of an action are ignored")
def parsed_statistics_in_a_commit() -> TableFiles:
    """A remove is built from a checkpoint row, and its parsed columns are written to the commit."""
    files = log_only.build_table()
    get_action(files, 2, "remove")["stats_parsed"] = {"numRecords": 10}
    get_action(files, 2, "remove")["partitionValues_parsed"] = {}
    return files


@known_bug("cm-016", level="rows", STA016=1)
def variant_bounds_as_text(is_sound: bool) -> TableFiles:
    """A delete rewrites the statistics of a variant column as plain text instead of Z85-encoded bytes."""
    return _build_variant_table(None if is_sound else '{"a": 1}')


@known_bug("cm-016", level="rows", STA015=1)
def variant_bounds_of_invalid_bytes(is_sound: bool) -> TableFiles:
    """A delete rewrites the statistics of a variant column as Z85 of bytes that are not a variant."""
    return _build_variant_table(None if is_sound else "HelloWorld")


@known_bug("dv-012", level="rows", STA003=1)
def bounds_still_tight_after_a_delete(is_sound: bool) -> TableFiles:
    """A delete removes the first and the last row of a file and leaves its bounds unchanged and tight."""
    files = build_table_with_stored_vectors(deleted=((0, 4, 9), (2,)))
    return _set_stats(files, {**_stats_of_file_b(), "tightBounds": not is_sound})


@known_bug("dv-012", level="rows", STA006=1)
def null_count_set_to_zero_by_a_delete(is_sound: bool) -> TableFiles:
    """A delete from a file with an all-null column sets its null count to 0."""
    table = pa.table({"v": pa.array([None, None, None], pa.int64())})
    files = build_single_file_table(
        table, [("v", "long")], protocol=build_feature_protocol("deletionVectors"), configuration=VECTORS
    )
    stats = {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"v": 3 if is_sound else 0}}
    before = files.commits[1][1]
    assert isinstance(before, dict)
    text = json.dumps({**stats, "tightBounds": False})
    after = {"add": {**before["add"], "stats": text, "deletionVector": inline_vector_descriptor([1])}}
    files.commits[2] = [commit_info_action(2), remove_action(before), after]
    return files


def _build_variant_table(bound: str | None) -> TableFiles:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    table = pa.table({"v": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}], kind)})
    protocol = build_feature_protocol("variantType", "variantShredding")
    configuration = {"delta.enableVariantShredding": "true"}
    stats = build_bounds("v", bound, None)
    return build_single_file_table(
        table, [("v", "variant")], protocol=protocol, configuration=configuration, stats=stats
    )


def _stats_of_file_b() -> dict[str, Any]:
    """Statistics over all rows of file b in `build_table_with_data`, for the column `id`."""
    return {"numRecords": 10, "minValues": {"id": 10}, "maxValues": {"id": 19}, "nullCount": {"id": 0}}


def _set_stats(files: TableFiles, stats: dict[str, Any]) -> TableFiles:
    """Replace the statistics of the first file in version 3."""
    get_action(files, 3, "add")["stats"] = json.dumps(stats)
    return files


def _build_column(*values: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"v": pa.array(values, kind)})


def _build_struct_rows() -> tuple[pa.Table, tuple[str, Any]]:
    kind = {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]}
    rows = pa.array([None, {"a": None}, {"a": 5}], pa.struct([("a", pa.int32())]))
    return pa.table({"s": rows}), ("s", kind)


def _build_nested_stats(low: int, high: int, nulls: int) -> dict[str, Any]:
    return {"minValues": {"s": {"a": low}}, "maxValues": {"s": {"a": high}}, "nullCount": {"s": {"a": nulls}}}
