"""`--since`: check only the files that were added after the version of an earlier report of the same table.

The log is always read and checked completely, because it says which files are new. Files outside the log that were
added up to the version of the report are not opened, and the directories are not listed. The ledger has every rule over
such files, with the report that has checked them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.protocol.actions import MetaData
from deltaspec.protocol.log.file_names import (
    ClassicCheckpoint,
    CompactionName,
    LogFileName,
    MultipartCheckpoint,
    SidecarName,
    UuidCheckpoint,
    commit_name,
)
from deltaspec.report.report_types import NEEDS_CLOCK, REPORT_VERSION, Continuation, NotChecked, Report
from deltaspec.report.text import count
from deltaspec.rules import RULES
from deltaspec.validation.plan import Plan
from deltaspec.version import __version__
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone, StorageError, Store, escape_file_name
from deltaspec.wire.storage.prefetch import prefetch_contents

NEEDS_ALL_FILES = "compares all live files, of which --since reads only new ones"
NEEDS_LISTING = "needs the listing of the table's directories, which --since does not make"
_CHECKED_BY = "checked by the report"
_MAX_REPORT_BYTES = 1 << 30
_MOST_COMMITS = 10_000
_STREAMED_BYTES = 64 << 20
"""Size from which a commit may have been read as a stream. It is read again for its digest."""


class EarlierReport(msgspec.Struct, frozen=True):
    """The parts of an earlier report that a run needs."""

    file: str
    """For messages."""
    version: int
    first_version: int
    """Version of the complete run that this report continues, perhaps through others; its own version if it is one."""
    table_id: str
    commit_sha256: str
    commits: dict[int, str]
    """Version to the first half of the SHA-256 of each commit that it has read."""
    replacements: dict[str, str]
    """Name to size and modification time of each checkpoint, sidecar and compaction that it has listed."""
    history: str
    counts: dict[str, int]
    """Number of findings by severity, in it and in the reports that it continues."""
    not_applicable: frozenset[str]
    """Codes of rules that applied to no file of the table."""
    undecided: tuple[NotChecked, ...]
    """Reasons why something could not be checked, which the user accepted."""
    committed_ms: int | None = None
    """When the version was committed, from the listing of the log."""

    @property
    def reason(self) -> str:
        """Why files up to its version are not checked again, for the ledger."""
        first, last = self.first_version, self.version
        which = f" of version {last}" if first == last else f"s of versions {first} to {last}"
        date = ""
        if self.committed_ms is not None:
            moment = datetime.fromtimestamp(self.committed_ms / 1000, UTC)
            date = f", committed {moment:%Y-%m-%dT%H:%M:%SZ}"
        found = ", ".join(count(number, each) for each, number in self.counts.items() if number)
        found = f", with {found}" if found else ""
        return f"files up to version {last}: {_CHECKED_BY}{which}{date}{found}"

    @property
    def accepted_reasons(self) -> tuple[str, ...]:
        """Reasons in the ledger that do not make the run incomplete, because `--since` asks for them."""
        return self.reason, NEEDS_ALL_FILES, NEEDS_LISTING


def load_earlier_report(file: str, codes: Sequence[str], *, revision: str, history: str) -> EarlierReport:
    """Load a JSON report, and check that a run can continue from it.

    Args:
        file: path of the report.
        codes: rules of the run over files outside the log.
        revision: revision of the run.
        history: history of the run.

    Raises:
        InvalidUsage: it is not a report of this release and rule set, its options differ, or it is not complete.
    """
    report = _read_report(file)
    known = report.continuation
    if report.deltaspec != __version__ or (known is not None and known.rules != compute_rules_digest()):
        raise refuse_report(file, f"is of another release or rule set (deltaspec {report.deltaspec})")
    for name, found, wanted in (("revision", report.revision, revision), ("history", report.history, history)):
        if found != wanted:
            raise refuse_report(file, f"is of {name} {found}, not {wanted}")
    ledger = report.checked.not_checked
    if report.verdict == "refused" or report.stopped is not None or any(not each.accepted for each in ledger):
        raise refuse_report(file, "is not complete, because something could not be checked")
    if known is None or report.version is None:
        raise refuse_report(file, "does not identify the table, because its last commit or metadata could not be read")
    reasons = report.checked.reasons
    absent = [code for code in codes if code in report.checked.skipped or reasons.get(code) == NEEDS_CLOCK]
    if absent:
        more = f" and {count(len(absent) - 1, 'more rule')}" if len(absent) > 1 else ""
        raise refuse_report(file, f"did not check {absent[0]}{more}; it must have the level and every rule of this run")
    return EarlierReport(
        file=file,
        version=report.version,
        first_version=report.version if report.since is None else report.since.first_version,
        table_id=known.table_id,
        commit_sha256=known.commit_sha256,
        commits=known.commits,
        replacements=known.replacements,
        history=report.history,
        counts=_add_counts(report),
        not_applicable=frozenset(report.checked.not_applicable),
        undecided=tuple(each for each in ledger if _CHECKED_BY not in each.reason),
    )


def require_same_history(earlier: EarlierReport, store: Store, plan: Plan) -> EarlierReport:
    """Check that the log still contains the version of an earlier report, and all that was committed since.

    Returns:
        The report with the time at which its version was committed.

    Raises:
        InvalidUsage: history was rewritten, or commits since the report no longer exist.
    """
    version, name = earlier.version, commit_name(earlier.version)
    if plan.version < version:
        raise refuse_report(earlier.file, f"is of version {version}, but this run validates version {plan.version}")
    entry = plan.entries.get(name)
    is_missing = entry is None or (plan.base is not None and plan.base.version > version)
    if entry is None or is_missing:
        raise refuse_report(earlier.file, f"is too old: the log no longer has every commit from version {version}")
    try:
        is_same = compute_commit_digest(store, version) == earlier.commit_sha256
    except StorageError as fault:
        raise refuse_report(earlier.file, f"cannot be compared with the history of the table: {fault}") from fault
    if not is_same:
        raise refuse_report(
            earlier.file, f"is of another history: commit {version} has changed since, or is of another table"
        )
    _check_unread_commits(earlier, store, plan)
    return replace(earlier, committed_ms=entry.modified_ms)


def _check_unread_commits(earlier: EarlierReport, store: Store, plan: Plan) -> None:
    """Compare the commits of an earlier report that exist and that the run does not read, as a newer base has them."""
    unread = earlier.commits.keys() - {*plan.commits, *plan.earlier_commits, earlier.version}
    versions = sorted(version for version in unread if commit_name(version) in plan.entries)
    files = [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in versions]
    digests = {}
    for version, content in zip(versions, prefetch_contents(store, files, _STREAMED_BYTES), strict=True):
        if isinstance(content, StorageError):
            if isinstance(content, FileGone):
                continue  # cleaned up since the listing
            raise refuse_report(earlier.file, f"cannot be compared with the history of the table: {content}")
        digests[version] = shorten_digest(sha256(content).hexdigest())
    require_same_commits(earlier, digests)


def require_same_commits(earlier: EarlierReport, digests: Mapping[int, str]) -> None:
    """Compare commits with the commits that an earlier report has read.

    Args:
        earlier: the report. A commit that only one of them has is not compared, because log cleanup deletes commits.
        digests: version to the first half of the SHA-256.

    Raises:
        InvalidUsage: a commit has changed.
    """
    common = earlier.commits.keys() & digests.keys()
    changed = min((version for version in common if digests[version] != earlier.commits[version]), default=None)
    if changed is not None:
        raise refuse_report(earlier.file, f"is of another history: commit {changed} has changed since")


def shorten_digest(digest: str) -> str:
    """Return the first half of a SHA-256, as a report has it for each commit."""
    return digest[: len(digest) // 2]


def build_continuation(
    store: Store,
    plan: Plan,
    metadata: MetaData | None,
    commit_sha256: str | None,
    commits: Mapping[int, str],
    earlier: EarlierReport | None,
) -> Continuation | None:
    """Return what a later run with `--since` compares; None if metadata or last commit could not be read.

    Args:
        store: the table.
        plan: of the run.
        metadata: of the validated version.
        commit_sha256: digest of the last commit; None if it could not be read, or was read as a stream.
        commits: version to the first half of the SHA-256 of each commit that was read.
        earlier: report that the run continues, and so relies on its commits; None if there is none.
    """
    entry = plan.entries.get(commit_name(plan.version))
    if metadata is None or entry is None:
        return None
    if commit_sha256 is None and entry.size_bytes >= _STREAMED_BYTES:
        with suppress(StorageError):
            commit_sha256 = compute_commit_digest(store, plan.version)
    if commit_sha256 is None:
        return None
    known = {} if earlier is None else earlier.commits
    relied_on = {version: digest for version, digest in known.items() if commit_name(version) in plan.entries}
    return Continuation(
        table_id=metadata.id,
        commit_sha256=commit_sha256,
        commits=dict(sorted({**relied_on, **commits}.items())[-_MOST_COMMITS:]),
        replacements=list_replacements(plan),
        rules=compute_rules_digest(),
    )


def list_replacements(plan: Plan) -> dict[str, str]:
    """Return size and modification time of the files that replace commits up to the validated version, by name."""
    found = {
        name: f"{entry.size_bytes} {entry.modified_ms}"
        for name, entry in plan.entries.items()
        if _replaces_commits(entry.log_name, plan.version)
    }
    return dict(sorted(found.items())[-_MOST_COMMITS:])


def _replaces_commits(name: LogFileName, last: int) -> bool:
    match name:
        case SidecarName():  # only its checkpoint knows the version of a sidecar
            return True
        case ClassicCheckpoint() | MultipartCheckpoint() | UuidCheckpoint():
            return name.version <= last
        case CompactionName():
            return name.end <= last
    return False


def find_changed_replacement(earlier: EarlierReport, plan: Plan) -> str | None:
    """Return how the files that replace commits differ from the files that the earlier report has read, or None.

    A file that only one of them has is not compared, unless the history begins with it and commits that the report has
    read are gone.
    """
    found = list_replacements(plan)
    common = sorted(found.keys() & earlier.replacements.keys())
    changed = next((name for name in common if found[name] != earlier.replacements[name]), None)
    if changed is not None:
        return f"{LOG_DIRECTORY}/{escape_file_name(changed)} has changed since its report"
    base = plan.base
    if base is None or all(name in earlier.replacements for name in base.files):
        return None
    replaced = [version for version in earlier.commits if version <= base.version]
    if all(commit_name(version) in plan.entries for version in replaced):
        return None
    return f"the checkpoint of version {base.version} replaces commits that its report has read"


def compute_commit_digest(store: Store, version: int) -> str:
    """Return the SHA-256 of a commit file. Raise `StorageError` if it cannot be read."""
    digest = sha256()
    for chunk in store.chunks(f"{LOG_DIRECTORY}/{commit_name(version)}"):
        digest.update(chunk)
    return digest.hexdigest()


@cache
def compute_rules_digest() -> str:
    """Return a digest of the rules of this release: codes, views, columns and texts."""
    facts = [(rule.code, rule.view.name, sorted(rule.reads), rule.message, rule.revisions) for rule in RULES.values()]
    return sha256(repr(sorted(facts)).encode()).hexdigest()


def _read_report(file: str) -> Report:
    data = read_input_file(file, _MAX_REPORT_BYTES, f"--since {file}")
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise InvalidUsage(f"--since {file}: is not a report of `deltaspec validate --format json`") from fault
    if report.report_version != REPORT_VERSION:
        raise refuse_report(file, f"is of report version {report.report_version}, not {REPORT_VERSION}")
    return report


def _add_counts(report: Report) -> dict[str, int]:
    earlier = {} if report.since is None else report.since.counts
    return {severity: number + earlier.get(severity, 0) for severity, number in report.counts.items()}


def refuse_report(file: str, why: str) -> InvalidUsage:
    """Return the error for an earlier report that a run cannot continue."""
    return InvalidUsage(f"--since {escape_file_name(file)}: {why}; run without --since")
