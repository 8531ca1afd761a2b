"""Constraints, invariants and generated columns that need Spark: what Spark evaluates and what it never receives."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pytest
from helpers.expression_values import COLUMNS, PLAIN_ROWS, SCHEMA, evaluate
from spark.session import append, create, run, with_settings
from spark.test_sql_expressions import EXPRESSIONS

import deltaspec
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import get_type_name
from deltaspec.rules import RULES
from deltaspec.spark import validate
from deltaspec.sql.evaluation import compile_expression
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.logical_row_reader import arrow_type
from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.row_evaluation import ConstraintResult
from deltaspec.validation.findings import Findings
from deltaspec.validation.options import Options
from deltaspec.validation.spark import constraint_evaluation
from deltaspec.validation.spark.constraint_session import is_builtin_function
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS, build_empty_replay_frame
from deltaspec.views.table.state import TableState
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.table_files import write_table
from planted_tables.bases.expressions import (
    CONSTRAINTS_PROTOCOL,
    GENERATED_COLUMNS_PROTOCOL,
    build_constrained_table,
    build_fields,
    build_invariant_metadata,
    replace_last_row,
)
from planted_tables.bases.single_file import build_single_file_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow("conformance/deltaspec/validation/spark", "conformance/deltaspec/sql"),
]
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors then import the same deltaspec

HOSTILE = "a.b`c -- '/*é"
"""Column name with special characters, which Delta accepts with column mapping."""
QUOTED = "`a.b``c -- '/*é`"


class RecordingFindings(Findings):
    """Findings that record every reason; the ledger lists only the first locations."""

    def __init__(self) -> None:
        super().__init__([RULES[f"ROW04{each}"] for each in range(5)], 1000)
        self.reasons: list[str] = []

    def mark_rule_undecided(self, code: str, reason: str, file: str | None = None) -> None:
        super().mark_rule_undecided(code, reason, file)
        self.reasons.append(reason)


@dataclass
class Log:
    """A table's log, replayed in the simplest way."""

    path: Path
    findings: RecordingFindings = field(default_factory=RecordingFindings)
    state: TableState = field(default_factory=lambda: TableState(Revision.CURRENT))
    operations: dict[int, str | None] = field(default_factory=dict)
    options: Options = field(default_factory=Options.create)

    def __post_init__(self) -> None:
        self.store = LocalStore(str(self.path))
        self.live: dict[str, dict[str, Any]] = {}
        for file in sorted((self.path / "_delta_log").glob("*.json")):
            version, name = int(file.stem), f"_delta_log/{file.name}"
            self.state.apply(version, name, decode_lines(file.read_bytes()).actions)
            actions = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            for action in actions:
                self.live.pop(action.get("remove", {}).get("path"), None)
            for line, action in enumerate(actions, 1):
                if add := action.get("add"):
                    self.live[add["path"]] = self._row(version, name, line, add)

    def _row(self, version: int, file: str, line: int, add: dict[str, Any]) -> dict[str, Any]:
        vector = add.get("deletionVector") or {}
        return {
            **dict.fromkeys(DATA_REPLAY_COLUMNS),
            "version": version,
            "file": file,
            "line": line,
            "kind": "add",
            "path": add["path"],
            "path_key": unquote(add["path"]),
            "size": add["size"],
            "partition_values": [{"key": key, "value": value} for key, value in add["partitionValues"].items()],
            "dv_storage_type": vector.get("storageType"),
            "dv_path_or_inline": vector.get("pathOrInlineDv"),
            "dv_offset": vector.get("offset"),
            "dv_size_in_bytes": vector.get("sizeInBytes"),
            "cardinality": vector.get("cardinality"),
        }

    def check(self, spark: "SparkSession") -> RecordingFindings:
        frame = pl.DataFrame(list(self.live.values()), build_empty_replay_frame(DATA_REPLAY_COLUMNS).schema)
        constraint_evaluation.check_constraints_on_spark(spark, self, self.findings, frame.iter_slices(3))  # type: ignore[arg-type]
        return self.findings


def count_violating_rows(found: Findings) -> dict[str, int]:
    """Count the rows that violate each constraint, or the expression of each column."""
    rows: dict[str, int] = {}
    for each in found.sorted_findings:
        name = each.evidence.get("constraint") or each.column
        rows[str(name)] = rows.get(str(name), 0) + int(each.evidence["violating_rows"])
    return rows


def collect_reasons(found: RecordingFindings) -> dict[str, str]:
    """Return the reason for each expression that was not evaluated."""
    entries = (each.partition(" is not evaluated: ") for each in found.reasons)
    return {title: why for title, _, why in entries}


def build_constraint_properties(expressions: Sequence[str]) -> dict[str, str]:
    return {f"delta.constraints.c{number}": text for number, text in enumerate(expressions)}


def commit_constraints(path: Path, expressions: Sequence[str]) -> None:
    """Commit constraints without checking the existing rows, unlike a real writer."""
    log = sorted((path / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for file in log for line in file.read_text("utf-8").splitlines()]
    metadata = [line["metaData"] for line in lines if "metaData" in line][-1]
    metadata["configuration"] |= build_constraint_properties(expressions)
    (path / "_delta_log" / f"{len(log):020}.json").write_text(json.dumps({"metaData": metadata}) + "\n", "utf-8")


REAL = [
    "round(n, 1) < 2.5",
    "round(n / 3) >= 0",
    f"upper({QUOTED}) rlike '^[A-ZÄ]+$'",
    f"length({QUOTED}) + round(n) > 3",
    "st.`x y` + round(n) > 2",
    f"st.li[0] = 1 OR {QUOTED} IS NULL",
    "size(st.li) > 0",
    "array_contains(st.li, 2)",
    "element_at(m, 'k') > 1",
    "m['k'] IS NOT NULL",
    "coalesce(array_size(items), 0) = 0 OR items.q[0] > 2",
    "coalesce(array_size(items), 0) < 2 OR items[1].`q.r` <> 'z'",
    "date_format(day, 'yyyy-MM') = concat(left(month, 5), right(month, 2))",
    "last_day(day) > '2024-02-10'",
    "p = 'x' OR round(n) = 1",
    "xxhash64(id, s) <> 0 AND hash(st) IS NOT NULL",
    "d / 3 > 0.4",
    "locate('b', s) = 2",
    "st = struct(1, array(1, 2))",
    "s like '_b%' OR round(id) = 1",
    "at >= timestamp_seconds(0)",
    "nz > to_timestamp_ntz('2024-01-01 00:00:00')",
    "substring(s, -1, 1) <> 'c'",
]


def test_constraints_see_the_rows_that_delta_spark_reads(spark: "SparkSession", tmp_path: Path) -> None:
    """Includes column mapping, deletion vectors, type widening and partitions."""
    path = tmp_path / "t"
    columns = (
        f"id INT, n DOUBLE, {QUOTED} STRING, s STRING, day DATE, at TIMESTAMP, nz TIMESTAMP_NTZ, d DECIMAL(6,2), "
        "st STRUCT<`x y`: INT, li: ARRAY<INT>>, m MAP<STRING, INT>, items ARRAY<STRUCT<q: INT, `q.r`: STRING>>, "
        "month STRING GENERATED ALWAYS AS (date_format(day, 'yyyy-MM')), p STRING"
    )
    features = {"columnMapping__mode": "name", "enableDeletionVectors": True, "enableTypeWidening": True}
    create(spark, str(path), columns, "PARTITIONED BY (p)", **features)
    first = (
        "(1, 1.25, 'äb', 'abc', date'2024-02-29', timestamp'2024-02-29 12:00:00Z', timestamp_ntz'2024-02-29 12:00:00',"
    )
    first += " 1.50, struct(1, array(1, 2)), map('k', 2), array(struct(2, 'y'), struct(3, 'z')), '2024-02', 'x')"
    second = "(2, 2.55, NULL, 'xbc', date'1970-01-01', timestamp'1960-01-01 00:00:00Z', NULL,"
    second += " NULL, struct(NULL, NULL), map('j', 2), array(), '1970-01', 'x')"
    third = "(3, NULL, 'Q1', 'yb', NULL, NULL, timestamp_ntz'2020-01-01', -1.00, NULL, NULL, NULL, NULL, 'y')"
    gone = "(4, 9.5, 'gone', 'gone', date'2024-03-01', NULL, NULL, 0.01, NULL, NULL, NULL, '2024-03', 'x')"
    run(
        spark,
        str(path),
        f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM VALUES {gone}, {first}, {second}, {third}, {first}",
        "DELETE FROM {t} WHERE s = 'gone'",
        "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE {t} ADD CONSTRAINT sound CHECK (round(id) < 9 AND upper(s) <> 'gone')",
    )
    assert [each["cardinality"] for each in Log(path).live.values() if each["dv_storage_type"]] == [1]
    sound = Log(path).check(spark)
    assert (count_violating_rows(sound), collect_reasons(sound)) == ({}, {})
    commit_constraints(path, REAL)
    table = spark.read.format("delta").load(str(path))
    tests = [f"count_if(NOT (({text}) <=> TRUE)) AS c{number}" for number, text in enumerate(REAL)]
    counted = table.selectExpr(*tests).first()
    assert counted is not None
    found = Log(path).check(spark)
    assert collect_reasons(found) == {}
    assert count_violating_rows(found) == {name: number for name, number in counted.asDict().items() if number}
    shown = [each.evidence for each in found.sorted_findings if each.evidence["constraint"] == "c4"]
    assert {(each["first_row"], each["row_values"]) for each in shown} == {
        (1, "n: 1.25, st.x y: 1"),  # the first row is deleted
        (0, "n: null, st.x y: null"),
    }


def test_spark_agrees_with_the_embedded_evaluation(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Build generated columns from the kit's values of the expressions, shifted by one row."""
    arrays, named = dict(zip(PLAIN_ROWS.column_names, PLAIN_ROWS.columns, strict=True)), []
    differing: dict[str, int] = {}
    for number, text in enumerate(EXPRESSIONS):
        answer, results = parse_expression(text), evaluate(text, PLAIN_ROWS)
        assert isinstance(answer, SupportedExpression), f"{text=}"
        kind = compile_expression(answer.tree, ExpressionColumns(SCHEMA, None, [], {}, PLAIN_ROWS.schema, {})).term.type
        if get_type_name(kind) == "void":
            continue
        values = pa.array(results, arrow_type(kind))
        shifted = pa.concat_arrays([values[1:], values[:1]])
        arrays[f"q{number}"] = shifted
        named.append(
            {
                "name": f"q{number}",
                "type": get_type_name(kind),
                "nullable": True,
                "metadata": {GENERATION_EXPRESSION: text},
            }
        )
        differing[f"q{number}"] = sum(
            repr(one) != repr(other) for one, other in zip(results, shifted.to_pylist(), strict=True)
        )
    assert len(differing) > 100
    plain = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (kind, _) in COLUMNS.items()]
    files = build_single_file_table(pa.table(arrays), [*plain, *named], protocol=GENERATED_COLUMNS_PROTOCOL)
    write_table(files, tmp_path / "t")
    log = Log(tmp_path / "t")
    undecided = [ConstraintResult(undecided="left to Spark by the test") for _ in named]
    monkeypatch.setattr(constraint_evaluation.ConstraintEvaluator, "evaluate_without_spark", lambda *_: {0: undecided})
    found = log.check(spark)
    assert collect_reasons(found) == {}
    assert count_violating_rows(found) == {name: number for name, number in differing.items() if number}


UNDECIDED = {
    "reflect('java.lang.System', 'setProperty', 'ran', 'c0') IS NULL": "the function reflect is not in the list",
    "java_method('java.lang.System', 'setProperty', 'ran', 'c1') = 'x'": "the function java_method is not",
    "concat(upper(reflect('java.lang.System', 'setProperty', 'ran', 'c2')), name) <> ''": "the function reflect",
    "`reflect`('java.lang.System', 'setProperty', 'ran', 'c3') IS NULL": "a function name in backticks",
    "id > 0 /* */ AND reflect('java.lang.System', 'setProperty', 'ran', 'c4') = 1": "it has comments",
    "id > 0 OR try_reflect('java.lang.System', 'setProperty', 'ran', 'c5') = 1": "the function try_reflect is",
    "id IN (SELECT reflect('java.lang.System', 'setProperty', 'ran', 'c6'))": "SELECT is not supported",
    "secret(name) <> ''": "the function secret is not in the list",
    "current_user() <> name": "the function current_user is not in the list",
    "current_date > day": "CURRENT_DATE is not supported",
    "rand() < 2": "the function rand is not in the list",
    "input_file_name() <> ''": "the function input_file_name is not in the list",
    "spark_catalog.default.secret(name) <> ''": "Identifier is not supported",
    "hour(day) = 0": "hour of a date uses the session time zone",
    "cast(day AS timestamp) > '2020-01-01 00:00:00Z'": "date is converted to timestamp in the session time zone",
    "day > timestamp '2020-01-01 00:00:00Z'": "date and timestamp are converted to one type in the session time zone",
    "date_format(day, 'yyyy-MM HH') <> ''": "date_format uses the session time zone",
    "from_unixtime(id) <> ''": "from_unixtime uses the session time zone",
    "day > date 'now'": "how 'now' is read as date depends on settings",
    "price < sin(id)": "engines differ in the last digits of sin",
    "cast(price AS string) <> ''": "runtimes format floating-point numbers differently",
    "round(id / (id - 2)) >= 0": "in some rows, Spark failed with DIVIDE_BY_ZERO while ANSI mode is on",
    "cast(name AS int) = 1": "in some rows, Spark failed with CAST_INVALID_INPUT while ANSI mode is on",
    "size(if(id > 2, NULL, array(id))) < 2": "in some rows, it depends on whether ANSI",
    "round(id)": "its type is bigint; expected boolean",
    "name rlike '(a+)+$'": "a regular expression may take too long",
    "round(length(repeat(name, 2147483647))) >= 0": "its values may become too large",
    "round(name, day) > 1": "Spark rejects it: DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE with ANSI mode on",
}


def test_undecided_expressions_are_reported_and_no_untrusted_code_runs(spark: "SparkSession", tmp_path: Path) -> None:
    """Each expression has its own reason, and none prevents the evaluation of the others."""
    spark.udf.register("secret", lambda _: 1 / 0)
    spark.udf.register("upper", lambda _: "from a user's function")
    spark.range(1).selectExpr("'from a view' AS c0").createOrReplaceTempView("c0")
    evaluated = ["upper(name) = 'A' OR round(id) > 1", "round(id) <> 3 AND length('${env:PATH}') = 11"]
    texts = [*UNDECIDED, *evaluated]
    write_table(
        build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), build_constraint_properties(texts)),
        tmp_path / "t",
    )
    found = Log(tmp_path / "t").check(spark)
    reasons = collect_reasons(found)
    assert {
        text: reason
        for number, (text, expected) in enumerate(UNDECIDED.items())
        if not (reason := reasons.get(f"CHECK constraint c{number}", "none")).startswith(expected)
    } == {}
    assert len(reasons) == len(UNDECIDED)
    assert count_violating_rows(found) == {f"c{len(texts) - 1}": 1}
    assert _get_side_effect(spark) is None
    assert spark.sql("SELECT secret IS NULL FROM (SELECT 1 AS secret)").collect()  # the user's session is active again
    assert not is_builtin_function(spark, "secret")
    assert not is_builtin_function(spark, "no_such_function")
    assert is_builtin_function(spark, "lower")


def test_too_long_values_are_not_passed_to_spark(spark: "SparkSession", tmp_path: Path) -> None:
    texts = ["round(length(repeat(name, 256))) >= 0", "round(id) < 3"]
    table = replace_last_row(name="a" * 70_000)
    write_table(
        build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), build_constraint_properties(texts), table),
        tmp_path / "t",
    )
    found = Log(tmp_path / "t").check(spark)
    assert collect_reasons(found) == {
        "CHECK constraint c0": "a value is longer than 65536 bytes, the limit of this expression"
    }
    assert count_violating_rows(found) == {"c1": 1}


def test_number_of_expressions_for_spark_is_limited(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constraint_evaluation, "MAX_EXPRESSIONS", 2)
    texts = ["round(id) < 3", "id > 0", "round(id) < 2", "round(id) < 1"]
    write_table(
        build_constrained_table(CONSTRAINTS_PROTOCOL, build_fields(), build_constraint_properties(texts)),
        tmp_path / "t",
    )
    found = Log(tmp_path / "t").check(spark)
    assert collect_reasons(found) == {"CHECK constraint c3": "Spark evaluates at most 2 expressions"}
    assert count_violating_rows(found) == {"c0": 1, "c2": 2}


def _get_side_effect(spark: "SparkSession") -> str | None:
    gateway: Any = spark
    found: str | None = gateway._jvm.java.lang.System.getProperty("ran")
    return found


def test_no_untrusted_code_runs_in_column_expressions(spark: "SparkSession", tmp_path: Path) -> None:
    call = "reflect('java.lang.System', 'setProperty', 'ran', 'column')"
    generated = build_fields(
        name={GENERATION_EXPRESSION: f"concat(lower({call}), 'x')"}, year={GENERATION_EXPRESSION: "round(id * 2)"}
    )
    write_table(
        build_constrained_table(GENERATED_COLUMNS_PROTOCOL, generated, table=replace_last_row(year=6)),
        tmp_path / "generated",
    )
    found = Log(tmp_path / "generated").check(spark)
    assert collect_reasons(found) == {"the expression of name": REFLECT}
    assert [(each.rule, each.evidence["violating_rows"]) for each in found.sorted_findings] == [("ROW041", 2)]
    fields = build_fields(
        name=build_invariant_metadata(f"{call} IS NULL"), id=build_invariant_metadata("round(id) < 3")
    )
    write_table(build_constrained_table(CONSTRAINTS_PROTOCOL, fields), tmp_path / "invariants")
    found = Log(tmp_path / "invariants").check(spark)
    assert collect_reasons(found) == {"the invariant of name": REFLECT}
    assert [(each.rule, each.evidence["row_values"]) for each in found.sorted_findings] == [("ROW043", "id: 3")]
    assert _get_side_effect(spark) is None


REFLECT = "the function reflect is not in the list of deterministic functions"


def test_time_zone_of_the_writers_decides_expressions_over_timestamps(spark: "SparkSession", tmp_path: Path) -> None:
    path = str(tmp_path / "zoned")
    with with_settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        columns = "at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), n INT"
        create(spark, path, columns, constraints__late="hour(at) > 21")
        append(spark, path, "SELECT TIMESTAMP '2024-07-01 22:30:00' AS at, 1 AS n")
    unknown, same, other = (
        validate(spark, path, level="rows", writer_time_zone=zone).report
        for zone in (None, "America/New_York", "Asia/Tokyo")
    )
    assert (unknown.verdict, same.verdict, other.verdict) == ("incomplete", "conforms", "violations")
    reasons = {each.rule: each.reason for each in unknown.checked.not_checked}
    assert reasons.keys() == {"ROW040", "ROW041"}
    assert {
        key: reason for key, reason in reasons.items() if not reason.endswith("; --writer-time-zone names it")
    } == {}
    assert same.checked.not_checked == []
    assert other.totals == {"ROW040": 1, "ROW041": 1}
    embedded = [each.reason for each in deltaspec.validate(path, level="rows").checked.not_checked]
    assert len(embedded) == 2
    assert [reason for reason in embedded if " needs Spark and --writer-time-zone: " not in reason] == []
