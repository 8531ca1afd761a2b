"""Suite refuse: tables that a reader must not read. Each has a good twin, which it must read."""

import msgspec

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.messages import At, Capabilities, Phase, Refusal, Scan, Snapshot
from deltaspec.protocol.schema.data_types import PRIMITIVES
from deltaspec.report.text import count
from deltaspec.suites.causes import explain_refusal
from deltaspec.suites.checks import Mismatch, NotAsked, Notes, TableUnderTest, Weak, check
from deltaspec.suites.outcomes import Cause
from deltaspec.suites.read import compare_rows
from deltaspec_generators.tables.readable import ReadableTable


def list_undeclared_needs(capabilities: Capabilities, subject: TableUnderTest) -> list[str]:
    """Return the reader features of a table that the candidate does not declare, and its reader version if too high."""
    version = max(each.state.protocol["minReaderVersion"] for each in subject.table.versions)
    too_high = [f"reader version {version}"] if version > capabilities.max_reader_version else []
    return [*sorted(subject.table.features - set(capabilities.reader_features)), *too_high]


_TYPES_OF_EVERY_READER = {name for name, feature in PRIMITIVES.items() if feature is None} | {
    *("decimal", "struct", "array", "map")
}
"""Types that tables may have without a table feature."""


def list_required_types(capabilities: Capabilities, table: ReadableTable) -> list[str]:
    """Return the types of a table that a candidate does not support, although every reader has to read them."""
    return sorted({*capabilities.types_not_supported} & table.types & _TYPES_OF_EVERY_READER)


def describe_unsupported(capabilities: Capabilities, table: ReadableTable) -> str:
    """Return why a candidate may refuse a table as unsupported: a type or a checkpoint; an empty text if it may not."""
    types = sorted({*capabilities.types_not_supported} & table.types)
    if types and not list_required_types(capabilities, table):
        return f"the candidate does not support the type {', '.join(types)}"
    kinds = {"v2" if each.v2 else each.naming for each in table.files.checkpoints}
    checkpoints = sorted(kinds.intersection(capabilities.checkpoints_not_supported))
    return f"the candidate does not read {' and '.join(checkpoints)} checkpoints" if checkpoints else ""


def request_refusal(candidate: Candidate, location: str, *, at: At | None = None, reads_rows: bool = True) -> Refusal:
    """Read a table that must be refused and return the error, with its phase.

    A candidate without the operation `snapshot` is only asked for the rows.

    Args:
        candidate: the candidate.
        location: the table.
        at: version to read; None for the newest.
        reads_rows: whether the refusal may come when rows are read; otherwise the snapshot has to fail.

    Raises:
        Mismatch: The candidate reads the table.
        Weak: It refuses the operation, whatever the table.
    """
    if "snapshot" in candidate.capabilities.ops:
        try:
            found = candidate.snapshot(Snapshot(location, at=at))
        except Refused as error:
            return _complete_refusal(error.refusal, "snapshot")
        if not reads_rows:
            raise Mismatch(f"the snapshot of version {found.version} was loaded")
    try:
        answer = candidate.scan(Scan(location, "", at=at))
    except Refused as error:
        return _complete_refusal(error.refusal, "scan")
    raise Mismatch(f"the table was read, {count(answer.num_rows, 'row')}")


def _complete_refusal(refusal: Refusal, phase: Phase) -> Refusal:
    """Fill in the phase. A refused operation says nothing about the table, so it is not a refusal of the table."""
    if refusal.category == "unsupported" and refusal.code == "operation":
        raise Weak(f"the operation was refused, not the table: {refusal.message}")
    return refusal if refusal.phase else msgspec.structs.replace(refusal, phase=phase)


@check("refuse", "table-features.reader-supports-all", "protocol.versions-supported")
def check_undeclared_features(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A table with a reader feature or version that the candidate does not declare."""
    undeclared = list_undeclared_needs(candidate.capabilities, subject)
    try:
        refusal = request_refusal(candidate, str(subject.location))
    except Weak:
        raise
    except Mismatch as error:
        text = f"{error}, but the candidate does not declare {', '.join(undeclared)}"
        cause = Cause("tables with features or versions that the candidate does not declare are read")
        raise Mismatch(text, cause) from None
    if refusal.category != "unsupported":
        text = f"refused as {refusal.category}, expected unsupported ({', '.join(undeclared)}): {refusal.message}"
        raise Weak(text, Cause(f"undeclared features or versions are refused as {refusal.category}"))
    notes.add("refused", 1)


@check("refuse")
def check_broken_table(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """A table that no reader may read, after its good twin."""
    broken = subject.broken
    assert broken is not None
    try:
        compare_rows(subject.newest.rows, candidate.scan(Scan(str(subject.location), "")).table)
    except Mismatch as error:
        raise error.with_text(f"the good twin is read incorrectly: {error}") from None
    except Refused as error:
        reason = describe_unsupported(candidate.capabilities, subject.table)
        if error.refusal.category == "unsupported" and reason:
            raise NotAsked(reason) from None
        text = f"the good twin is refused, too: {error.refusal.category}: {error.refusal.message}"
        raise Mismatch(text, explain_refusal(subject.table, error.refusal)) from None
    try:
        refusal = request_refusal(candidate, str(broken.location))
    except Weak:
        raise
    except Mismatch as error:
        cause = Cause(f"a table is read although {broken.defect}", broken.requires)
        raise Mismatch(f"{error}, although {broken.defect}", cause) from None
    order = ("snapshot", "scan", "changes", "commit")
    phase = refusal.phase or "scan"
    if not any(refusal.category == category and order.index(phase) <= order.index(latest)
               for category, latest in broken.accepted):  # fmt: skip
        wanted = " or ".join(dict.fromkeys(category for category, _ in broken.accepted))
        latest = max((latest for _, latest in broken.accepted), key=order.index)
        late = f" in phase {latest} at the latest" if order.index(phase) > order.index(latest) else ""
        text = f"refused as {refusal.category} in phase {phase}, expected {wanted}{late}"
        raise Weak(f"{text}: {refusal.message}", Cause(f"{text}, because {broken.defect}", broken.requires))
    notes.add("refused", 1)
