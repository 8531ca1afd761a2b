"""Statistics that the rows contradict, or that only readers misread."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug, no_finding
from known_bugs.single_file_tables import build_bounds, build_feature_protocol, build_single_file_table

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.data_files import build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, remove_action

BLOSSOM = "\U0001f33c"
VECTORS = {"delta.enableDeletionVectors": "true"}


@known_bug("stat-001", level="rows", STA002=1)
def cut_maximum_below_a_supplementary_character(right: bool) -> TableFiles:
    """A maximum is cut to 32 characters and ended with U+FFFD, which sorts below the blossom that was cut off."""
    value = "a" * 32 + BLOSSOM
    high = "a" * 32 + ("\U0010ffff" if right else "\ufffd")
    return build_single_file_table(_column(value, "a"), [("v", "string")], stats=build_bounds("v", "a", high))


@known_bug("stat-001", level="rows", STA004=1)
def whole_maximum_of_32_characters_raised(right: bool) -> TableFiles:
    """A value of exactly 32 characters needs no cut, and its maximum is raised all the same."""
    value = "a" * 32
    high = value if right else value + "\ufffd"
    return build_single_file_table(_column(value), [("v", "string")], stats=build_bounds("v", value, high))


@no_finding(
    "stat-002", "a maximum cut to milliseconds is what the text describes; to skip by it exactly is wrong", level="rows"
)
def timestamp_maximum_cut_to_milliseconds() -> TableFiles:
    """The file holds .080758 and the statistics say .080, and readers that compare exactly lose the row."""
    value = datetime(2024, 2, 29, 12, 0, 0, 80758, UTC)
    text = "2024-02-29T12:00:00.080Z"
    return build_single_file_table(
        _column(value, kind=pa.timestamp("us", "UTC")), [("v", "timestamp")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-003", level="rows", STA013=1)
def timestamps_of_six_digits(right: bool) -> TableFiles:
    """Bounds of timestamps have microseconds, which readers of milliseconds take for minutes."""
    value = datetime(2024, 2, 29, 12, 0, 0, 298677, UTC)
    text = "2024-02-29T12:00:00.298Z" if right else "2024-02-29T12:00:00.298677Z"
    return build_single_file_table(
        _column(value, kind=pa.timestamp("us", "UTC")), [("v", "timestamp")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-004", level="rows", STA009=1)
def zone_on_a_timestamp_without_one(right: bool) -> TableFiles:
    """Bounds of a timestamp without time zone are written as if it were in UTC."""
    text = "2024-02-29T12:00:00.500" + ("" if right else "Z")
    table = _column(1_709_208_000_500_000, kind=pa.timestamp("us"))
    return build_single_file_table(
        table,
        [("v", "timestamp_ntz")],
        protocol=build_feature_protocol("timestampNtz"),
        stats=build_bounds("v", text, text),
    )


@known_bug("stat-009", level="rows", STA011=1)
def maximum_passes_over_nan(right: bool) -> TableFiles:
    """The bounds of a Parquet footer, which know no NaN, are copied: a filter on x > 5 skips the file with a NaN."""
    table = _column(1.0, float("nan"))
    return build_single_file_table(table, [("v", "double")], stats=build_bounds("v", 1.0, None if right else 1.0))


@known_bug("stat-009", FIL016=1)
def infinity_as_a_bare_word(right: bool) -> TableFiles:
    """An infinite bound is written as a bare word, which is no JSON."""
    text = '{"numRecords":1,"minValues":{"v":%s},"maxValues":{},"nullCount":{"v":0}}'
    return build_single_file_table(
        _column(float("inf")), [("v", "double")], stats=text % ('"Infinity"' if right else "Infinity")
    )


@no_finding("stat-009", "zero and minus zero are one value", level="rows")
def bounds_of_zeros_of_two_signs() -> TableFiles:
    """The file holds minus zero and zero, and readers that tell them apart skip it for x = 0."""
    return build_single_file_table(_column(-0.0, 0.0), [("v", "double")], stats=build_bounds("v", 0.0, 0.0))


@known_bug("stat-011", level="rows", STA001=1, STA004=1)
def dates_counted_from_the_year_1(right: bool) -> TableFiles:
    """Days are counted from the year 1, so the bounds of a date lie 1969 years off."""
    text = "2024-02-29" if right else "3993-03-02"
    return build_single_file_table(
        _column(date(2024, 2, 29), kind=pa.date32()), [("v", "date")], stats=build_bounds("v", text, text)
    )


@known_bug("stat-012", LIN001=1)
def bytes_of_a_binary_column_in_the_log(right: bool) -> TableFiles:
    """Bounds of a binary column are its bytes as they are, so the commit is no text."""
    files = build_table_with_data()
    line = json.dumps(files.commits[2][1]).encode()
    if not right:
        line = line.replace(b"name 020", b"\xff\x80\xfe")
    files.extra["_delta_log/00000000000000000002.json"] = line + b"\n"
    return files


@no_finding("stat-014", "statistics may be there for any column; to skip files by bounds that are null is wrong")
def parsed_statistics_of_columns_without() -> TableFiles:
    """Only one column has statistics; the checkpoint has parsed ones of all, null for the others, and readers skip."""
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


@no_finding("stat-015", "statistics may leave out any column, also one that is never null", level="rows")
def columns_never_null_beyond_the_indexed_ones() -> TableFiles:
    """Of 33 columns that are never null the last has no statistics, and readers fail on a null in a strict schema."""
    fields = [{"name": f"c{n}", "type": "integer", "nullable": False, "metadata": {}} for n in range(33)]
    table = pa.table({f"c{n}": pa.array([n, n + 1], pa.int32()) for n in range(33)})
    told = range(32)
    stats = {
        "minValues": {f"c{n}": n for n in told},
        "maxValues": {f"c{n}": n + 1 for n in told},
        "nullCount": {f"c{n}": 0 for n in told},
    }
    return build_single_file_table(table, fields, stats=stats)


@known_bug("stat-016", level="rows", STA005=1)
def nulls_of_a_struct_not_counted(right: bool) -> TableFiles:
    """Of the rows null, {a: null} and {a: 5} only the second counts as a null of s.a."""
    table, field = _struct_rows()
    return build_single_file_table(table, [field], stats=_nested(5, 5, 2 if right else 1))


@known_bug("stat-016", level="rows", STA004=1)
def values_below_a_null_struct_in_the_bounds(right: bool) -> TableFiles:
    """What a buffer happens to hold below a null struct reaches the bounds of s.a."""
    table, field = _struct_rows()
    return build_single_file_table(table, [field], stats=_nested(5 if right else -777, 5, 2))


@no_finding("stat-020", "a bound that is null says as much as none", level="rows")
def bounds_null_of_a_column_all_null() -> TableFiles:
    """A column is null throughout, and its bounds are written as nulls, which some readers refuse."""
    stats = {"minValues": {"v": None}, "maxValues": {"v": None}, "nullCount": {"v": 2}}
    return build_single_file_table(_column(None, None, kind=pa.int64()), [("v", "long")], stats=stats)


@known_bug("stat-020", level="rows", STA005=1)
def nulls_of_a_column_all_null_not_counted(right: bool) -> TableFiles:
    """A column is null throughout, and its null count is 0."""
    table = _column(None, None, kind=pa.int64())
    return build_single_file_table(table, [("v", "long")], stats=build_bounds("v", None, None, 2 if right else 0))


@no_finding(
    "stat-021", "which columns have statistics, and how leaves are counted, is the writer's affair", level="rows"
)
def budget_of_columns_spent_on_one() -> TableFiles:
    """An array of structs of 31 fields uses up the columns that get statistics, so later ones have none."""
    fields = [{"name": f"f{n}", "type": "integer", "nullable": True, "metadata": {}} for n in range(31)]
    element = {"type": "struct", "fields": fields}
    wide = {"type": "array", "elementType": element, "containsNull": True}
    kind = pa.list_(pa.struct([(f"f{n}", pa.int32()) for n in range(31)]))
    table = pa.table({"wide": pa.array([[]], kind), "later": pa.array([1], pa.int64())})
    return build_single_file_table(table, [("wide", wide), ("later", "long")])


@no_finding(
    "stat-023", "the property names columns without regard to case, and statistics as the schema does", level="rows"
)
def statistics_columns_named_in_another_case() -> TableFiles:
    """The property names `value` and the schema `Value`, and engines find no column to collect statistics of."""
    table = pa.table({"Value": pa.array([1, 2], pa.int64())})
    configuration = {"delta.dataSkippingStatsColumns": "value"}
    return build_single_file_table(
        table, [("Value", "long")], configuration=configuration, stats=build_bounds("Value", 1, 2)
    )


@no_finding("stat-026", "unknown fields of an action are passed over")
def parsed_statistics_in_a_commit() -> TableFiles:
    """A remove is made of a checkpoint's row and takes its parsed columns along into the commit."""
    files = log_only.build_table()
    get_action(files, 2, "remove")["stats_parsed"] = {"numRecords": 10}
    get_action(files, 2, "remove")["partitionValues_parsed"] = {}
    return files


@known_bug("cm-016", level="rows", STA016=1)
def bounds_of_a_variant_as_text(right: bool) -> TableFiles:
    """A delete rewrites the statistics of a variant column as plain text, where they have to be its bytes in Z85."""
    return _variant(None if right else '{"a": 1}')


@known_bug("cm-016", level="rows", STA015=1)
def bounds_of_a_variant_of_other_bytes(right: bool) -> TableFiles:
    """A delete rewrites the statistics of a variant column: Z85 still, but of bytes that are no variant."""
    return _variant(None if right else "HelloWorld")


@known_bug("dv-012", level="rows", STA003=1)
def bounds_called_tight_below_a_new_vector(right: bool) -> TableFiles:
    """A delete takes the first and the last row of a file and leaves its bounds as they were, tight."""
    files = build_table_with_stored_vectors(deleted=((0, 4, 9), (2,)))
    return _told(files, {**_ids_of_b(), "tightBounds": not right})


@known_bug("dv-012", level="rows", STA006=1)
def no_null_counted_in_a_column_all_null(right: bool) -> TableFiles:
    """A delete from a file with a column null throughout sets its null count to 0, as if no row left were null."""
    table = pa.table({"v": pa.array([None, None, None], pa.int64())})
    files = build_single_file_table(
        table, [("v", "long")], protocol=build_feature_protocol("deletionVectors"), configuration=VECTORS
    )
    stats = {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"v": 3 if right else 0}}
    before = files.commits[1][1]
    assert isinstance(before, dict)
    text = json.dumps({**stats, "tightBounds": False})
    after = {"add": {**before["add"], "stats": text, "deletionVector": log_only.inline_vector_descriptor([1])}}
    files.commits[2] = [commit_info_action(2), remove_action(before), after]
    return files


def _variant(bound: str | None) -> TableFiles:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    table = pa.table({"v": pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}], kind)})
    protocol = build_feature_protocol("variantType", "variantShredding")
    configuration = {"delta.enableVariantShredding": "true"}
    stats = build_bounds("v", bound, None)
    return build_single_file_table(
        table, [("v", "variant")], protocol=protocol, configuration=configuration, stats=stats
    )


def _ids_of_b() -> dict[str, Any]:
    """Statistics of the ids of file b of `build_table_with_data`, of all its rows."""
    return {"numRecords": 10, "minValues": {"id": 10}, "maxValues": {"id": 19}, "nullCount": {"id": 0}}


def _told(files: TableFiles, stats: dict[str, Any]) -> TableFiles:
    """Give the first file of version 3 other statistics."""
    get_action(files, 3, "add")["stats"] = json.dumps(stats)
    return files


def _column(*values: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"v": pa.array(values, kind)})


def _struct_rows() -> tuple[pa.Table, tuple[str, Any]]:
    kind = {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]}
    rows = pa.array([None, {"a": None}, {"a": 5}], pa.struct([("a", pa.int32())]))
    return pa.table({"s": rows}), ("s", kind)


def _nested(low: int, high: int, nulls: int) -> dict[str, Any]:
    return {"minValues": {"s": {"a": low}}, "maxValues": {"s": {"a": high}}, "nullCount": {"s": {"a": nulls}}}
