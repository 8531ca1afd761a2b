"""Suite catalog: commits through the catalog of the kit, races, publishing and maintenance."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import Apply, ApplyAnswer, Scan
from deltaspec.candidates.write_operations import (
    Append,
    Checkpoint,
    CleanupLog,
    Optimize,
    Publish,
    Purge,
    Vacuum,
    WriteOperation,
)
from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.log.file_names import STAGED_COMMITS, StagedCommit, parse_log_file_name
from deltaspec.suites.catalog import RETENTION_HOURS, copy_table, find_answer, request_refusal, write_rows
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, check
from deltaspec.suites.kit_catalog import KitCatalog
from deltaspec.suites.read import compare_rows
from deltaspec.suites.write_judging import compare_digests, compute_digests, describe_files, validate_history
from deltaspec_generators.small_tables import build_rows

WRITERS = (2, 4)
"""Numbers of writers in a race."""
_MAINTENANCE: tuple[WriteOperation, ...] = (Vacuum(RETENTION_HOURS), CleanupLog(), Optimize(), Purge())


class _ManagedTable:
    """A copy of a table with its catalog, and the candidate that writes to it."""

    def __init__(self, candidate: Candidate, subject: TableUnderTest, table: Path) -> None:
        self._candidate, self._directory = candidate, subject.location.parent
        known = find_answer(candidate, subject)
        assert known is not None
        self.table, self.catalog = table, KitCatalog(table, known)
        self.rows = subject.newest.rows

    def apply(self, operation: WriteOperation) -> ApplyAnswer:
        return self._candidate.apply(Apply(str(self.table), operation, catalog=self.catalog.answer))

    def stage(self, first: int) -> str:
        """Ask for an append and return the name of its staged commit.

        Raises:
            Mismatch: the log changed in another way, or the staged commit is not one of the next version.
        """
        before = compute_digests(self.table)
        answer = self.apply(Append(write_rows(self._directory, first)))
        changes = compare_digests(before, compute_digests(self.table))
        if answer.staged is None or answer.committed:
            raise Mismatch(f"the append was answered as committed in version {answer.version}, not as staged")
        staged = f"_delta_log/{STAGED_COMMITS}{answer.staged}"
        log = [each for each in changes.added if each.startswith("_delta_log/") and each != staged]
        if changes.changed or changes.removed or log:
            files = describe_files((*changes.changed, *changes.removed, *log))
            raise Mismatch(f"the append changed more than its staged commit: {files}")
        if staged not in changes.added:
            raise Mismatch(f"the append did not write a new file {staged}")
        name, expected = parse_log_file_name(STAGED_COMMITS + answer.staged), self.catalog.answer.latest_version + 1
        if not isinstance(name, StagedCommit) or name.version != expected:
            raise Mismatch(f"the staged commit is {answer.staged}, expected one of version {expected}")
        return answer.staged

    def ratify(self, staged: str, first: int) -> None:
        """Ratify a staged append of ten rows."""
        assert self.catalog.ratify(staged)
        self.rows = pa.concat_tables([self.rows, build_rows(first)])

    def read_actions(self, staged: str) -> list[dict[str, Any]]:
        """Return the actions of a staged commit. Raises `Mismatch` if a line is not JSON."""
        lines = (self.catalog.log / STAGED_COMMITS / staged).read_bytes().splitlines()
        try:
            return [msgspec.json.decode(line) for line in lines if line]
        except msgspec.DecodeError as error:
            raise Mismatch(f"the staged commit {staged} is not JSON: {error}") from None

    def check_rows(self) -> None:
        """Compare the rows that the candidate reads, and validate the table with what the catalog knows."""
        answer = self._candidate.scan(Scan(str(self.table), "", catalog=self.catalog.answer))
        compare_rows(self.rows, answer.table)
        file = self._directory / "catalog.json"
        file.write_bytes(msgspec.json.encode(self.catalog.answer))
        report = validate_history(self.table, catalog_commits=file)
        if report.verdict not in ("conforms", "warnings"):
            rules = ", ".join(report.totals) or ", ".join(each.reason for each in report.checked.not_checked)
            raise Mismatch(f"the table is {report.verdict} with its catalog: {rules}")


@contextmanager
def _open_table(candidate: Candidate, subject: TableUnderTest, *kinds: str) -> Iterator[_ManagedTable]:
    """Yield a copy of the table. Raises `NotAsked` if the candidate does not declare what it has to do."""
    if lacking := [kind for kind in kinds if kind not in candidate.capabilities.kinds]:
        raise NotAsked(f"the candidate does not declare the kind {', '.join(lacking)}")
    if FEATURE not in candidate.capabilities.writer_features:
        raise NotAsked(f"the candidate does not declare that it writes tables with {FEATURE}")
    with copy_table(subject.location) as table:
        yield _ManagedTable(candidate, subject, table)


@check("catalog", "catalog-managed.committed-by-catalog", "catalog-managed.found-by-writers", operation="apply")
def check_commit(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """An append stages the next version and leaves the log alone; it is read as soon as the catalog has ratified it."""
    with _open_table(candidate, subject, "append") as managed:
        for first in (100, 200):
            staged = managed.stage(first)
            managed.check_rows()  # not ratified yet
            managed.ratify(staged, first)
            managed.check_rows()
            notes.add("commits", 1)


@check("catalog", "log.staged-not-reused", operation="apply")
def check_race(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Of several commits of a version the catalog ratifies one; each loser stages another file for its new version."""
    for writers in WRITERS:
        with _open_table(candidate, subject, "append") as managed:
            waiting = [first * 100 for first in range(1, writers + 1)]
            names: list[str] = []
            while waiting:
                staged = [managed.stage(first) for first in waiting]
                uuids = [each.split(".")[1] for each in (*names, *staged)]
                if len(set(uuids)) < len(uuids):
                    raise Mismatch(f"two attempts have the same UUID: {', '.join(sorted(uuids))}")
                names += staged
                winner = len(staged) // 2
                managed.ratify(staged[winner], waiting.pop(winner))
                if any(managed.catalog.ratify(each) for number, each in enumerate(staged) if number != winner):
                    raise AssertionError("a version was ratified twice")
                managed.check_rows()
            notes.add("attempts", len(names))


@check("catalog", "catalog-managed.published-soon", operation="apply")
def check_publishing(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Ratified commits are published with their content, and nothing else is; a second request changes nothing."""
    with _open_table(candidate, subject, "publish") as managed:
        before = managed.catalog.list_published()
        expected = sorted({*before, *(each.version for each in managed.catalog.answer.commits)})
        for _ in range(2):
            managed.apply(Publish())
            fault = managed.catalog.find_publishing_fault()
            if fault is not None:
                raise Mismatch(fault)
            if managed.catalog.list_published() != expected:
                raise Mismatch(f"published versions are {managed.catalog.list_published()}, expected {expected}")
        managed.catalog.forget_published()
        managed.check_rows()
        notes.add("published", len(expected) - len(before))


@check("catalog", "catalog-managed.maintenance-permitted", operation="apply")
def check_maintenance(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Without permission of the catalog, cleanup, vacuum and changes of the data layout are refused."""
    offered = [each for each in _MAINTENANCE if each.__struct_config__.tag in candidate.capabilities.kinds]
    if not offered:
        raise NotAsked("the candidate declares no kind of maintenance that needs a permission")
    with _open_table(candidate, subject) as managed:
        for operation in offered:
            request = Apply(str(managed.table), operation, catalog=managed.catalog.answer)
            request_refusal(candidate, request, str(operation.__struct_config__.tag))
            notes.add("refused", 1)


@check("catalog", "catalog-managed.published-before-maintenance", operation="apply")
def check_checkpoint(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A checkpoint is refused, or is one of a published version."""
    with _open_table(candidate, subject, "checkpoint") as managed:
        before = compute_digests(managed.table)
        try:
            managed.apply(Checkpoint())
        except Refused:
            notes.add("refused", 1)
        added = compare_digests(before, compute_digests(managed.table)).added
        newest = max(managed.catalog.list_published(), default=-1)
        for path in added:
            name = parse_log_file_name(path.removeprefix("_delta_log/"))
            if "checkpoint" in path and getattr(name, "version", -1) > newest:
                raise Mismatch(f"{path} was written, but the newest published version is {newest}")
        managed.check_rows()
