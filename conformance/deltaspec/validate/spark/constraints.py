"""Holds the rows of live data files to what the table's metadata says of them in SQL, by Spark where Spark is needed.

Expressions are input from a stranger. What Spark is handed is SQL made anew from trees that were admitted
(`wire.sql_expressions`), over columns that have names of ours, in a session without functions or views of anybody; and
only built-in functions are called. Each expression is evaluated with ANSI mode and without: what a row is worth is told
where both agree.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from deltaspec.validate.findings import Findings
from deltaspec.validate.held_rows import Conditions
from deltaspec.validate.spark.constraint_plans import Plan, Plans
from deltaspec.validate.spark.constraint_session import MODES, isolated, mode
from deltaspec.validate.spark.constraint_tasks import (
    WHOLE_FILE,
    Knowledge,
    Task,
    evaluating,
    reading,
    showing,
)
from deltaspec.views.data_files import DataFile, DataFiles
from deltaspec.views.held_rows import held_rows
from deltaspec.views.state import TableState
from deltaspec.wire.data_access import DataAccess
from deltaspec.wire.expression_rows import Held
from deltaspec.wire.sql_tree import render
from deltaspec.wire.storage import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES_AT_ONCE = 5_000
_PORTIONS = 256
"""Of a batch of files, at the most: each is the work of one task."""
_EXPRESSIONS_AT_ONCE = 16
_NOT_TOLD = "is not evaluated"
Row = dict[str, Any]


class Judged(Protocol):
    """What is asked of a run whose log is judged: as `EmbeddedRun` has it."""

    findings: Findings
    state: TableState
    operations: dict[int, str | None]
    store: Store
    allow_outside: bool


def look_at_constraints(spark: SparkSession, run: Judged, files: Iterable[pl.DataFrame]) -> None:
    """Evaluate every expression that is admitted on the rows of every live file; fills the view `held_rows`.

    What needs no Spark is evaluated by the kit, on executors; the rest by Spark SQL on rows that the kit reads. The
    session itself is left as it was. In memory there is a batch of files at a time, and of rows only their counts.

    Args:
        spark: whose executors reach the table by the run's store, and have the kit.
        run: its log is judged; findings and the ledger are added to.
        files: live data files, as `DataFiles.rows` has them.
    """
    table = run.state.table_schema
    if table is None or not run.findings.wants(held_rows):
        return
    asked = Conditions(table, run.state, run.operations, run.findings, unsettled=_NOT_TOLD)
    if not asked.admitted:
        return
    access = DataAccess(run.store, allow_outside=run.allow_outside)
    knowledge = Knowledge(access, table, tuple(asked.admitted))
    with isolated(spark) as own:
        judge = _Judge(own, run.findings, asked, knowledge)
        for frame in files:
            for part in frame.iter_slices(_FILES_AT_ONCE):
                judge.look([replace(each, stats=None) for each in DataFiles(part)])


@dataclass(frozen=True)
class _Count:
    """How the rows of one file stand to one expression, in one mode."""

    rows: int = 0
    broken: int = 0
    first: int | None = None
    which: int | None = None
    """Equal where the same rows break it."""


Counts = Mapping[int, _Count]
"""By number of the file."""


class _Judge:
    def __init__(self, spark: SparkSession, findings: Findings, asked: Conditions, knowledge: Knowledge) -> None:
        self.spark, self.findings, self.asked, self.knowledge = spark, findings, asked, knowledge
        self.plans = Plans(spark, knowledge)

    def look(self, files: list[DataFile]) -> None:
        """One batch of files."""
        conditions = [condition for condition, _ in self.asked.admitted]
        held = self._answers(evaluating(self.knowledge), [(number, each, None) for number, each in enumerate(files)])
        decided: dict[tuple[int, int], Held] = {}
        left: dict[int, set[int]] = {}
        for number, data_file in enumerate(files):
            found = held.get(number, "no task has answered for it")
            if isinstance(found, str):
                self.asked.doubt_file(data_file, found)
                continue
            for place, each in enumerate(found):
                if each.undecided is None:
                    decided[number, place] = each
                    continue
                plan = self.plans.of(place)
                if isinstance(plan, str):
                    self.asked.doubt(conditions[place], plan, data_file.path if each.of_rows else None)
                else:
                    left.setdefault(place, set()).add(number)
        decided |= self._by_spark(files, left)
        rows = [
            self.asked.row(files[number], conditions[place], each)
            for (number, place), each in sorted(decided.items(), key=lambda item: item[0])
        ]
        self.findings.look_at_rows(held_rows, rows)

    # what Spark evaluates

    def _by_spark(self, files: list[DataFile], left: dict[int, set[int]]) -> dict[tuple[int, int], Held]:
        """What Spark tells of files and conditions; what it leaves open goes into the ledger."""
        found: dict[tuple[int, int], Held] = {}
        places = sorted(left)
        for start in range(0, len(places), _EXPRESSIONS_AT_ONCE):
            some = {place: left[place] for place in places[start : start + _EXPRESSIONS_AT_ONCE]}
            found |= self._agreed(files, some)
        broken = [key for key, each in found.items() if each.broken_rows]
        for key, text in self._shown(files, {key: found[key] for key in broken}).items():
            found[key].found = text
        return found

    def _agreed(self, files: list[DataFile], left: dict[int, set[int]]) -> dict[tuple[int, int], Held]:
        found: dict[tuple[int, int], Held] = {}
        modes = [_Look(self, files, left, each) for each in MODES]
        for place, numbers in left.items():
            condition, plan = self.asked.admitted[place][0], self.plans.of(place)
            assert not isinstance(plan, str)
            why = next((each.failed[place] for each in modes if place in each.failed), None)
            if why is not None:
                self.asked.doubt(condition, why, None)
                continue
            for number in sorted(numbers):
                fault = next((why for each in modes if (why := each.fault_of(number, plan))), None)
                one, other = (each.counts[place].get(number, _Count()) for each in modes)
                if fault is None and one != other:
                    fault = "in some rows, it depends on whether the session is in ANSI mode"
                if fault is None:
                    found[number, place] = Held(one.rows, one.broken, one.first)
                else:
                    self.asked.doubt(condition, fault, files[number].path)
        return found

    def _shown(self, files: list[DataFile], broken: dict[tuple[int, int], Held]) -> dict[tuple[int, int], str | None]:
        """What the first row that breaks a condition has in the columns that it speaks of."""
        if not broken:
            return {}
        places = sorted({place for _, place in broken})
        by_file: dict[int, list[int]] = {}
        for number, place in sorted(broken):
            by_file.setdefault(number, []).append(place)
        portions = [
            (number, files[number], [(places.index(place), broken[number, place].first_row) for place in mine])
            for number, mine in by_file.items()
        ]
        names = [self.plans.names_of(place) for place in places]
        answers = self._answers(showing(self.knowledge, names), portions)
        return {
            (number, place): text
            for number, mine in by_file.items()
            for place, text in zip(mine, answers.get(number, [None] * len(mine)), strict=True)
        }

    # jobs

    def portions(self, asked: Sequence[tuple[int, DataFile, Any]]) -> DataFrame:
        """Files with what is asked of each, spread over tasks."""
        size = -(-len(asked) // _PORTIONS)
        payloads = [(pickle.dumps(asked[start : start + size]),) for start in range(0, len(asked), size)]
        return self.spark.createDataFrame(payloads, "payload binary").repartition(len(payloads))

    def _answers(self, task: Task, asked: Sequence[tuple[int, DataFile, Any]]) -> dict[int, Any]:
        answers = self.portions(asked).mapInArrow(task, "file int, answer binary").collect()
        return {row["file"]: pickle.loads(row["answer"]) for row in answers}


class _Look:
    """Some expressions on the rows of some files, in one mode."""

    def __init__(self, judge: _Judge, files: list[DataFile], left: dict[int, set[int]], ansi: str) -> None:
        self.judge, self.files, self.left, self.ansi = judge, files, left, ansi
        self.failed: dict[int, str] = {}
        """Why an expression was given up, by its place."""
        self.counts: dict[int, Counts] = {}
        """By place of the expression."""
        self.faults: dict[int, dict[int, str]] = {}
        """Why rows of a file cannot be told, by number of the file and of the column, or `WHOLE_FILE`."""
        with mode(judge.spark, ansi):
            self._take(sorted(left))

    def fault_of(self, number: int, plan: Plan) -> str | None:
        """Why an expression cannot be told of a file."""
        faults = self.faults.get(number, {})
        return next((faults[each] for each in sorted(faults) if each == WHOLE_FILE or each in plan.columns), None)

    def _take(self, places: list[int]) -> None:
        """Evaluate expressions together; where that fails, in halves: others than the one that fails go on."""
        try:
            rows = self._query(places).collect()
        except Exception as fault:  # noqa: BLE001 - whatever Spark makes of a stranger's expression
            if len(places) == 1:
                self.failed[places[0]] = (
                    f"in some rows, {_why(fault)} while ANSI mode is {'on' if self.ansi == 'true' else 'off'}"
                )
                return
            half = len(places) // 2
            self._take(places[:half])
            self._take(places[half:])
            return
        for place in places:
            self.counts[place] = {
                row["file"]: _Count(row["rows"], row[f"n{place}"], row[f"first{place}"], row[f"which{place}"])
                for row in rows
            }
        for row in rows:
            self.faults.setdefault(row["file"], {}).update({each["of"]: each["fault"] for each in row["faults"]})

    def _query(self, places: list[int]) -> DataFrame:
        """A row for each file."""
        from pyspark.sql import functions as sql

        plans = {place: plan for place in places if not isinstance(plan := self.judge.plans.of(place), str)}
        columns: dict[int, set[int]] = {}
        for place, plan in plans.items():
            for number in self.left[place]:
                columns.setdefault(number, set()).update(plan.columns)
        asked = [(number, self.files[number], columns[number]) for number in sorted(columns)]
        task = reading(self.judge.knowledge, self.judge.plans.names, self.judge.plans.arrow_schema)
        rows = self.judge.portions(asked).mapInArrow(task, self.judge.plans.spark_schema)
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
        return rows.selectExpr("file", "row", "of", "fault", *tests).groupBy("file").agg(*counts)


def _why(fault: Exception) -> str:
    """What Spark says, without its words: they may hold values, and what they hold is not ours to repeat."""
    for name in ("getCondition", "getErrorClass"):
        told = getattr(fault, name, None)
        if told is not None and (condition := told()):
            return f"Spark ends with {condition}"
    return f"Spark ends with {type(fault).__name__}"
