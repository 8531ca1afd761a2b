"""The candidate under test with its base tables, and code that all trials share: requests, copies, judgement."""

import random
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import msgspec

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import ApplyAnswer
from deltaspec.faults.judging import Unreadable, describe_changed_files, judge_table, read_rows
from deltaspec.faults.trials import Fault
from deltaspec.faults.workload import (
    FIRST_NEW_ID,
    KINDS,
    RECOVERY_ID,
    TABLE,
    Workload,
    apply_step,
    build_create,
    compare_rows,
    get_title,
)
from deltaspec.protocol.property_names import CHECKPOINT_INTERVAL, DELETION_VECTORS
from deltaspec.suites.cases import describe_death
from deltaspec.suites.checks import NotAsked, describe_refusal
from deltaspec.suites.history_requests import build_request
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.write_judging import compute_digests
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.histories.plain_table import PlainTable

BASE_APPENDS, BASE_ROWS = 3, 60
LONG_NOTE = "a commit that is larger than its data file " * 300
"""User metadata where storage fails. Otherwise the data file, which is larger and written first, would always fail."""
Layouts: TypeAlias = Mapping[str, tuple[tuple[str, ...], dict[str, str]]]
"""Partition columns and properties of base tables, by name."""
LAYOUTS: Layouts = {
    "plain": ((), {}),
    "partitioned": (("part",), {}),
    "checkpoints": ((), {CHECKPOINT_INTERVAL: "2"}),
    "vectors": ((), {DELETION_VECTORS: "true"}),
}


class Base(msgspec.Struct, frozen=True):
    """A table that trials start from."""

    name: str
    location: Path
    content: PlainTable


class Bench(msgspec.Struct):
    """A candidate, its base tables, and measurements on them without a fault."""

    host: Candidate
    directory: Path
    seed: int
    kinds: tuple[str, ...]
    bases: list[Base] = msgspec.field(default_factory=list)
    refused_bases: dict[str, str] = msgspec.field(default_factory=dict)
    """Why the candidate cannot create a base table."""
    offered: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Kinds of operations that work without a fault, by base table."""
    known_violations: set[str] = msgspec.field(default_factory=set)
    """Rules that its tables violate without a fault. The trials without a fault fail for them, the others do not."""
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    """Expected duration of an operation of each kind."""
    file_sizes: dict[str, list[int]] = msgspec.field(default_factory=dict)
    """Sizes of the files that an operation of each kind wrote, with the note."""
    note: str = LONG_NOTE
    """User metadata of commits where storage fails; empty if the candidate does not write it."""

    def note_seconds(self, kind: str, seconds: float) -> None:
        """Update the expected duration of a kind of operation, a moving average."""
        self.seconds[kind] = 0.7 * self.seconds.get(kind, seconds) + 0.3 * seconds


class Trial:
    """One trial in progress: a copy of a base table, its history, and all faults found.

    Args:
        bench: the candidate and its base tables.
        fault: the fault to provoke.
        number: together with seed and fault, it determines all choices.
        base: the table to start from; None to draw one.
        parent: where the directory of the trial is created.
    """

    def __init__(self, bench: Bench, fault: Fault, number: int, base: Base | None, parent: Path) -> None:
        self.bench, self.number = bench, number
        self.name = f"{fault}.{number}"
        self.rng = random.Random(f"deltaspec faults {bench.seed} {self.name}")
        self.directory = parent / self.name
        drawn = self.rng.choice(bench.bases)
        self.base = base or drawn
        self.table = self.directory / "delta"
        self.directory.mkdir(parents=True)
        shutil.copytree(self.base.location, self.table)
        self.digests = compute_digests(self.table)
        self.history = [f"table {self.base.name}: {len(self.base.content.rows)} rows"]
        self.faults: list[str] = []
        self.weak: list[str] = []
        self.died: Outcome | None = None
        self.counts: Counter[str] = Counter()
        self.orphans: tuple[str, ...] = ()
        self.accepted: Collection[str] = bench.known_violations
        """Rules that may be violated."""
        self.violations: tuple[str, ...] = ()
        """Rules that the table violated besides them."""
        self.workload = Workload(self.rng, self.offered, FIRST_NEW_ID)

    @property
    def offered(self) -> list[str]:
        """Kinds of operations that work on the table without a fault."""
        return self.bench.offered[self.base.name]

    @property
    def outcome(self) -> Outcome:
        if self.died is not None:
            return self.died
        return Outcome.FAILED if self.faults else Outcome.WEAK if self.weak else Outcome.PASSED

    def note(self, step: Step, result: ApplyAnswer | Refused | Died, prefix: str = "") -> None:
        """Record the outcome of an operation."""
        match result:
            case ApplyAnswer():
                text, name = describe_answer(result), "acknowledged"
            case Refused():
                text, name = f"refused: {describe_refusal(result.refusal)}", f"refused: {result.refusal.category}"
            case Died():
                text, name = f"no answer, {result}", "no answer"
        self.history.append(f"{prefix}{get_title(step)}: {text}")
        self.counts[name] += 1

    def record_death(self, death: Died, operation: str) -> None:
        """Record that the candidate died without being killed."""
        outcomes = {
            "crash": Outcome.CRASHED,
            "timeout": Outcome.TIMED_OUT,
            "output": Outcome.CRASHED,
            "harness": Outcome.HARNESS_FAULT,
        }
        self.died = outcomes[death.reason]
        self.faults.append(f"{operation}: {describe_death(death)}")

    def judge(self, allowed: Sequence[PlainTable], table: Path | None = None) -> int | None:
        """Validate the table and compare its rows.

        Args:
            allowed: possible contents of the table.
            table: where the table is now.

        Returns:
            Index of the content that the table has; None if it has none of them.
        """
        table = table or self.table
        try:
            found = judge_table(table, self.accepted)
            rows = read_rows(table)
        except Unreadable as fault:
            self.faults.append(f"the table cannot be read: {fault}")
            return None
        self.counts.update(found.counts)
        self.counts["orphaned files"] += len(found.orphans)
        self.counts["orphaned bytes"] += found.orphaned_bytes
        self.counts["leftovers in the log directory"] += len(found.log_leftovers)
        self.counts["rows compared"] += rows.total()
        self.orphans = (*found.orphans, *(f"_delta_log/{name}" for name in found.log_leftovers))
        self.violations = found.violations
        if found.violations:
            self.faults.append(f"the table violates {', '.join(found.violations)}\n" + "\n".join(found.details))
        if changed := describe_changed_files(self.digests, table):
            self.faults.append(f"existing files were changed: {changed}")
        differences = [compare_rows(rows, each) for each in allowed]
        nearest = min(differences, key=lambda each: len(each.lost) + len(each.duplicated) + len(each.unexpected))
        for name in ("lost", "duplicated", "unexpected"):
            self.counts[f"rows {name}"] += len(getattr(nearest, name))
        if not nearest:
            return differences.index(nearest)
        what = "the last acknowledged operation" if len(allowed) == 1 else "the operation without an answer"
        state = "after" if len(allowed) == 1 else "before and after"
        self.faults.append(f"wrong rows, compared with those {state} {what}: {' | '.join(map(str, differences))}")
        return None

    def check_recovery(
        self, host: Candidate, content: PlainTable, written: Path | str, fetch: Callable[[], Path | None] = lambda: None
    ) -> None:
        """Append a row and read the table again: a fault must not make later writes fail.

        Args:
            host: the writer.
            content: content of the table now.
            written: the table, as the candidate sees it.
            fetch: makes the table visible to this process, and returns where it is unless it is where it was.
        """
        step = Workload(self.rng, ("append",), RECOVERY_ID).build_append(1)
        try:
            answer = request(host, written, step, self.directory)
        except (Refused, Died) as error:
            self.note(step, error, "afterwards: ")
            self.faults.append(f"the table cannot be written afterwards: {error}")
            return
        self.note(step, answer, "afterwards: ")
        try:
            if difference := compare_rows(read_rows(fetch() or self.table), apply_step(content, step)):
                self.faults.append(f"wrong rows after a later append: {difference}")
        except Unreadable as fault:
            self.faults.append(f"the table cannot be read after a later append: {fault}")


def request(candidate: Candidate, table: Path | str, step: Step, directory: Path, *, note: str = "") -> ApplyAnswer:
    """Ask a candidate for an operation.

    Args:
        candidate: the writer.
        table: the table, as the candidate sees it.
        step: the operation.
        directory: where the rows of the operation are written.
        note: user metadata of the commit.
    """
    noted = Step(step.operation, {"user_metadata": note}) if note else step
    rows = directory / f"rows-{uuid4()}.arrow"
    return candidate.apply(build_request(table, noted, TABLE, (), rows))


def describe_answer(answer: ApplyAnswer) -> str:
    """Return the answer in words."""
    version = "" if answer.version is None else f", version {answer.version}"
    return f"acknowledged{version}" if answer.committed else "acknowledged, nothing to do"


def build_bench(host: Candidate, directory: Path, seed: int, layouts: Layouts = LAYOUTS) -> Bench:
    """Create the base tables with the candidate.

    Raises:
        NotAsked: the candidate cannot write the tables that trials need.
    """
    declared = host.capabilities.kinds
    if "apply" not in host.capabilities.ops or not {"create", "append"} <= set(declared):
        raise NotAsked("the candidate does not declare the kinds create and append of the operation apply")
    bench = Bench(host, directory, seed, tuple(kind for kind in KINDS if kind in declared))
    for name, (partition_by, properties) in layouts.items():
        if name == "vectors" and "deletionVectors" not in host.capabilities.writer_features:
            continue
        try:
            base = _build_base(bench, name, build_create(partition_by, properties))
        except Refused as refused:
            bench.refused_bases[name] = f"base table {name}: {refused}"
            continue
        bench.note = LONG_NOTE if _writes_notes(bench, base) else ""
        bench.offered[name] = list(bench.kinds)
        bench.bases.append(base)
    return bench


def _build_base(bench: Bench, name: str, create: Step) -> Base:
    location = bench.directory / "bases" / name
    location.mkdir(parents=True)
    workload = Workload(random.Random(0), ("append",), 0)
    content: PlainTable | None = None
    for step in (create, *(workload.build_append(BASE_ROWS) for _ in range(BASE_APPENDS))):
        request(bench.host, location, step, bench.directory)
        content = apply_step(content, step)
    assert content is not None
    return Base(name, location, content)


def _writes_notes(bench: Bench, base: Base) -> bool:
    """Return whether the candidate accepts user metadata."""
    table = bench.directory / "note"
    shutil.copytree(base.location, table)
    step = Workload(random.Random(0), ("append",), FIRST_NEW_ID).build_append(1)
    try:
        request(bench.host, table, step, bench.directory, note=LONG_NOTE)
    except Refused:
        return False
    finally:
        shutil.rmtree(table)
    return True
