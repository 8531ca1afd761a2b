"""Check a plan against the table as it is now. A plan is data that anybody may have written.

The checks allow only what a repair needs: derived files are replaced, and a commit removes live files or describes them
again. Anything else is refused, and so is a table that is not the one, or not as it was, when the plan was made.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from hashlib import sha256

import msgspec

from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    LastCheckpointName,
    LogFileName,
    MultipartCheckpoint,
    SidecarName,
    UuidCheckpoint,
    commit_name,
    parse_log_file_name,
)
from deltaspec.protocol.log.segment import SegmentError, choose_segment
from deltaspec.repair.commit_checks import check_commit, check_features
from deltaspec.repair.overlay_store import OverlayStore, digest_listing
from deltaspec.repair.plan_folder import MAX_CONTENT_BYTES, LoadedPlan
from deltaspec.repair.plan_format import LogFileDigest, RepairPlan, VerdictSummary
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_log import LogUnusable, TableLog, open_table_log
from deltaspec.repair.verdicts import Validate, describe_summary, summarize
from deltaspec.report.report_types import Report
from deltaspec.validation.options import Options
from deltaspec.validation.progress import ignore_progress
from deltaspec.wire.storage.factory import is_uri
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, StorageError, Store

MAX_TIME_MS = 1 << 48
CHECKPOINTS = (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint)
HINT = "_last_checkpoint"
_DERIVED = (*CHECKPOINTS, CompactionName, ChecksumName, LastCheckpointName)
_MAX_HINT_BYTES = 1 << 20


def check_names(plan: RepairPlan) -> None:
    """Check which files of the log a plan creates and sets aside.

    Raises:
        PlanRefused: a name is not one of a derived file or of the next commit, or occurs twice.
    """
    for each in plan.set_aside:
        parsed = parse_log_file_name(each.name)
        if not isinstance(parsed, _DERIVED) and not (returns_to_version(plan) and isinstance(parsed, CommitName)):
            raise PlanRefused(
                f"{each.name}: only checkpoints, compactions, checksums and `{HINT}` may be set aside, no other file"
            )
    for each in plan.set_aside_after:
        _check_history_name(plan, each.name)
    for each in plan.writes:
        if not isinstance(parse_log_file_name(each.name), (*_DERIVED, SidecarName)):
            raise PlanRefused(f"{each.name}: is not the name of a checkpoint, compaction, checksum or `{HINT}`")
    if plan.commit is not None and plan.commit.name != commit_name(plan.version + 1):
        raise PlanRefused(f"{plan.commit.name}: the next commit of the table is {commit_name(plan.version + 1)}")
    aside = [each.name for each in (*plan.set_aside, *plan.set_aside_after)]
    for names in (aside, [each.name for each in plan.writes]):
        for name, number in Counter(names).items():
            if number > 1:
                raise PlanRefused(f"{name}: is listed {number} times")
    if plan.commit is None and not plan.writes and not aside:
        raise PlanRefused("the plan changes nothing")
    if not is_uri(plan.table) and not plan.table.startswith("/"):
        raise PlanRefused(f"{plan.table}: is neither a URI nor an absolute path")
    if not 0 <= plan.created_ms < MAX_TIME_MS:
        raise PlanRefused("the time at which the plan was made is out of range")
    if plan.before.level != plan.after.level:
        raise PlanRefused("the verdicts before and after are of different levels")


def _check_history_name(plan: RepairPlan, name: str) -> None:
    """Check a file that is set aside at the end, because a new checkpoint replaces it."""
    if not any(each.kind == "set-aside-history" and name in each.files for each in plan.repairs):
        raise PlanRefused(f"{name}: no repair of the plan sets aside this part of the history")
    match parse_log_file_name(name):
        case CommitName(version) | ChecksumName(version) | CompactionName(end=version) if version <= plan.version:
            return
        case ClassicCheckpoint(version) | MultipartCheckpoint(version) | UuidCheckpoint(version) if (
            version <= plan.version
        ):
            return
        case SidecarName():
            return
    raise PlanRefused(f"{name}: is not a file of the history up to version {plan.version}")


def returns_to_version(plan: RepairPlan) -> bool:
    """Return whether a plan sets aside the latest versions, because they cannot be read."""
    return any(each.kind == "return-to-version" for each in plan.repairs)


def order_set_aside(names: Iterable[LogFileDigest]) -> list[LogFileDigest]:
    """Return files in the order in which they can be set aside: a hint before the checkpoint that it names."""
    return sorted(names, key=lambda each: each.name != HINT)


def order_writes(names: Iterable[LogFileDigest]) -> list[LogFileDigest]:
    """Return files in the order in which they can be written: sidecars, then checkpoints, and the hint last."""

    def rank(name: LogFileName) -> int:
        return 0 if isinstance(name, SidecarName) else 1 if not isinstance(name, LastCheckpointName) else 2

    return sorted(names, key=lambda each: rank(parse_log_file_name(each.name)))


def is_checkpoint(name: str) -> bool:
    """Return whether a checkpoint, or a part of one, has such a name."""
    return isinstance(parse_log_file_name(name), CHECKPOINTS)


def is_needed_to_read(name: str) -> bool:
    """Return whether readers may need a file: a checkpoint or a commit."""
    return isinstance(parse_log_file_name(name), (*CHECKPOINTS, CommitName))


def check_table(loaded: LoadedPlan, store: Store, listed: list[Entry], options: Options, validate: Validate) -> Report:
    """Check that a table is as it was when the plan was made, and that the plan does what it states.

    Args:
        loaded: the plan, whose names were checked.
        store: the table.
        listed: listing of its log, without temporary files of this plan.
        options: options with which the plan was made.
        validate: validates the table and the overlay.

    Returns:
        The report of the table as it is now.

    Raises:
        PlanRefused: the table or the verdicts differ from the plan, or the commit does more than the repairs state.
    """
    plan = loaded.plan
    if digest_listing(listed) != plan.listing:
        raise PlanRefused("the files of the log are not those that the plan was made from; make a new plan")
    _check_files(plan, store, {entry.name for entry in listed})
    state = _read_state(loaded, store)
    if state.metadata.id != plan.table_id:
        raise PlanRefused("the table has another id than the table of the plan")
    check_features(state.protocol)
    report = validate(store, options, ignore_progress)
    _compare_verdicts("before the repair", summarize(report), plan.before)
    if plan.commit is not None:
        check_commit(plan, loaded.contents[plan.commit.name], state, report)
    after = validate(build_overlay(loaded, store), options, ignore_progress)
    _compare_verdicts("after the repair", summarize(after), plan.after)
    return report


def build_overlay(loaded: LoadedPlan, store: Store, *, with_commit: bool = True) -> OverlayStore:
    """Return the table as the plan would leave it; without its commit, the version before it."""
    plan, writes = loaded.plan, loaded.contents
    hidden = [each.name for each in plan.set_aside]
    if with_commit:
        hidden += [each.name for each in plan.set_aside_after]
    else:
        writes = {name: data for name, data in writes.items() if _get_version(name) <= plan.version}
    return OverlayStore(store, writes, hidden, plan.created_ms)


def _get_version(name: str) -> int:
    """Return the version of a file of the log; -1 if it has none."""
    version = getattr(parse_log_file_name(name), "version", -1)
    return version if isinstance(version, int) else -1


def read_hint_version(store: Store) -> int | None:
    """Return the version that `_last_checkpoint` names; None if there is no such file, -1 if it cannot be read."""
    try:
        return parse_hint_version(store.read(f"{LOG_DIRECTORY}/{HINT}", _MAX_HINT_BYTES))
    except FileGone:
        return None
    except StorageError:
        return -1


def parse_hint_version(data: bytes) -> int:
    """Return the version that the content of `_last_checkpoint` names; -1 if it names none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return -1
    version = found.get("version") if isinstance(found, dict) else None
    return version if isinstance(version, int) else -1


def check_readable(names: Collection[str], version: int) -> None:
    """Check that commits and complete checkpoints of a log make up a version, or a later one.

    Raises:
        PlanRefused: they do not.
    """
    try:
        segment = choose_segment(names)
    except SegmentError as fault:
        raise PlanRefused(f"the table could not be read without the files that are set aside: {fault}") from fault
    if segment.version < version:
        raise PlanRefused(f"version {version} could not be read without the files that are set aside")


def _check_files(plan: RepairPlan, store: Store, names: set[str]) -> None:
    """Check that the log has the files that the plan sets aside, and no file that it creates."""
    aside = {each.name for each in plan.set_aside}
    if returns_to_version(plan):
        _check_return(plan, store, names, aside)
    else:
        check_readable(names - aside, plan.version)
        if choose_segment(names - aside).version != plan.version:
            raise PlanRefused(f"the latest version of the table is not {plan.version}; make a new plan")
    created = [*([] if plan.commit is None else [plan.commit]), *plan.writes]
    for each in created:
        if each.name in names - aside:
            raise PlanRefused(f"{each.name}: exists, and the plan does not set it aside")
    for each in (*plan.set_aside, *plan.set_aside_after):
        if each.name not in names or digest_file(store, each.name, each.size_bytes) != each.sha256:
            raise PlanRefused(f"{each.name}: is not the file that the plan sets aside; make a new plan")
    if plan.set_aside_after:
        after = {each.name for each in plan.set_aside_after}
        check_readable((names | {each.name for each in created}) - aside - after, plan.version)
        aside |= after
    versions = {_get_version(name) for name in aside if is_checkpoint(name)}
    named = read_hint_version(store) if versions and HINT not in aside else None
    if named is not None and (named == -1 or named in versions):
        raise PlanRefused(f"`{HINT}` would name a checkpoint that is set aside; the plan must set it aside, too")


def _check_return(plan: RepairPlan, store: Store, names: set[str], aside: set[str]) -> None:
    """Check that only versions are set aside that cannot be read, and that an earlier one remains."""
    if plan.commit is not None or plan.writes or plan.set_aside_after:
        raise PlanRefused("a plan that returns to a version does nothing else")
    if max(map(_get_version, names)) != plan.version:
        raise PlanRefused(f"the latest version of the table is not {plan.version}; make a new plan")
    check_readable(names - aside, 0)
    kept = choose_segment(names - aside).version
    if any(_get_version(name) <= kept for name in aside if isinstance(parse_log_file_name(name), CommitName)):
        raise PlanRefused(f"the plan sets aside a commit that version {kept} may need")
    try:
        open_table_log(store, {entry.name: entry for entry in store.list_log()}, plan.version)
    except LogUnusable:
        return
    raise PlanRefused(f"version {plan.version} can be read; run RESTORE TABLE to return to version {kept}")


def digest_file(store: Store, name: str, size_bytes: int) -> str | None:
    """Return the SHA-256 of a file of the log; None if it is not there or has another size."""
    if size_bytes > MAX_CONTENT_BYTES:
        raise PlanRefused(f"{name}: has more than {MAX_CONTENT_BYTES:,} bytes")
    try:
        data = store.read(f"{LOG_DIRECTORY}/{name}", size_bytes)
    except StorageError:
        return None
    return sha256(data).hexdigest() if len(data) == size_bytes else None


def _read_state(loaded: LoadedPlan, store: Store) -> TableLog:
    """Return the log before the commit, without the files that are set aside."""
    plan = loaded.plan
    overlay = build_overlay(loaded, store, with_commit=False)
    entries = {entry.name: entry for entry in overlay.list_log()}
    distrusted = [each.name for each in plan.set_aside_after]
    try:
        return open_table_log(overlay, entries, choose_segment(entries).version, distrusted)
    except (LogUnusable, StorageError) as fault:
        raise PlanRefused(f"the state of the table cannot be read: {fault}") from fault


def _compare_verdicts(when: str, found: VerdictSummary, stated: VerdictSummary) -> None:
    if (found.verdict, found.violations) != (stated.verdict, stated.violations):
        raise PlanRefused(
            f"the plan states {describe_summary(stated)} {when}, but the table has {describe_summary(found)}; "
            "make a new plan"
        )
