"""Holds the rows of live data files to what the table's metadata says of them in SQL, by Spark where Spark is needed.

Expressions are input from a stranger. What Spark is handed is SQL made anew from trees that were admitted
(`wire.sql_expressions`), over columns that have names of ours, in a session without functions or views of anybody; and
only built-in functions are called. Each expression is evaluated with ANSI mode and without: what a row is worth is told
where both agree.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.sql.row_evaluation import ConstraintResult
from deltaspec.sql.tree import render
from deltaspec.validation.data.row_constraint_checks import ConstraintRecorder
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.spark.constraint_session import ANSI_MODES, ansi_mode, get_error_condition, isolated_session
from deltaspec.validation.spark.constraint_tasks import (
    WHOLE_FILE,
    ColumnUse,
    ConstraintContext,
    FileBatch,
    Task,
    build_evaluate_task,
    build_read_task,
    build_show_task,
    serialize_task,
)
from deltaspec.validation.spark.expression_plans import ExpressionPlan, ExpressionPlanner
from deltaspec.validation.spark.jobs import SparkFailed, compute_parallelism, translating_spark_errors
from deltaspec.views.data.constraint_checks import constraint_checks
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.wire.storage.data_access import DataAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES_AT_ONCE = 5_000
_MOST_PORTIONS = 256
"""Of a batch of files: each is the work of one task."""
_PORTIONS_AT_ONCE = 8
"""For each task that runs at once: by then all of them end at about the same time."""
_PORTION_BYTES = 64 << 20
_BYTES_OF_OPENING = 1 << 20
"""What a file costs beside its bytes, whatever its length."""
_EXPRESSIONS_AT_ONCE = 50
_MOST_EXPRESSIONS = 500
"""Of a table: each may take some jobs of its own."""
_NOT_EVALUATED = "is not evaluated"
_BYTES_AT_ONCE = 8 << 30
"""Of files: the columns that are asked for lie with the executors for a while."""
Row = dict[str, Any]
_Key = tuple[int, int]
"""Number of a file in its batch, place of a condition."""


def check_constraints_on_spark(
    spark: SparkSession,
    facts: LogFacts,
    findings: Findings,
    files: Iterable[pl.DataFrame],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Evaluate every supported expression on the rows of every live file. Evaluates the view `constraint_checks`.

    The kit evaluates on executors what needs no Spark SQL. Spark SQL evaluates the rest, on rows that the kit reads.
    The settings of the session do not change. The driver keeps one batch of files in memory, and only counts of rows.

    Args:
        spark: its executors have the kit and can read the store of the facts.
        facts: of the log.
        findings: receives what is found and what stays undecided.
        files: live data files, with the columns of `DataFiles.rows`.
        environment: environment variables for tasks, such as those of object store clients.
    """
    table = facts.state.table_schema
    if table is None or not findings.has_rules_for(constraint_checks):
        return
    recorder = ConstraintRecorder(table, facts.state, facts.operations, findings, undecided_prefix=_NOT_EVALUATED)
    if not recorder.supported:
        return
    access = DataAccess(facts.store, allow_outside=facts.options.allow_outside)
    context = ConstraintContext(access, table, tuple(recorder.supported))
    with isolated_session(spark) as isolated:
        evaluator = _ConstraintEvaluator(isolated, findings, recorder, context, dict(environment or {}))
        for batch in _iter_batches(files):
            evaluator.check(batch)


def _iter_batches(files: Iterable[pl.DataFrame]) -> Iterator[list[DataFile]]:
    batch: list[DataFile] = []
    size = 0
    for frame in files:
        for each in DataFiles(frame):
            its = each.actual_size or each.size or 0
            if batch and (len(batch) == _FILES_AT_ONCE or size + its > _BYTES_AT_ONCE):
                yield batch
                batch, size = [], 0
            batch.append(replace(each, stats=None))
            size += its
    if batch:
        yield batch


@dataclass(frozen=True)
class _Count:
    """How the rows of one file stand to one expression, in one mode."""

    rows: int = 0
    broken: int = 0
    first: int | None = None
    which: int | None = None
    """Equal where the same rows break it."""


class _GivenUp(Exception):
    """Spark has failed on an expression; the message is for the ledger."""


class _ConstraintEvaluator:
    def __init__(
        self,
        spark: SparkSession,
        findings: Findings,
        asked: ConstraintRecorder,
        knowledge: ConstraintContext,
        environment: dict[str, str],
    ) -> None:
        self.spark, self.findings, self.asked, self.knowledge = spark, findings, asked, knowledge
        self._environment = environment
        self._tasks_at_once = compute_parallelism(spark)
        self.plans = ExpressionPlanner(spark, knowledge)

    def check(self, files: list[DataFile]) -> None:
        """One batch of files."""
        try:
            rows = self._rows(files)
        except SparkFailed as fault:
            for condition, _ in self.asked.supported:
                self.asked.mark_undecided(condition, str(fault), None)
            return
        self.findings.evaluate_rows(constraint_checks, rows)

    def _rows(self, files: list[DataFile]) -> list[Row]:
        """Rows of the view; what is left open goes into the ledger. Raises `SparkFailed`."""
        constraints = [condition for condition, _ in self.asked.supported]
        held = self.evaluate_without_spark(files)
        answers = (each for each in held.values() if not isinstance(each, str))
        open_ones = {place for found in answers for place, each in enumerate(found) if each.undecided is not None}
        some = sorted(open_ones)[:_MOST_EXPRESSIONS]
        self.plans.prepare(some)
        for_spark = frozenset(some)
        decided: dict[_Key, ConstraintResult] = {}
        left: dict[int, set[int]] = {}
        for number, data_file in enumerate(files):
            found = held.get(number, "no task has answered for it")
            if isinstance(found, str):
                self.asked.mark_file_undecided(data_file, found)
                continue
            for place, each in enumerate(found):
                if each.undecided is None:
                    decided[number, place] = each
                    continue
                plan = (
                    self.plans.get_plan(place)
                    if place in for_spark
                    else f"Spark is asked for {_MOST_EXPRESSIONS} at the most"
                )
                if isinstance(plan, str):
                    self.asked.mark_undecided(
                        constraints[place], plan, data_file.path if each.is_row_dependent else None
                    )
                else:
                    left.setdefault(place, set()).add(number)
        decided |= self._by_spark(files, left)
        return [self.asked.row(files[key[0]], constraints[key[1]], decided[key]) for key in sorted(decided)]

    def evaluate_without_spark(self, files: list[DataFile]) -> dict[int, list[ConstraintResult] | str]:
        """What is beyond doubt without Spark, by number of the file. Raises `SparkFailed`."""
        return self._answers(
            build_evaluate_task(self.knowledge), [(number, each, None) for number, each in enumerate(files)]
        )

    # what Spark evaluates

    def _by_spark(self, files: list[DataFile], left: dict[int, set[int]]) -> dict[_Key, ConstraintResult]:
        """What Spark tells of files and conditions, by place; what it leaves open goes into the ledger."""
        found: dict[_Key, ConstraintResult] = {}
        places = sorted(left)
        for start in range(0, len(places), _EXPRESSIONS_AT_ONCE):
            some = {place: left[place] for place in places[start : start + _EXPRESSIONS_AT_ONCE]}
            with self._read(files, some) as rows:
                looks = [_Look(self.plans, rows, list(some), self.spark, ansi) for ansi in ANSI_MODES]
            found |= self._agreed(files, some, looks)
        broken = {
            key: each.first_row for key, each in found.items() if each.violating_rows and each.first_row is not None
        }
        for key, text in self._shown(files, broken).items():
            found[key].found = text
        return found

    @contextmanager
    def _read(self, files: list[DataFile], left: dict[int, set[int]]) -> Iterator[DataFrame]:
        """The rows of files, of the columns that conditions ask for; they are kept by the executors for a while."""
        uses: dict[int, ColumnUse] = {}
        places: dict[int, list[int]] = {}
        for place, numbers in left.items():
            plan = self.plans.get_plan(place)
            assert not isinstance(plan, str)
            uses[place] = ColumnUse(plan.columns, plan.bounds)
            for number in numbers:
                places.setdefault(number, []).append(place)
        asked = [(number, files[number], places[number]) for number in sorted(places)]
        task = build_read_task(self.knowledge, list(self.plans.names), self.plans.arrow_schema, uses)
        rows = (
            self._portions(asked).mapInArrow(serialize_task(task, self._environment), self.plans.spark_schema).persist()
        )
        try:
            with translating_spark_errors():
                rows.groupBy().count().collect()
            yield rows
        finally:
            rows.unpersist()

    def _agreed(
        self, files: list[DataFile], left: dict[int, set[int]], looks: list[_Look]
    ) -> dict[_Key, ConstraintResult]:
        found: dict[_Key, ConstraintResult] = {}
        for place, numbers in left.items():
            condition, plan = self.asked.supported[place][0], self.plans.get_plan(place)
            assert not isinstance(plan, str)
            why = next((each.failed[place] for each in looks if place in each.failed), None)
            if why is not None:
                self.asked.mark_undecided(condition, why, None)
                continue
            for number in sorted(numbers):
                fault = next((why for each in looks if (why := each.fault_of(number, plan))), None)
                one, other = (each.counts[place].get(number, _Count()) for each in looks)
                if fault is None and one != other:
                    fault = "in some rows, it depends on whether ANSI mode is on"
                if fault is None:
                    found[number, place] = ConstraintResult(one.rows, one.broken, one.first)
                else:
                    self.asked.mark_undecided(condition, fault, files[number].path)
        return found

    def _shown(self, files: list[DataFile], broken: dict[_Key, int]) -> dict[_Key, str | None]:
        """What rows that break conditions have in the columns that those speak of."""
        if not broken:
            return {}
        places = sorted({place for _, place in broken})
        by_file: dict[int, list[int]] = {}
        for number, place in sorted(broken):
            by_file.setdefault(number, []).append(place)
        asked = [
            (number, files[number], [(places.index(place), broken[number, place]) for place in mine])
            for number, mine in by_file.items()
        ]
        names = [self.plans.list_column_names(place) for place in places]
        answers = self._answers(build_show_task(self.knowledge, names), asked)
        return {
            (number, place): text
            for number, mine in by_file.items()
            for place, text in zip(mine, answers.get(number, [None] * len(mine)), strict=True)
        }

    # jobs

    def _portions(self, asked: Sequence[tuple[int, DataFile, Any]]) -> DataFrame:
        """Files with what is asked of each, spread over tasks."""
        payloads = [(pickle.dumps(each),) for each in split_into_batches(asked, self._tasks_at_once)]
        return self.spark.createDataFrame(payloads, "payload binary").repartition(len(payloads))

    def _answers(self, task: Task, asked: Sequence[tuple[int, DataFile, Any]]) -> dict[int, Any]:
        rows = self._portions(asked).mapInArrow(serialize_task(task, self._environment), "file int, answer binary")
        with translating_spark_errors():
            answers = rows.collect()
        return {row["file"]: pickle.loads(row["answer"]) for row in answers}


def split_into_batches(asked: Sequence[tuple[int, DataFile, Any]], tasks_at_once: int) -> Iterator[FileBatch]:
    """Files in portions of about as many bytes: some for each task at once, and more where those would be long."""
    costs = [_BYTES_OF_OPENING + max(each.actual_size or each.size or 0, 0) for _, each, _ in asked]
    least = sum(costs) / _MOST_PORTIONS
    enough = max(least, min(_PORTION_BYTES, sum(costs) / (_PORTIONS_AT_ONCE * tasks_at_once)))
    portion: FileBatch = []
    held = 0
    for each, cost in zip(asked, costs, strict=True):
        portion.append(each)
        held += cost
        if held >= enough:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion


class _Look:
    """Some expressions on the rows of some files, in one mode."""

    def __init__(
        self, plans: ExpressionPlanner, rows: DataFrame, places: list[int], spark: SparkSession, ansi: str
    ) -> None:
        self._plans, self._rows, self._ansi = plans, rows, ansi
        self.failed: dict[int, str] = {}
        """Why an expression was given up, by its place."""
        self.counts: dict[int, dict[int, _Count]] = {}
        """By place of the expression and number of the file."""
        self.faults: dict[int, dict[int, str]] = {}
        """Why rows of a file cannot be told, by number of the file and of the column, or `WHOLE_FILE`."""
        with ansi_mode(spark, ansi):
            self._take(places)

    def fault_of(self, number: int, plan: ExpressionPlan) -> str | None:
        """Why an expression cannot be told of a file."""
        faults = self.faults.get(number, {})
        return next((faults[each] for each in sorted(faults) if each == WHOLE_FILE or each in plan.columns), None)

    def _take(self, places: list[int]) -> None:
        """Evaluate expressions together; where that fails, in halves: others than the one that fails go on."""
        try:
            rows = _collected(self._query(places))
        except _GivenUp as fault:
            if len(places) == 1:
                state = "on" if self._ansi == "true" else "off"
                self.failed[places[0]] = f"in some rows, {fault} while ANSI mode is {state}"
                return
            half = len(places) // 2
            self._take(places[:half])
            self._take(places[half:])
            return
        for row in rows:
            self.faults.setdefault(row["file"], {}).update({each["of"]: each["fault"] for each in row["faults"]})
        for place in places:
            self.counts[place] = {
                row["file"]: _Count(row["rows"], row[f"n{place}"], row[f"first{place}"], row[f"which{place}"])
                for row in rows
            }

    def _query(self, places: list[int]) -> DataFrame:
        """A row for each file."""
        from pyspark.sql import functions as sql

        plans = {place: plan for place in places if not isinstance(plan := self._plans.get_plan(place), str)}
        tests = [f"{render(plan.broken)} AS b{place}" for place, plan in plans.items()]
        fault = sql.when(sql.col("fault").isNotNull(), sql.struct("of", "fault"))
        counts = [sql.count("row").alias("rows"), sql.collect_set(fault).alias("faults")]
        for place in places:
            hit = sql.col(f"b{place}") & sql.col("row").isNotNull()
            counts += [
                sql.count(sql.when(hit, sql.col("row"))).alias(f"n{place}"),
                sql.min(sql.when(hit, sql.col("row"))).alias(f"first{place}"),
                sql.bit_xor(sql.when(hit, sql.xxhash64("row"))).alias(f"which{place}"),
            ]
        return self._rows.selectExpr("file", "row", "of", "fault", *tests).groupBy("file").agg(*counts)


def _collected(frame: DataFrame) -> list[Any]:
    """Its rows. Raises `_GivenUp`: without the words of Spark, which may hold values and names that are not ours."""
    try:
        return frame.collect()
    except Exception as fault:
        raise _GivenUp(f"Spark ends with {get_error_condition(fault)}") from fault
