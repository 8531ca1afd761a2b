"""Row constraints in table metadata: which rows are evaluated, how columns are resolved, and what needs Spark."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.report.report_types import Report
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_table_with_stored_vectors
from deltaspec_generators.small_tables import build_rows as plain_rows
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    write_table,
)
from planted_tables.bases.expressions import (
    CONSTRAINTS_PROTOCOL,
    GENERATED_COLUMNS_PROTOCOL,
    INVARIANTS_PROTOCOL,
    ROWS,
    build_constrained_table,
    build_fields,
    build_invariant_metadata,
    replace_last_row,
    rewrite_data_file,
)
from planted_tables.bases.log_only import build_checkpointed_table
from planted_tables.bases.single_file import build_single_file_table

CONSTRAINT_RULES = ("ROW04", "CON03")


def write_and_validate(files: TableFiles, path: Path, **options: Any) -> Report:
    write_table(files, path / "table")
    return deltaspec.validate(str(path / "table"), level="rows", **options)


def collect_ledger(report: Report) -> set[tuple[str, str, str | None]]:
    return {(each.rule, each.reason, each.file) for each in report.checked.not_checked}


def check_constraint(expression: str) -> dict[str, str]:
    return {"delta.constraints.c": expression}


SOUND = [
    build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("id BETWEEN 1 AND 3 AND name NOT LIKE '_______%'")
    ),
    build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("price IS NULL OR price <= 0.5 OR price > 1e308")
    ),
    build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("id > 0"), replace_last_row(id=7), later=True
    ),
    build_constrained_table(GENERATED_COLUMNS_PROTOCOL, build_fields(year={GENERATION_EXPRESSION: "YEAR(day)"})),
    build_constrained_table(
        GENERATED_COLUMNS_PROTOCOL,
        build_fields(year={GENERATION_EXPRESSION: "year(DAY)"}),
        table=replace_last_row(day=None, year=None),
    ),
    build_constrained_table(
        GENERATED_COLUMNS_PROTOCOL,
        build_fields(year={GENERATION_EXPRESSION: "CAST(id + year AS INT) - CAST(id AS INT)"}),
    ),
    build_constrained_table(
        INVARIANTS_PROTOCOL,
        build_fields(id=build_invariant_metadata("id > 0"), name=build_invariant_metadata("name IS NOT NULL")),
    ),
]


@pytest.mark.parametrize("number", range(len(SOUND)))
def test_sound_rows_conform_and_are_all_checked(tmp_path: Path, number: int) -> None:
    report = write_and_validate(SOUND[number], tmp_path)
    assert report.totals == {}
    assert collect_ledger(report) == set()
    assert report.verdict == "conforms"


LONG_DECIMAL = "12345678901234567890123456789012345678"
ROUNDED = "-12345678901234567890123456789012350000"
"""What Spark computes for the negated number."""


def build_table_with_decimals(x: str, g: str, *, generated: bool = False, **constraints: str) -> TableFiles:
    """Build a table with one row of two decimals of 38 digits; `g` is generated as `-x` on request."""
    kinds: dict[str, dict[str, str]] = {"x": {}, "g": {GENERATION_EXPRESSION: "-x"} if generated else {}}
    fields = [{"name": k, "type": "decimal(38,0)", "nullable": True, "metadata": v} for k, v in kinds.items()]
    values = {name: pa.array([Decimal(value)], pa.decimal128(38, 0)) for name, value in (("x", x), ("g", g))}
    protocol = GENERATED_COLUMNS_PROTOCOL if generated else CONSTRAINTS_PROTOCOL
    configuration = {f"delta.constraints.{name}": text for name, text in constraints.items()}
    return build_constrained_table(protocol, fields, configuration, pa.table(values))


@pytest.mark.parametrize(
    "files",
    [
        build_table_with_decimals(LONG_DECIMAL, ROUNDED, generated=True),
        build_table_with_decimals(LONG_DECIMAL, ROUNDED, c="g = -x"),
        build_table_with_decimals(LONG_DECIMAL, ROUNDED, c=f"g = -({LONG_DECIMAL})"),
        build_table_with_decimals("9" * 38, "1", c="-x < g"),  # Spark fails: the rounded number is out of range
    ],
)
def test_rounded_decimals_are_left_to_spark(tmp_path: Path, files: TableFiles) -> None:
    report = write_and_validate(files, tmp_path)
    assert report.totals == {}
    (reason,) = {each.reason for each in report.checked.not_checked}
    assert "Spark rounds - of a decimal to 34 digits" in reason


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (build_table_with_decimals("1" * 34, "-" + "1" * 33 + "2", generated=True), "ROW041"),
        (build_table_with_decimals(LONG_DECIMAL, "1", c="x < 0"), "ROW040"),
        (build_table_with_decimals("1", ROUNDED, c=f"g >= -{LONG_DECIMAL}"), "ROW040"),
    ],
)
def test_exact_decimals_are_evaluated(tmp_path: Path, files: TableFiles, rule: str) -> None:
    assert write_and_validate(files, tmp_path).totals == {rule: 1}


def test_finding_describes_the_row(tmp_path: Path) -> None:
    report = write_and_validate(
        build_constrained_table(
            CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("`ID` <> 9 OR day IS NULL"), replace_last_row(id=9)
        ),
        tmp_path,
    )
    (finding,) = report.findings
    assert (finding.rule, finding.path, finding.version) == ("ROW040", "a.parquet", 1)
    assert finding.evidence["constraint"] == "c"
    assert finding.evidence["expression"] == "`ID` <> 9 OR day IS NULL"
    assert (finding.evidence["violating_rows"], finding.evidence["first_row"]) == (1, 2)
    assert finding.evidence["row_values"] == "ID: 9, day: 1969-12-31"


def _build_unchecked_strings(*texts: bytes) -> pa.Array:
    """Build an array of strings from bytes that need not be UTF-8."""
    return pa.array(texts, pa.binary()).view(pa.string())


@pytest.mark.parametrize(
    ("kind", "values", "found"),
    [
        ("date", pa.array([7_300_000] * 3, pa.date32()), "21956-09-21"),
        ("timestamp_ntz", pa.array([5 * 10**17] * 3, pa.timestamp("us")), "17814-05-16 00:53:20.000000"),
        (
            {"type": "array", "elementType": "string", "containsNull": True},
            pa.ListArray.from_arrays([0, 0, 0, 1], _build_unchecked_strings(b"\xff")),
            "(no text)",
        ),
    ],
)
def test_finding_describes_rows_with_unusual_values(tmp_path: Path, kind: Any, values: pa.Array, found: str) -> None:
    fields = [*build_fields(), {"name": "other", "type": kind, "nullable": True, "metadata": {}}]
    files = build_constrained_table(
        CONSTRAINTS_PROTOCOL, fields, check_constraint("id < 3 OR other IS NULL"), ROWS.append_column("other", values)
    )
    if kind == "timestamp_ntz":
        files.commits[0][1] = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz", "checkConstraints"])
    (finding,) = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).findings
    assert (finding.evidence["first_row"], finding.evidence["row_values"]) == (2, f"id: 3, other: {found}")


@pytest.mark.parametrize("expression", ["id > 0", "id IS NOT NULL AND id > 0", "NULL"])
def test_null_violates_a_check_constraint(tmp_path: Path, expression: str) -> None:
    files = build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), check_constraint(expression), replace_last_row(id=None)
    )
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == {"ROW040": 1}


def test_deleted_rows_are_not_evaluated(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors(((1, 3), (2,)))  # files with ids 10 to 19 and 20 to 29
    kinds = ["deletionVectors", "checkConstraints"]
    files.commits[0][1] = protocol_action(3, 7, ["deletionVectors"], kinds)
    enabled = {"delta.enableDeletionVectors": "true"}
    files.commits[0][2] = metadata_action(FIELDS, (), {**enabled, **check_constraint("id NOT IN (11, 13, 22)")})
    assert write_and_validate(files, tmp_path / "sound", select=CONSTRAINT_RULES).totals == {}
    files.commits[0][2] = metadata_action(FIELDS, (), {**enabled, **check_constraint("id NOT IN (12, 13, 22)")})
    report = write_and_validate(files, tmp_path / "broken", select=CONSTRAINT_RULES)
    assert [(each.path, each.evidence["first_row"]) for each in report.findings] == [("b.parquet", 2)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("p = '5'", {"ROW040": 1}), ("p IN ('x', 'y') AND n >= 7", {}), ("n = 8", {"ROW040": 1}), ("id < n", {})],
)
def test_partition_columns_have_the_value_in_the_log(tmp_path: Path, expression: str, expected: dict[str, int]) -> None:
    files = build_single_file_table(
        pa.table({"id": pa.array([1, 2], pa.int64())}),
        [("id", "long"), ("p", "string"), ("n", "integer")],
        partition={"p": "x", "n": "7"},
        protocol=CONSTRAINTS_PROTOCOL,
        configuration=check_constraint(expression),
    )
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == expected


def build_char_metadata(kind: str) -> dict[str, str]:
    return {"__CHAR_VARCHAR_TYPE_STRING": kind}


def field(name: str, kind: Any = "string", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


EMPTY = pa.table({"s": ["", " "]})


@pytest.mark.parametrize(
    ("expression", "kind", "expected"),
    [
        ("''", "string", {}),
        ("p", "string", {}),
        ("NULL", "string", {}),
        ("NULL", "binary", {}),
        ("'x'", "string", {"ROW041": 2}),
        ("s", "string", {"ROW041": 1}),
        ("p = ''", "boolean", {}),
        ("p IS NULL", "boolean", {"ROW041": 2}),
        ("1", "integer", {"ROW041": 2}),
    ],
)
def test_null_partition_value_may_be_a_generated_empty_string(
    tmp_path: Path, expression: str, kind: str, expected: dict[str, int]
) -> None:
    """The protocol encodes null and the empty string as the same partition value."""
    files = build_single_file_table(
        EMPTY,
        [field("s"), field("g", kind, **{GENERATION_EXPRESSION: expression}), field("p")],
        partition={"g": None, "p": None},
        protocol=GENERATED_COLUMNS_PROTOCOL,
    )
    report = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)
    assert {each.rule: each.evidence["violating_rows"] for each in report.findings} == expected
    assert collect_ledger(report) == set()


@pytest.mark.parametrize(("expression", "expected"), [("p = ''", {}), ("p = 'x'", {"ROW041": 1})])
def test_partition_column_in_a_generation_expression_may_be_null_or_empty(
    tmp_path: Path, expression: str, expected: dict[str, int]
) -> None:
    files = build_single_file_table(
        pa.table({"g": pa.array([True, None])}),
        [field("p"), field("g", "boolean", **{GENERATION_EXPRESSION: expression})],
        partition={"p": ""},
        protocol=GENERATED_COLUMNS_PROTOCOL,
    )
    report = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)
    assert {each.rule: each.evidence["violating_rows"] for each in report.findings} == expected


def test_many_null_or_empty_partition_columns_are_left_to_spark(tmp_path: Path) -> None:
    names = ["p", "q", "r", "t"]
    files = build_single_file_table(
        EMPTY,
        [field("s", **{GENERATION_EXPRESSION: "concat(p, q, r, t)"}), *map(field, names)],
        partition=dict.fromkeys(names),
        protocol=GENERATED_COLUMNS_PROTOCOL,
    )
    reason = "the expression of s needs Spark: 4 partition columns may have been null or empty"
    assert collect_ledger(write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)) == {("ROW041", reason, None)}


@pytest.mark.parametrize(
    ("protocol", "configuration", "metadata", "expected"),
    [
        (CONSTRAINTS_PROTOCOL, check_constraint("p = ''"), {}, {"ROW040": 1}),
        (INVARIANTS_PROTOCOL, {}, build_invariant_metadata("p = ''"), {}),
        (INVARIANTS_PROTOCOL, {}, build_invariant_metadata("p = 'x'"), {"ROW043": 1}),
    ],
)
def test_constraint_reads_stored_values_and_invariant_reads_written_values(
    tmp_path: Path, protocol: Any, configuration: dict[str, str], metadata: dict[str, str], expected: dict[str, int]
) -> None:
    files = build_single_file_table(
        EMPTY,
        [field("s"), field("p", **metadata)],
        partition={"p": None},
        protocol=protocol,
        configuration=configuration,
    )
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == expected


@pytest.mark.parametrize(
    ("kind", "needs_spark"),
    [
        ("struct<a:char(5)>", True),
        ("struct<x:int,a:CHAR (5)>", True),
        ("map<string,struct<a:char(2)>>", True),
        ("struct<a:varchar(5)>", False),
        ("struct<char:varchar(5)>", False),
    ],
)
def test_nested_strings_of_fixed_length_are_left_to_spark(tmp_path: Path, kind: str, needs_spark: bool) -> None:
    """Their values may be padded with spaces, which comparisons ignore."""
    files = build_single_file_table(
        pa.table({"st": [{"a": "ab   "}]}),
        [field("st", {"type": "struct", "fields": [field("a")]}, **build_char_metadata(kind))],
        protocol=CONSTRAINTS_PROTOCOL,
        configuration=check_constraint("st.a = 'ab'"),
    )
    report = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)
    reason = "CHECK constraint c needs Spark: st.a has a collation or a fixed length"
    assert collect_ledger(report) == ({("ROW040", reason, None)} if needs_spark else set())
    assert report.totals == ({} if needs_spark else {"ROW040": 1})


def test_partition_timestamps_without_zone_are_left_to_spark(tmp_path: Path) -> None:
    files = build_single_file_table(
        pa.table({"id": pa.array([1], pa.int64())}),
        [("id", "long"), ("p", "timestamp")],
        partition={"p": "2024-01-01 00:00:00"},
        protocol=CONSTRAINTS_PROTOCOL,
        configuration=check_constraint("p > '2020-01-01 00:00:00Z'"),
    )
    reason = "CHECK constraint c needs Spark: the value of the partition column p depends on its writer"
    assert collect_ledger(write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)) == {("ROW040", reason, None)}


@pytest.mark.parametrize(("expression", "expected"), [("new IS NULL", {}), ("new > 0", {"ROW040": 1})])
def test_columns_missing_from_a_file_are_null(tmp_path: Path, expression: str, expected: dict[str, int]) -> None:
    files = build_single_file_table(
        pa.table({"id": pa.array([1], pa.int64())}),
        [("id", "long"), ("new", "integer")],
        protocol=CONSTRAINTS_PROTOCOL,
        configuration=check_constraint(expression),
    )
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == expected


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize(("expression", "expected"), [("ID > 0", {}), ("`a.b`.c <> 'x'", {"ROW040": 1})])
def test_columns_are_found_by_column_mapping(
    tmp_path: Path, mode: str, expression: str, expected: dict[str, int]
) -> None:
    def mapped(name: str, kind: Any, number: int) -> dict[str, Any]:
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": kind, "nullable": True, "metadata": metadata}

    def field(kind: pa.DataType, number: int) -> pa.Field:
        return pa.field(f"col-{number}", kind, metadata={"PARQUET:field_id": str(number)})

    inner = pa.struct([field(pa.string(), 3)])
    schema = pa.schema([field(pa.int64(), 1), field(inner, 2)])
    table = pa.table([pa.array([1]), pa.array([{"col-3": "x"}], inner)], schema=schema)
    columns = [mapped("id", "long", 1), mapped("a.b", {"type": "struct", "fields": [mapped("C", "string", 3)]}, 2)]
    files = build_single_file_table(
        table,
        columns,
        protocol=protocol_action(2, 5),
        configuration={
            "delta.columnMapping.mode": mode,
            "delta.columnMapping.maxColumnId": "3",
            **check_constraint(expression),
        },
    )
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == expected


def test_file_of_a_narrower_type_is_widened(tmp_path: Path) -> None:
    features = ["typeWidening"]
    files = build_single_file_table(
        pa.table({"id": pa.array([1, 2], pa.int16()), "d": pa.array([1, 2], pa.int32())}),
        [("id", "long"), ("d", "decimal(12,2)")],
        protocol=protocol_action(3, 7, features, [*features, "checkConstraints"]),
        configuration=check_constraint("id < 3000000000 AND d <= 2.00"),
    )
    report = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES)
    assert (report.totals, collect_ledger(report)) == ({}, set())


@pytest.mark.parametrize(
    ("protocol", "configuration", "field", "rule", "reason"),
    [
        (
            CONSTRAINTS_PROTOCOL,
            check_constraint("round(id) > 0"),
            {},
            "ROW040",
            "CHECK constraint c needs Spark: it calls round",
        ),
        (
            CONSTRAINTS_PROTOCOL,
            check_constraint("id > (SELECT 1)"),
            {},
            "ROW040",
            "CHECK constraint c is not evaluated: SELECT is not supported",
        ),
        (
            CONSTRAINTS_PROTOCOL,
            check_constraint(f"id + {2**63 - 1} > 0"),
            {},
            "ROW040",
            "CHECK constraint c needs Spark: in some rows, a",
        ),
        (
            INVARIANTS_PROTOCOL,
            {},
            build_invariant_metadata("my_udf(id)"),
            "ROW043",
            "the invariant of id is not evaluated: the function my_udf ",
        ),
        (
            GENERATED_COLUMNS_PROTOCOL,
            {},
            {GENERATION_EXPRESSION: "rand()"},
            "ROW041",
            "the expression of id is not evaluated: the function rand is not",
        ),
        (
            GENERATED_COLUMNS_PROTOCOL,
            {},
            {GENERATION_EXPRESSION: "name"},
            "ROW041",
            "the expression of id needs Spark: it compares long with string",
        ),
    ],
)
def test_ledger_gives_the_reason_why_spark_is_needed(
    tmp_path: Path, protocol: Any, configuration: dict[str, str], field: dict[str, str], rule: str, reason: str
) -> None:
    report = write_and_validate(
        build_constrained_table(protocol, build_fields(id=field), configuration), tmp_path, select=CONSTRAINT_RULES[:1]
    )
    ((code, found_reason, file),) = collect_ledger(report)
    assert (code, file) == (rule, "a.parquet" if "in some rows" in found_reason else None)
    assert found_reason.startswith(reason)
    assert (report.totals, report.verdict) == ({}, "incomplete")


def test_missing_file_is_in_the_ledger(tmp_path: Path) -> None:
    files = build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("id > 0"))
    files.missing.add("a.parquet")
    report = write_and_validate(files, tmp_path, select=["ROW040"])
    assert collect_ledger(report) == {("ROW040", "a.parquet: does not exist", "a.parquet")}


def test_nothing_is_evaluated_without_the_feature(tmp_path: Path) -> None:
    protocol = protocol_action(1, 7, None, ["appendOnly"])
    fields = build_fields(id=build_invariant_metadata("id > 5"), year={GENERATION_EXPRESSION: "1"})
    report = write_and_validate(
        build_constrained_table(protocol, fields, check_constraint("id > 5 AND gone = 1")),
        tmp_path,
        select=CONSTRAINT_RULES,
    )
    assert (report.totals, collect_ledger(report)) == ({}, set())


def test_rows_may_be_older_than_the_feature(tmp_path: Path) -> None:
    """A row that may be older than the feature is a divergence, not a violation."""
    fields, table = build_fields(year={GENERATION_EXPRESSION: "year(day)"}), replace_last_row(year=5)
    files = build_constrained_table(GENERATED_COLUMNS_PROTOCOL, fields, table=table)
    assert write_and_validate(files, tmp_path / "complete", select=CONSTRAINT_RULES).totals == {"ROW041": 1}
    started = build_constrained_table(GENERATED_COLUMNS_PROTOCOL, fields, table=table)
    started.commits[0][1] = INVARIANTS_PROTOCOL  # a later version adds the feature
    started.commits[2] = [commit_info_action(2), GENERATED_COLUMNS_PROTOCOL]
    assert write_and_validate(started, tmp_path / "later", select=CONSTRAINT_RULES).totals == {"ROW042": 1}


@pytest.mark.parametrize("operation", ["CLONE", "CONVERT"])
def test_cloned_or_converted_files_may_be_older_than_the_invariant(tmp_path: Path, operation: str) -> None:
    files = build_constrained_table(
        INVARIANTS_PROTOCOL, build_fields(id=build_invariant_metadata("id > 0")), table=replace_last_row(id=0)
    )
    files.commits[0][0] = commit_info_action(0, operation=operation)
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == {"ROW044": 1}


def test_rows_may_be_older_than_a_changed_expression(tmp_path: Path) -> None:
    files = build_constrained_table(GENERATED_COLUMNS_PROTOCOL, build_fields(year={GENERATION_EXPRESSION: "year(day)"}))
    files.commits[2] = [
        commit_info_action(2),
        metadata_action(build_fields(year={GENERATION_EXPRESSION: "month(day)"})),
    ]
    assert write_and_validate(rewrite_data_file(files, ROWS), tmp_path, select=CONSTRAINT_RULES).totals == {"ROW042": 1}


def test_rows_may_be_older_than_the_first_checkpoint(tmp_path: Path) -> None:
    """Without the commits before the checkpoint, a row may be older than the expression."""
    files = build_checkpointed_table(
        protocol=GENERATED_COLUMNS_PROTOCOL,
        fields=build_fields(year={GENERATION_EXPRESSION: "year(day)"}),
        last_remove=False,
    )
    add = add_data_file(files, "d.parquet", replace_last_row(year=5), stats=json.dumps({"numRecords": 3}))
    files.commits[2] = [commit_info_action(2), add]
    for path in ("a.parquet", "b.parquet"):
        add_data_file(files, path, ROWS)
    for version in (0, 1):
        del files.commits[version]
    assert write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).totals == {"ROW042": 1}


def test_constraint_columns_are_checked_again_when_the_schema_changes(tmp_path: Path) -> None:
    files = build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("day > '1900-01-01'"))
    remaining = [each for each in build_fields() if each["name"] != "day"]
    files.commits[2] = [commit_info_action(2), metadata_action(remaining, (), check_constraint("day > '1900-01-01'"))]
    report = write_and_validate(files, tmp_path, select=["CON03"])
    (finding,) = report.findings
    assert (finding.rule, finding.version, finding.evidence["missing_columns"]) == ("CON030", 2, ["day"])


def test_columns_of_unsupported_sql_are_not_checked(tmp_path: Path) -> None:
    report = write_and_validate(
        build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), check_constraint("id > (SELECT 1)")),
        tmp_path,
        select=["CON03"],
    )
    assert report.totals == {}
    assert {each.rule for each in report.checked.not_checked} == {"CON030"}


def test_row_numbers_count_across_batches(tmp_path: Path) -> None:
    table = pa.concat_tables([plain_rows(first, 1000) for first in range(0, 40_000, 1000)])
    files = build_single_file_table(
        table,
        FIELDS,
        protocol=CONSTRAINTS_PROTOCOL,
        configuration=check_constraint("id < 39998 AND id <> 17000"),
    )
    (finding,) = write_and_validate(files, tmp_path, select=CONSTRAINT_RULES).findings
    assert (finding.evidence["violating_rows"], finding.evidence["first_row"]) == (3, 17_000)


@pytest.mark.parametrize("name", ["DELTA.CONSTRAINTS.c", "delta.Constraints.c", "Delta.constraints.C"])
def test_constraint_with_a_prefix_in_another_case_is_not_evaluated(tmp_path: Path, name: str) -> None:
    files = build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), {name: "id < 0"})
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="rows")
    assert report.totals == {"CFG006": 1}
    assert report.verdict == "incomplete"
    reasons = [each.reason for each in report.checked.not_checked if each.rule == "ROW040"]
    assert [name in each for each in reasons] == [True]
