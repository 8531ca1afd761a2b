"""Check the rows of live data files against SQL expressions in the metadata, with Spark SQL if it is needed.

Expressions are untrusted input. Spark receives SQL that the kit renders from parsed and supported expression trees. The
SQL uses generated column names, calls only built-in functions, and runs in an isolated session without user-defined
functions or views. Each expression is evaluated with and without ANSI mode, and its result counts if both agree.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.sql.row_evaluation import ConstraintResult
from deltaspec.sql.tree import render
from deltaspec.validation.data.row_constraint_checks import ConstraintRecorder
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.spark.constraint_session import ANSI_MODES, SETTINGS, get_error_condition, set_ansi_mode
from deltaspec.validation.spark.constraint_tasks import (
    WHOLE_FILE,
    ColumnUse,
    ConstraintContext,
    FileBatch,
    Task,
    build_evaluate_task,
    build_read_task,
    build_show_task,
)
from deltaspec.validation.spark.expression_plans import ExpressionPlan, ExpressionPlanner
from deltaspec.validation.spark.jobs import SparkFailed, compute_parallelism, translating_spark_errors
from deltaspec.validation.spark.session_copies import isolated_session
from deltaspec.views.data.constraint_checks import constraint_checks
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.wire.storage.data_access import DataAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES_PER_TASK = 600
"""Number of files of a batch per parallel task."""
_MIN_PORTIONS = 256
"""Number of portions that a batch of files may have, and more for many parallel tasks. Each is the work of one task."""
_PORTIONS_PER_TASK = 8
"""Number of portions per parallel task, so that all tasks end at about the same time."""
_PORTION_BYTES = 64 << 20
_OPEN_COST_BYTES = 1 << 20
"""Cost of opening a file, in bytes."""
_EXPRESSIONS_AT_ONCE = 50
MAX_EXPRESSIONS = 500
"""Maximum number of expressions per table, because each may need several jobs."""
_BYTES_PER_TASK = 1 << 30
"""Size of a batch of files per parallel task. Executors keep the columns of a batch while it is evaluated."""
Row = dict[str, Any]
_Key = tuple[int, int]
"""Number of a file in its batch, and index of an expression."""


def check_constraints_on_spark(
    spark: SparkSession,
    facts: LogFacts,
    findings: Findings,
    files: Iterable[pl.DataFrame],
) -> None:
    """Evaluate every supported expression on the rows of every live file. Evaluates the view `constraint_checks`.

    The kit evaluates on executors what needs no Spark SQL. Spark SQL evaluates the rest, on rows that the kit reads.
    The settings of the session do not change. The driver keeps one batch of files in memory, and only counts of rows.

    Args:
        spark: its executors have the kit and can read the store of the facts.
        facts: of the log.
        findings: receives what is found and what stays undecided.
        files: live data files, with the columns of `DataFiles.rows`. A run passes those that need Spark SQL.
    """
    table = facts.state.table_schema
    if table is None or not findings.has_rules_for(constraint_checks):
        return
    recorder = ConstraintRecorder(table, facts.state, facts.operations, findings, evaluates_on_spark=True)
    if not recorder.supported:
        return
    batches = _iter_batches(files, compute_parallelism(spark))
    first = next(batches, None)
    if first is None:
        return
    access = DataAccess(facts.store, allow_outside=facts.options.allow_outside)
    zone = facts.options.writer_time_zone
    context = ConstraintContext(access, table, tuple(recorder.supported), zone)
    with isolated_session(spark, SETTINGS | ({"spark.sql.session.timeZone": zone} if zone else {})) as isolated:
        plans = ExpressionPlanner(isolated, context)
        evaluator = ConstraintEvaluator(isolated or spark, findings, recorder, context, plans)
        for batch in chain([first], batches):
            evaluator.check(batch)


def _iter_batches(files: Iterable[pl.DataFrame], tasks_at_once: int) -> Iterator[list[DataFile]]:
    most_files, most_bytes = _FILES_PER_TASK * tasks_at_once, _BYTES_PER_TASK * tasks_at_once
    batch: list[DataFile] = []
    size = 0
    for frame in files:
        for each in DataFiles(frame):
            its = each.actual_size or each.size or 0
            if batch and (len(batch) == most_files or size + its > most_bytes):
                yield batch
                batch, size = [], 0
            batch.append(replace(each, stats=None))
            size += its
    if batch:
        yield batch


class _Count(msgspec.Struct, frozen=True):
    """Result of one expression on the rows of one file, in one mode."""

    read: int = 0
    """Rows that were read, also those that state a fault."""
    rows: int = 0
    broken: int = 0
    first: int | None = None
    which: int | None = None
    """Hash of the violating rows, to compare the two modes."""


class _EvaluationFailed(Exception):
    """Spark failed on an expression. The message is for the ledger."""


class ConstraintEvaluator:
    """Evaluation of the constraints that the embedded backend left undecided."""

    def __init__(
        self,
        spark: SparkSession,
        findings: Findings,
        recorder: ConstraintRecorder,
        context: ConstraintContext,
        plans: ExpressionPlanner,
    ) -> None:
        self.spark, self.findings, self.recorder, self.context = spark, findings, recorder, context
        self._tasks_at_once = compute_parallelism(spark)
        self.plans = plans

    def check(self, files: list[DataFile]) -> None:
        """Check one batch of files."""
        try:
            rows = self._rows(files)
        except SparkFailed as fault:
            for condition, _ in self.recorder.supported:
                self.recorder.mark_undecided(condition, str(fault), None)
            return
        self.findings.evaluate_rows(constraint_checks, rows)

    def _rows(self, files: list[DataFile]) -> list[Row]:
        """Build the rows of the view, and record what is undecided. Raise `SparkFailed`."""
        constraints = [condition for condition, _ in self.recorder.supported]
        held = self.evaluate_without_spark(files)
        answers = (each for each in held.values() if not isinstance(each, str))
        open_ones = {place for found in answers for place, each in enumerate(found) if each.undecided is not None}
        some = sorted(open_ones)[:MAX_EXPRESSIONS]
        self.plans.prepare(some)
        for_spark = frozenset(some)
        decided: dict[_Key, ConstraintResult] = {}
        left: dict[int, set[int]] = {}
        for number, data_file in enumerate(files):
            found = held.get(number, "no Spark task returned a result for it")
            if isinstance(found, str):
                self.recorder.mark_file_undecided(data_file, found)
                continue
            for place, each in enumerate(found):
                if each.undecided is None:
                    decided[number, place] = each
                    continue
                plan = (
                    self.plans.get_plan(place)
                    if place in for_spark
                    else f"Spark evaluates at most {MAX_EXPRESSIONS} expressions"
                )
                if isinstance(plan, str):
                    self.recorder.mark_undecided(
                        constraints[place], plan, data_file.path if each.is_row_dependent else None
                    )
                else:
                    left.setdefault(place, set()).add(number)
        decided |= self._by_spark(files, left)
        return [self.recorder.row(files[key[0]], constraints[key[1]], decided[key]) for key in sorted(decided)]

    def evaluate_without_spark(self, files: list[DataFile]) -> dict[int, list[ConstraintResult] | str]:
        """Evaluate expressions without Spark SQL. Return results by number of the file. Raise `SparkFailed`."""
        return self._answers(
            build_evaluate_task(self.context), [(number, each, None) for number, each in enumerate(files)]
        )

    # what Spark evaluates

    def _by_spark(self, files: list[DataFile], left: dict[int, set[int]]) -> dict[_Key, ConstraintResult]:
        """Evaluate expressions with Spark SQL. Return results by key, and record what is undecided."""
        found: dict[_Key, ConstraintResult] = {}
        places = sorted(left)
        for start in range(0, len(places), _EXPRESSIONS_AT_ONCE):
            some = {place: left[place] for place in places[start : start + _EXPRESSIONS_AT_ONCE]}
            with self._read(files, some) as (rows, counts):
                mode_results = [_ModeResults(self.plans, rows, list(some), self.spark, ansi) for ansi in ANSI_MODES]
            found |= self._agreed(files, some, mode_results, counts)
        broken = {
            key: each.first_row for key, each in found.items() if each.violating_rows and each.first_row is not None
        }
        for key, text in self._shown(files, broken).items():
            found[key].found = text
        return found

    @contextmanager
    def _read(self, files: list[DataFile], left: dict[int, set[int]]) -> Iterator[tuple[DataFrame, dict[int, int]]]:
        """Yield a frame with the columns of the expressions, persisted while the context is open.

        Also yield the number of its rows for each file: Spark reads the files of a lost executor again.
        """
        uses: dict[int, ColumnUse] = {}
        places: dict[int, list[int]] = {}
        for place, numbers in left.items():
            plan = self.plans.get_plan(place)
            assert not isinstance(plan, str)
            uses[place] = ColumnUse(plan.columns, plan.bounds)
            for number in numbers:
                places.setdefault(number, []).append(place)
        requests = [(number, files[number], places[number]) for number in sorted(places)]
        task = build_read_task(self.context, list(self.plans.names), self.plans.arrow_schema, uses)
        rows = self._portions(requests).mapInArrow(task, self.plans.spark_schema).persist()
        try:
            with translating_spark_errors():
                counts = {row["file"]: row["count"] for row in rows.groupBy("file").count().collect()}
            yield rows, counts
        finally:
            rows.unpersist()

    def _agreed(
        self,
        files: list[DataFile],
        left: dict[int, set[int]],
        mode_results: list[_ModeResults],
        counts: dict[int, int],
    ) -> dict[_Key, ConstraintResult]:
        found: dict[_Key, ConstraintResult] = {}
        for place, numbers in left.items():
            condition, plan = self.recorder.supported[place][0], self.plans.get_plan(place)
            assert not isinstance(plan, str)
            why = next((each.failed[place] for each in mode_results if place in each.failed), None)
            if why is not None:
                self.recorder.mark_undecided(condition, why, None)
                continue
            for number in sorted(numbers):
                fault = next((why for each in mode_results if (why := each.find_fault(number, plan))), None)
                one, other = (each.counts[place].get(number, _Count()) for each in mode_results)
                if fault is None and {one.read, other.read} != {counts.get(number, 0)}:
                    fault = "its rows have changed since they were read first"
                if fault is None and one != other:
                    fault = "in some rows, it depends on whether ANSI mode is on"
                if fault is None:
                    found[number, place] = ConstraintResult(one.rows, one.broken, one.first)
                else:
                    self.recorder.mark_undecided(condition, fault, files[number].path)
        return found

    def _shown(self, files: list[DataFile], broken: dict[_Key, int]) -> dict[_Key, str | None]:
        """Read the values of violating rows in the columns of their expressions."""
        if not broken:
            return {}
        places = sorted({place for _, place in broken})
        by_file: dict[int, list[int]] = {}
        for number, place in sorted(broken):
            by_file.setdefault(number, []).append(place)
        requests = [
            (number, files[number], [(places.index(place), broken[number, place]) for place in mine])
            for number, mine in by_file.items()
        ]
        names = [self.plans.list_column_names(place) for place in places]
        answers = self._answers(build_show_task(self.context, names), requests)
        return {
            (number, place): text
            for number, mine in by_file.items()
            for place, text in zip(mine, answers.get(number, [None] * len(mine)), strict=True)
        }

    # jobs

    def _portions(self, requests: Sequence[tuple[int, DataFile, Any]]) -> DataFrame:
        """Distribute files, with the request for each, over tasks."""
        payloads = [(pickle.dumps(each),) for each in split_into_batches(requests, self._tasks_at_once)]
        return self.spark.createDataFrame(payloads, "payload binary").repartition(len(payloads))

    def _answers(self, task: Task, requests: Sequence[tuple[int, DataFile, Any]]) -> dict[int, Any]:
        rows = self._portions(requests).mapInArrow(task, "file int, answer binary")
        with translating_spark_errors():
            answers = rows.collect()
        return {row["file"]: pickle.loads(row["answer"]) for row in answers}


def split_into_batches(requests: Sequence[tuple[int, DataFile, Any]], tasks_at_once: int) -> Iterator[FileBatch]:
    """Yield files in portions of similar size: several per parallel task, and more if they would be too large."""
    costs = [_OPEN_COST_BYTES + max(each.actual_size or each.size or 0, 0) for _, each, _ in requests]
    least = sum(costs) / max(_MIN_PORTIONS, _PORTIONS_PER_TASK * tasks_at_once)
    enough = max(least, min(_PORTION_BYTES, sum(costs) / (_PORTIONS_PER_TASK * tasks_at_once)))
    portion: FileBatch = []
    held = 0
    for each, cost in zip(requests, costs, strict=True):
        portion.append(each)
        held += cost
        if held >= enough:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion


class _ModeResults:
    """Results of expressions on the rows of some files, in one mode."""

    def __init__(
        self, plans: ExpressionPlanner, rows: DataFrame, places: list[int], spark: SparkSession, ansi: str
    ) -> None:
        self._plans, self._rows, self._ansi = plans, rows, ansi
        self.failed: dict[int, str] = {}
        """Why an expression failed, by its index."""
        self.counts: dict[int, dict[int, _Count]] = {}
        """Counts by index of the expression and number of the file."""
        self.faults: dict[int, dict[int, str]] = {}
        """Why rows of a file cannot be evaluated, by number of the file, and by column or `WHOLE_FILE`."""
        set_ansi_mode(spark, ansi)
        self._evaluate(places)

    def find_fault(self, number: int, plan: ExpressionPlan) -> str | None:
        """Return why an expression cannot be evaluated on a file; None if it can."""
        faults = self.faults.get(number, {})
        return next((faults[each] for each in sorted(faults) if each == WHOLE_FILE or each in plan.columns), None)

    def _evaluate(self, places: list[int]) -> None:
        """Evaluate expressions together. If that fails, evaluate each half, so that only the failing one is lost."""
        try:
            rows = _collect(self._query(places))
        except _EvaluationFailed as fault:
            if len(places) == 1:
                state = "on" if self._ansi == "true" else "off"
                self.failed[places[0]] = f"in some rows, {fault} while ANSI mode is {state}"
                return
            half = len(places) // 2
            self._evaluate(places[:half])
            self._evaluate(places[half:])
            return
        for row in rows:
            self.faults.setdefault(row["file"], {}).update({each["of"]: each["fault"] for each in row["faults"]})
        for place in places:
            self.counts[place] = {
                row["file"]: _Count(
                    row["read"], row["rows"], row[f"n{place}"], row[f"first{place}"], row[f"which{place}"]
                )
                for row in rows
            }

    def _query(self, places: list[int]) -> DataFrame:
        """Build the query, which gives one row per file."""
        from pyspark.sql import functions as sql

        plans = {place: plan for place in places if not isinstance(plan := self._plans.get_plan(place), str)}
        tests = [f"{render(plan.broken)} AS b{place}" for place, plan in plans.items()]
        fault = sql.when(sql.col("fault").isNotNull(), sql.struct("of", "fault"))
        counts = [
            sql.count("*").alias("read"),
            sql.count("row").alias("rows"),
            sql.collect_set(fault).alias("faults"),
        ]
        for place in places:
            hit = sql.col(f"b{place}") & sql.col("row").isNotNull()
            counts += [
                sql.count(sql.when(hit, sql.col("row"))).alias(f"n{place}"),
                sql.min(sql.when(hit, sql.col("row"))).alias(f"first{place}"),
                sql.bit_xor(sql.when(hit, sql.xxhash64("row"))).alias(f"which{place}"),
            ]
        return self._rows.selectExpr("file", "row", "of", "fault", *tests).groupBy("file").agg(*counts)


def _collect(frame: DataFrame) -> list[Any]:
    """Collect the rows. Raise `_EvaluationFailed` without the message of Spark, which may contain user data."""
    try:
        return frame.collect()
    except Exception as fault:
        raise _EvaluationFailed(f"Spark failed with {get_error_condition(fault)}") from fault
