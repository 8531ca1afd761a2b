"""The Spark engine: the log is read on executors, shares are looked at there, and findings come back.

What a run does, and in which order, is `LogRun`'s, and what a share is looked at for is that of the embedded engine.
The driver holds the table's state, what its commits do, and findings; no file of the table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from deltaspec.model.file_names import CompactionName, compaction_name
from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.validate.asked import Asked
from deltaspec.validate.base_run import ACTION_VIEWS, Progress, Run
from deltaspec.validate.data_stages import LIVE_FILES
from deltaspec.validate.findings import Findings
from deltaspec.validate.held_rows import has_conditions
from deltaspec.validate.log_run import LogRun, commit_file
from deltaspec.validate.path_stage import CHAIN_ROWS
from deltaspec.validate.plan import Plan
from deltaspec.validate.spark.constraints import look_at_constraints
from deltaspec.validate.spark.jobs import Jobs
from deltaspec.validate.spark.payloads import to_value
from deltaspec.validate.spark.reach import Reach
from deltaspec.validate.spark.reading import (
    COUNTED,
    PART,
    RAW,
    SUMMARY,
    TOP,
    FactsTask,
    LogUnit,
    PartUnit,
    Place,
    ReadTask,
)
from deltaspec.validate.spark.shares import SparkShares
from deltaspec.validate.spark.sources import Sources
from deltaspec.validate.sums import Sums
from deltaspec.views.file_facts import FileContext
from deltaspec.wire.checkpoint_files import CheckpointRead, PartRead, file_parts, find_sidecars
from deltaspec.wire.log_lines import LogSummary
from deltaspec.wire.storage import LOG, StorageError


class SparkRun(LogRun):
    """One run over one table. `judge` may be called once."""

    def __init__(self, jobs: Jobs, reach: Reach, plan: Plan, asked: Asked, progress: Progress, count: int) -> None:
        super().__init__(
            *(reach.store, plan, asked.findings(), progress),
            level=asked.level,
            revision=asked.revision,
            clock_ms=asked.clock,
            allow_outside=asked.allow_outside,
        )
        self._reach = reach
        self._sources = Sources(jobs, reach)
        self.reads = {}
        self.shares: SparkShares = SparkShares(jobs, count, here=None if reach.executors_reach else reach.store)
        self._jobs = jobs
        self._units = _units(plan, self.revision)
        self._summaries: dict[str, LogSummary | StorageError] = {}
        self._tops: dict[Checkpoint, dict[str, CheckpointRead]] = defaultdict(dict)
        self._places: dict[int, Place] = {}
        self._expected: dict[int, int] = {}
        """How many file actions each JSON file has."""
        self._parts: list[PartUnit] = []
        self.at_end: Callable[[], None] = lambda: None
        """Called when all is found, and the frames of the run are still there."""

    def read_history(self) -> None:
        self._read()
        super().read_history()

    def _judge_log(self) -> Sums | None:
        sums = super()._judge_log()
        # its own readers hand rows to Spark, which evaluates what the kit alone cannot
        by_spark = sums is not None and self.level == "rows" and self._reach.executors_reach
        self.conditions_apart = by_spark and has_conditions(self)
        return sums

    def _judge(self) -> Findings:
        found = super()._judge()
        if self.conditions_apart and self.files_in_doubt is None:
            found.merge(self.shares.once(self._look_at_conditions))
        self.at_end()
        return found

    def _look_at_conditions(self) -> Findings:
        other = super().apart()
        look_at_constraints(self._jobs.session, other, self.shares.frames(LIVE_FILES), self._jobs.environment)
        return other.findings

    def apart(self) -> Run:
        """The knowledge of the run, for executors: with what they reach of the table."""
        other = super().apart()
        other.store = self._reach.on_executors
        return other

    def _read(self) -> None:
        """Read every file of the log that has actions of the table; file actions stay with the executors."""
        asked = self._sources.ask(self._units, self.plan.sizes)
        frame = self._raw = self._jobs.run(asked.frame, ReadTask(self.apart(), asked.reader))
        self.shares.collect(self, frame)
        told: dict[int, Any] = dict(asked.faults)
        for row in self._jobs.rows(frame.filter(frame["tag"].isin([SUMMARY, TOP])), 1):
            told[row.share] = to_value(row.payload)
        for unit in self._units:
            read = told[unit.number] if unit.number in told else self._sources.why_absent(unit)
            if unit.checkpoint is None:
                self._summaries[unit.file] = read
            elif isinstance(read, StorageError):
                self._tops[unit.checkpoint][unit.file] = CheckpointRead(unit.checkpoint, not_read=str(read))
            else:
                self._tops[unit.checkpoint][unit.file] = read

    def _commits(self) -> Iterator[LogSummary | StorageError]:
        for version in self.plan.commits:
            yield self._summaries.pop(commit_file(version))

    def _deal_files(self, file: str, version: int, context: FileContext, summary: LogSummary) -> None:
        self._note_actions(summary, Place("commit", file, version, context))

    def _note_actions(self, summary: LogSummary, place: Place) -> None:
        number = self._numbers[place.file]
        self._places[number], self._expected[number] = place, summary.file_actions

    def _end_of_commits(self) -> None:
        """They are dealt in `settle`."""

    def _read_base(self, base: Checkpoint) -> CheckpointRead:
        return self._read_actions(base)

    def _deal_base(self, read: CheckpointRead, context: FileContext) -> None:
        self._note(read, context, CHAIN_ROWS)

    def take_claim(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> CheckpointRead:
        read = self._read_actions(checkpoint)
        self._note(read, context, tag)
        return read

    def take_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        summary = self._summaries.pop(file)
        if isinstance(summary, StorageError):
            raise summary
        self._note_actions(summary, Place("compaction", file, version, context, tag))
        return summary

    def _read_actions(self, checkpoint: Checkpoint) -> CheckpointRead:
        read = self.reads[checkpoint] = CheckpointRead(checkpoint, self.revision)
        tops = self._tops.pop(checkpoint)
        for name in checkpoint.files:
            read.take(tops[f"{LOG}/{name}"])
        find_sidecars(self.store, read, self.plan.sizes)
        return read

    def _note(self, read: CheckpointRead, context: FileContext, tag: str) -> None:
        for part in file_parts(read):
            self._parts.append(PartUnit(len(self._parts), read.checkpoint, part, context, tag))
        self.note_parts(read.checkpoint, tag)

    def settle(self) -> None:
        """Look at all file actions by themselves, and deal them."""
        rows = self._raw.filter(self._raw["tag"] == RAW)
        asked = self._sources.ask(self._parts, self.plan.sizes)
        task = FactsTask(self.apart(), asked.reader, self._places, self.shares.count)
        frame = self._jobs.run(rows.unionAll(asked.frame), task)
        self.shares.collect(self, frame)
        told: dict[int, tuple[PartRead, int | None]] = {
            number: (PartRead(not_read=str(why)), None) for number, why in asked.faults.items()
        }
        counted = Counter[int]()
        for row in self._jobs.rows(frame.filter(frame["tag"].isin([PART, COUNTED])), 1):
            if row.tag == COUNTED:
                counted.update(to_value(row.payload))
            else:
                told[row.share] = to_value(row.payload)
        self._doubt_lost(counted)
        for unit in self._parts:
            if unit.number not in told:
                told[unit.number] = PartRead(not_read=str(self._sources.why_absent(unit))), None
            part, misplaced = told[unit.number]
            read = self.reads[unit.checkpoint]
            read.take_part(unit.part, part)
            if misplaced is not None:
                read.misplaced_files = (read.misplaced_files or 0) + misplaced
        for read in self.reads.values():
            self.doubt_read(read)
        if self.findings.sink is None:  # else its findings are read again, at the end
            self._jobs.forget(self._raw)
        super().settle()

    def _doubt_lost(self, counted: Counter[int]) -> None:
        """Enter files whose actions did not all come: a task may be repeated when its files are gone."""
        for number, expected in self._expected.items():
            if counted[number] != expected:
                file = self._units[number].file
                self.doubt_files("its actions were not there when they were read again", file)
                self.findings.doubt(ACTION_VIEWS, "its actions were not there when they were read again", file)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {unit.file: unit.number for unit in self._units}


def _units(plan: Plan, revision: Revision) -> list[LogUnit]:
    """Every file of the log that is read for its actions."""
    files: list[tuple[str, int, Checkpoint | None]] = [
        (commit_file(version), version, None) for version in plan.commits
    ]
    checkpoints = ([plan.base] if plan.base is not None else []) + list(plan.claims)
    files += [(f"{LOG}/{name}", each.version, each) for each in checkpoints for name in each.files]
    compactions = plan.compactions if revision.since(Revision.R3) else ()
    files += [(_compaction_file(each), each.end, None) for each in compactions]
    sizes = plan.sizes
    return [
        LogUnit(number, file, version, sizes[file.removeprefix(f"{LOG}/")], checkpoint)
        for number, (file, version, checkpoint) in enumerate(files)
    ]


def _compaction_file(name: CompactionName) -> str:
    return f"{LOG}/{compaction_name(name.start, name.end)}"
