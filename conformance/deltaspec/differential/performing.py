"""Perform a history with two writers and compare their tables after every operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import ApplyAnswer
from deltaspec.differential.comparison import compare_facts
from deltaspec.differential.facts import Facts, Labels, read_facts
from deltaspec.differential.readers import compare_newest, compare_past
from deltaspec.protocol.property_names import CHANGE_DATA_FEED
from deltaspec.suites.history_requests import build_request, find_reason_to_skip
from deltaspec.suites.kit_steps import perform_step_of_the_kit
from deltaspec.suites.write_judging import TableReader, find_newest_version, validate_table
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.kinds import STEPS_OF_THE_KIT
from deltaspec_generators.histories.plain_table import Effect, Forbidden, NotApplicable, PlainTable, perform

_READ_EVERY = 3
"""The first writer reads the second table after every third operation: a scan costs it as much as a write."""


class Difference(msgspec.Struct, frozen=True):
    """A difference between the tables, or between the readers of a table."""

    aspect: str
    """Such as `outcome`, `schema` or `row ids`."""
    message: str
    """The first line says what differs; the operation follows."""
    steps: int
    """Number of steps up to the operation."""


class Comparison(msgspec.Struct):
    """Result of a history that both writers performed."""

    titles: list[str] = msgspec.field(default_factory=list)
    """One line for each operation."""
    differences: list[Difference] = msgspec.field(default_factory=list)
    """The first difference of each aspect."""
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Numbers of compared facts, and of uncompared ones with the reason."""

    def note(self, aspect: str, message: str) -> None:
        """Record a difference, unless the aspect has one already."""
        if all(each.aspect != aspect for each in self.differences):
            self.differences.append(Difference(aspect, message, len(self.titles)))


@dataclass
class _Side:
    """One of the writers, with its table."""

    candidate: Candidate
    directory: Path
    labels: Labels = field(default_factory=Labels)
    facts: Facts | None = None

    def __post_init__(self) -> None:
        (self.directory / "table").mkdir(parents=True)
        self.table = self.directory / "table"
        self.reader = TableReader(self.table)

    def apply(self, number: int, step: Step, before: PlainTable | None) -> ApplyAnswer | Refused:
        """Perform a step."""
        rows = self.directory / f"{number}.arrow"
        request = build_request(self.table, step, before, self.labels.versions, rows)
        try:
            answer = self.candidate.apply(request)
        except Refused as refused:
            return refused
        if request.table != str(self.table):
            self._use_clone(Path(request.table))
        return answer

    def _use_clone(self, table: Path) -> None:
        """Continue the history on another table, which has no earlier versions."""
        self.table, self.reader = table, TableReader(table)
        self.labels = Labels([-1] * len(self.labels.versions), is_clone=True)

    def find_reason_to_skip(self, step: Step) -> str | None:
        return find_reason_to_skip(step, self.labels.versions, find_newest_version(self.table))


def compare_history(
    first: Candidate, second: Candidate, steps: Sequence[Step], directory: Path, *, validates: bool = True
) -> Comparison:
    """Perform a history with two writers, each on a separate table below a directory.

    The reference reader reads both tables after every operation. The first candidate also reads the second table after
    every third operation, and both at the end, and must find the same as the reference reader. A difference in rows or
    outcomes ends the history.

    Args:
        first: writer and reader.
        second: writer.
        steps: operations that make sense for both writers.
        directory: existing directory.
        validates: whether to validate both tables at the end.
    """
    return _Run(first, second, directory).perform(steps, validates=validates)


class _Run:
    """A history in progress."""

    def __init__(self, first: Candidate, second: Candidate, directory: Path) -> None:
        self.sides = _Side(first, directory / "first"), _Side(second, directory / "second")
        self.done = Comparison()
        self.past: list[PlainTable | None] = []
        self.free_apps: set[str] = set()
        """Applications whose newest transaction differs, because one writer committed nothing."""

    def perform(self, steps: Sequence[Step], *, validates: bool) -> Comparison:
        for number, step in enumerate(steps):
            try:
                if not self._perform_step(number, step):
                    break
            except Died as death:
                self.done.note("outcome", f"died: {death}\noperation {number}: {step.title}")
                break
        is_readable = all(each.aspect != "readable" for each in self.done.differences)
        if is_readable and all(side.facts is not None for side in self.sides):
            self._read_newest()
            self._compare_readers()
            for side in self.sides if validates else ():
                self._validate(side)
        return self.done

    def _perform_step(self, number: int, step: Step) -> bool:
        """Perform a step with both writers; return whether the history continues."""
        before = self.past[-1] if self.past else None
        try:
            expected = perform(before, step.operation, step.commit, self.past)
        except NotApplicable:
            return self._skip(step, before)
        if any(side.find_reason_to_skip(step) for side in self.sides):
            return self._skip(step, before)
        self.done.titles.append(f"{number}: {step.title}")
        if step.kind in STEPS_OF_THE_KIT:
            assert isinstance(expected, Effect)
            for side in self.sides:
                perform_step_of_the_kit(step.operation, side.table, side.reader.read_state())
            return self._proceed(expected.table)
        newest = [find_newest_version(side.table) for side in self.sides]
        answers = [self.sides[0].apply(number, step, before)]
        if isinstance(expected, Effect) and _is_unsupported(answers[0]):
            self.done.counts[
                f"operations not compared: the first writer does not support {step.operation['kind']}"
            ] += 1
            self.done.titles[-1] += "  (not supported)"
            return before is not None and self._proceed(before)
        answers.append(self.sides[1].apply(number, step, before))
        self.done.counts["operations compared"] += 1
        refused = [each if isinstance(each, Refused) else None for each in answers]
        traces = [old != find_newest_version(side.table) for side, old in zip(self.sides, newest, strict=True)]
        for name, error, has_trace in zip(("first", "second"), refused, traces, strict=True):
            if error is not None and has_trace:
                self._note(
                    number, step, "outcome", f"{step.operation['kind']}: the {name} writer refused and committed"
                )
                return False
        if refused[0] is not None and refused[1] is not None:
            if isinstance(expected, Effect) and not expected.may_be_refused and not _is_unsupported(answers[1]):
                text = f"{step.operation['kind']}: both refused what the table allows\n{refused[0]}\n{refused[1]}"
                self._note(number, step, "outcome", text[:900])
                return False
            return self._compare_refusals(number, step, refused[0], refused[1]) and self._proceed(before)
        if isinstance(expected, Effect) and _is_unsupported(answers[1]):
            self.done.counts[
                f"operations not compared: the second writer does not support {step.operation['kind']}"
            ] += 1
            return False
        if refused[0] is not None or refused[1] is not None:
            texts = [f"refused: {each}" if each is not None else "accepted" for each in refused]
            self._note(number, step, "outcome", f"{step.operation['kind']}: {texts[0][:300]} and {texts[1][:300]}")
            return False
        if isinstance(expected, Forbidden):
            self._note(number, step, "outcome", f"both accepted a write that the protocol forbids: {expected.reason}")
            return False
        return self._compare_tables(number, step, expected, newest)

    def _compare_refusals(self, number: int, step: Step, first: Refused, second: Refused) -> bool:
        self.done.counts["refusals compared"] += 1
        categories = first.refusal.category, second.refusal.category
        if categories[0] != categories[1] and not set(categories) <= {"constraint", "unsupported"}:
            text = f"{step.operation['kind']}: {categories[0]} and {categories[1]}\n{first}\n{second}"
            self._note(number, step, "category of the refusal", text)
        return True

    def _compare_tables(self, number: int, step: Step, expected: Effect, newest: Sequence[int]) -> bool:
        before = self.past[-1] if self.past else None
        had_changes = before is None or before.is_enabled(CHANGE_DATA_FEED)
        if step.kind == "clone":
            had_changes, newest = False, [-1] * len(self.sides)
            self.past = [None] * len(self.past)
        commits = []
        facts = []
        for side, old in zip(self.sides, newest, strict=True):
            version = find_newest_version(side.table)
            commits.append(version > old)
            side.labels.versions.append(version)
            try:
                side.facts = read_facts(str(side.table), side.reader, side.labels, old + 1, had_changes=had_changes)
            except Refused as refused:
                side.labels.versions.pop()
                self._note(number, step, "readable", f"the reference reader refuses the table: {refused}")
                return False
            self.done.counts["versions compared"] += version - old
            facts.append(side.facts)
        if app := (step.commit.get("txn") or {}).get("app_id"):
            (self.free_apps.add if commits[0] != commits[1] else self.free_apps.discard)(app)
        self.done.counts["not compared, left to the writer: only one commits without effect"] += (
            commits[0] != commits[1]
        )
        for text in compare_facts(facts[0], facts[1], self.free_apps, self.done.counts):
            self._note(number, step, text.partition(":")[0], text)
        if number % _READ_EVERY == 0:
            self._read_newest()
        self.past.append(expected.table)
        return facts[0].rows == facts[1].rows

    def _read_newest(self) -> None:
        """Compare how both readers read the newest version of the second table."""
        for text in compare_newest(self.sides[0].candidate, self.sides[1].table, self.done.counts):
            self.done.note("reading of the second table", f"{text}\n{self.done.titles[-1]}")

    def _compare_readers(self) -> None:
        """Compare the first candidate with the reference reader: past versions, snapshot and changes."""
        for name, side in zip(("first", "second"), self.sides, strict=True):
            if side.labels.is_clone:
                self.done.counts["histories of clones compared"] += 1
            for text in compare_past(self.sides[0].candidate, side.table, self.done.counts):
                self.done.note(f"reading of the {name} table", text)

    def _validate(self, side: _Side) -> None:
        violations, _ = validate_table(side.table, allow_outside=side.labels.is_clone)
        self.done.counts["tables validated at level rows"] += 1
        for text in violations.values():
            self.done.note(f"validity of {side.directory.name}", text)

    def _note(self, number: int, step: Step, aspect: str, text: str) -> None:
        head, _, rest = text.partition("\n")
        self.done.note(aspect, "\n".join(filter(None, (head, f"operation {number}: {step.title}", rest))))

    def _proceed(self, table: PlainTable | None) -> bool:
        self.past.append(table)
        for side in self.sides:
            side.labels.versions.append(find_newest_version(side.table))
        return True

    def _skip(self, step: Step, table: PlainTable | None) -> bool:
        self.done.titles.append(f"({step.title}: left out)")
        self.done.counts["operations left out: they make no sense for the table"] += 1
        return self._proceed(table) and table is not None


def _is_unsupported(answer: ApplyAnswer | Refused) -> bool:
    return isinstance(answer, Refused) and answer.refusal.category == "unsupported"
