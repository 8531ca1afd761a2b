"""Suite catalog: tables that a catalog manages. Writers must refuse their path alone; readers get the log tail.

The host gives what the catalog knows with each request, to candidates that declare `catalog`. That readers refuse the
path alone is a case of the suite `refuse`. `catalog_writes` has the commits through the catalog.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import Apply, At, Refusal, Scan, Snapshot
from deltaspec.candidates.write_operations import Append, Checkpoint, Optimize, Vacuum, WriteOperation
from deltaspec.protocol.features.catalog_managed import FEATURE, CatalogAnswer
from deltaspec.suites.checks import CATALOG, Check, Mismatch, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.read import compare_rows
from deltaspec.suites.refuse import list_undeclared_needs
from deltaspec.suites.snapshot import compare_protocol, compare_value
from deltaspec.suites.write_judging import compare_digests, compute_digests, describe_files
from deltaspec_generators.small_tables import build_rows
from deltaspec_generators.tables.readable import ReadableTable

WRITTEN_TABLES = tuple(f"{CATALOG}.{name}" for name in ("published-and-staged", "nothing-published", "all-published"))
"""The tables to which candidates write through the catalog."""
BY_PATH_TABLE = "broken.catalog-managed"
"""The table to which candidates are asked to write by its path."""
RETENTION_HOURS = 168
_REFUSED_BY_PATH = ("unsupported", "invalid-request", "constraint")
"""Categories of an error for a path that names a catalog-managed table; engines have no error of its own for it."""


def concerns(check: Check, subject: TableUnderTest) -> bool:
    """Return whether a check of this suite is about a table."""
    if check.run in BY_PATH:
        return subject.id == BY_PATH_TABLE
    if not subject.is_of_catalog or not check.needs(subject.table):
        return False
    return check.operation != "apply" or subject.id in WRITTEN_TABLES


def find_answer(candidate: Candidate, subject: TableUnderTest) -> CatalogAnswer | None:
    """Return what to tell the candidate; None if no catalog manages the table any more.

    Raises:
        NotAsked: the candidate does not accept it, or the table needs another feature that it does not declare.
    """
    known, accepted = subject.table.catalog, candidate.capabilities.catalog
    if known is not None:
        kinds = {"staged" if each.content is None else "inline" for each in known.commits}
        if not accepted:
            raise NotAsked("the candidate does not accept what a catalog knows")
        if lacking := sorted(kinds - set(accepted)):
            raise NotAsked(f"the candidate does not accept {', '.join(lacking)} commits")
    if undeclared := [each for each in list_undeclared_needs(candidate.capabilities, subject) if each != FEATURE]:
        raise NotAsked(f"the candidate does not declare {', '.join(undeclared)}")
    return known


_DECIDES = (
    "catalog-managed.catalog-asked-first",
    "catalog-managed.catalog-decides",
    "log.staged-not-interpreted",
)


@check("catalog", *_DECIDES)
def check_rows(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """All rows of the version that the catalog calls the latest."""
    answer = candidate.scan(Scan(str(subject.location), "", catalog=find_answer(candidate, subject)))
    compare_rows(subject.newest.rows, answer.table)
    notes.add("rows", answer.num_rows)


@check("catalog", *_DECIDES, operation="snapshot")
def check_state(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Version and protocol of the version that the catalog calls the latest."""
    answer = candidate.snapshot(Snapshot(str(subject.location), catalog=find_answer(candidate, subject)))
    compare_value("version", subject.newest.version, answer.version, "catalog-managed.catalog-decides")
    if answer.protocol is not None:
        compare_protocol(subject.newest.state.protocol, answer.protocol)


@check("catalog", *_DECIDES)
def check_every_version(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The rows of every readable version, published or not."""
    if "version" not in candidate.capabilities.at:
        raise NotAsked("the candidate cannot travel to a version")
    known = find_answer(candidate, subject)
    for each in subject.table.versions:
        answer = candidate.scan(Scan(str(subject.location), "", at=At(version=each.version), catalog=known))
        try:
            compare_rows(each.rows, answer.table, version=each)
        except Mismatch as error:
            raise error.with_text(f"at version {each.version}: {error}") from None
        notes.add("versions", 1)


def _has_later_files(table: ReadableTable) -> bool:
    return table.catalog is not None and max(table.files.commits, default=-1) > table.catalog.latest_version


@check("catalog", "catalog-managed.catalog-decides", needs=_has_later_files)
def check_no_later_version(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A published version after the one that the catalog calls the latest cannot be read."""
    if "version" not in candidate.capabilities.at:
        raise NotAsked("the candidate cannot travel to a version")
    at = At(version=subject.newest.version + 1)
    try:
        candidate.scan(Scan(str(subject.location), "", at=at, catalog=find_answer(candidate, subject)))
    except Refused:
        notes.add("refused", 1)
        return
    raise Mismatch(f"version {at.version} was read; the catalog says that {subject.newest.version} is the latest")


# by path


@contextmanager
def copy_table(location: Path) -> Iterator[Path]:
    """Yield a copy of a table, which an operation may change."""
    copy = location.parent / f"{location.name}-written"
    shutil.copytree(location, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def write_rows(directory: Path, first: int) -> str:
    """Write ten rows of the small tables as an Arrow IPC file, and return its path."""
    path, rows = directory / f"rows-{first}.arrow", build_rows(first)
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows)
    return str(path)


def request_refusal(candidate: Candidate, request: Apply, what: str) -> Refusal:
    """Ask for an operation that must be refused without any change of the table.

    Raises:
        Mismatch: it was performed, or refused after a file was written.
    """
    before = compute_digests(Path(request.table))
    refusal: Refusal | None = None
    try:
        answer = candidate.apply(request)
    except Refused as error:
        refusal = error.refusal
    changes = compare_digests(before, compute_digests(Path(request.table)))
    changed = changes.changed + changes.removed + changes.added
    files = f"; files changed: {describe_files(changed)}" if changed else ""
    if refusal is None:
        raise Mismatch(f"{what} was performed (version {answer.version}){files}")
    if any("_delta_log" in each for each in changed) or changes.removed:
        raise Mismatch(f"{what} was refused as {refusal.category}, but the table changed{files}")
    return refusal


def _check_by_path(candidate: Candidate, subject: TableUnderTest, notes: Notes, operation: WriteOperation) -> None:
    """Ask for an operation on the good twin, and then on the table that a catalog manages."""
    kind = str(operation.__struct_config__.tag)
    if kind not in candidate.capabilities.kinds:
        raise NotAsked(f"the candidate does not declare the kind {kind}")
    assert subject.broken is not None
    with copy_table(subject.location) as twin:
        try:
            candidate.apply(Apply(str(twin), operation))
        except Refused as error:
            raise Mismatch(
                f"the good twin is refused, too: {error.refusal.category}: {error.refusal.message}"
            ) from None
    with copy_table(subject.broken.location) as table:
        refusal = request_refusal(candidate, Apply(str(table), operation), kind)
    if refusal.category not in _REFUSED_BY_PATH:
        expected = " or ".join(_REFUSED_BY_PATH)
        raise Weak(f"refused as {refusal.category}, expected {expected}: {refusal.message}")
    notes.add("refused", 1)


@check("catalog", "catalog-managed.found-by-writers", "catalog-managed.committed-by-catalog", operation="apply")
def check_append_by_path(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """An append to a catalog-managed table that is named by its path alone is refused."""
    rows = write_rows(subject.location.parent, 50)
    _check_by_path(candidate, subject, notes, Append(rows))


@check("catalog", "catalog-managed.found-by-writers", operation="apply")
def check_checkpoint_by_path(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A checkpoint of a catalog-managed table that is named by its path alone is refused."""
    _check_by_path(candidate, subject, notes, Checkpoint())


@check("catalog", "catalog-managed.found-by-writers", "catalog-managed.maintenance-permitted", operation="apply")
def check_vacuum_by_path(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A vacuum of a catalog-managed table that is named by its path alone is refused."""
    _check_by_path(candidate, subject, notes, Vacuum(RETENTION_HOURS))


@check("catalog", "catalog-managed.found-by-writers", "catalog-managed.maintenance-permitted", operation="apply")
def check_optimize_by_path(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A compaction of the files of a catalog-managed table that is named by its path alone is refused."""
    _check_by_path(candidate, subject, notes, Optimize())


BY_PATH = (check_append_by_path, check_checkpoint_by_path, check_vacuum_by_path, check_optimize_by_path)
"""Checks of writers that get only the path of a table."""
