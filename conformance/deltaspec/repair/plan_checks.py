"""Check a plan against the table as it is now. A plan is data that anybody may have written.

The checks allow only what a repair needs: derived files are replaced, and a commit removes live files or describes them
again. Anything else is refused, and so is a table that is not the one, or not as it was, when the plan was made.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec

from deltaspec.candidates.reference.log_reader import CorruptLog, LoadedTable
from deltaspec.model.log.reconciliation import get_file_key
from deltaspec.protocol.actions import Add, CommitInfo, DomainMetadata, MetaData, Protocol, Remove
from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_features import get_unchecked_effect, strip_preview_suffix
from deltaspec.protocol.files.paths import path_key
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
from deltaspec.repair.overlay_store import OverlayStore, digest_listing
from deltaspec.repair.plan_folder import MAX_CONTENT_BYTES, LoadedPlan
from deltaspec.repair.plan_format import LogFileDigest, RepairPlan, VerdictSummary
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_state import StoreReader, Validator, describe, summarize
from deltaspec.report.report_types import Report
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.factory import is_uri
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, FileGone, StorageError, Store

MAX_TIME_MS = 1 << 48
CHECKPOINTS = (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint)
HINT = "_last_checkpoint"
_DERIVED = (*CHECKPOINTS, CompactionName, ChecksumName, LastCheckpointName)
_MAX_HINT_BYTES = 1 << 20
_ROW_IDS = "delta.rowTracking"
"""Domain of the row id mark, which a repair may create."""
_UNCHANGED_METADATA = ("id", "name", "description", "format", "partition_columns", "created_time")


def check_names(plan: RepairPlan) -> None:
    """Check which files of the log a plan creates and sets aside.

    Raises:
        PlanRefused: a name is not one of a derived file or of the next commit, or occurs twice.
    """
    for each in plan.set_aside:
        if not isinstance(parse_log_file_name(each.name), _DERIVED):
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


def order_set_aside(names: Iterable[LogFileDigest]) -> list[LogFileDigest]:
    """Return files in the order in which they can be set aside: a hint before the checkpoint that it names."""
    return sorted(names, key=lambda each: (each.name != HINT, not is_checkpoint(each.name)))


def order_writes(names: Iterable[LogFileDigest]) -> list[LogFileDigest]:
    """Return files in the order in which they can be written: sidecars, then checkpoints, and the hint last."""

    def rank(name: LogFileName) -> int:
        return 0 if isinstance(name, SidecarName) else 1 if not isinstance(name, LastCheckpointName) else 2

    return sorted(names, key=lambda each: rank(parse_log_file_name(each.name)))


def is_checkpoint(name: str) -> bool:
    """Return whether a name is that of a checkpoint or a part of one."""
    return isinstance(parse_log_file_name(name), CHECKPOINTS)


def check_table(loaded: LoadedPlan, store: Store, listed: list[Entry], validator: Validator) -> Report:
    """Check that a table is as it was when the plan was made, and that the plan does what it states.

    Args:
        loaded: the plan, whose names were checked.
        store: the table.
        listed: listing of its log, without temporary files of this plan.
        validator: validates as when the plan was made.

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
    most_files = max(len(repair.files) for repair in plan.repairs) if plan.repairs else 0
    report = validator.validate(store, plan.before.level, samples=max(1000, most_files))
    _compare_verdicts("before the repair", summarize(report), plan.before)
    if plan.commit is not None:
        _check_commit(plan, loaded.contents[plan.commit.name], state, report, store.root)
    after = validator.validate(build_overlay(loaded, store), plan.after.level)
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


def digest_file(store: Store, name: str, size_bytes: int) -> str | None:
    """Return the SHA-256 of a file of the log; None if it is not there or has another size."""
    if size_bytes > MAX_CONTENT_BYTES:
        raise PlanRefused(f"{name}: has more than {MAX_CONTENT_BYTES:,} bytes")
    try:
        data = store.read(f"{LOG_DIRECTORY}/{name}", size_bytes)
    except StorageError:
        return None
    return sha256(data).hexdigest() if len(data) == size_bytes else None


def _read_state(loaded: LoadedPlan, store: Store) -> LoadedTable:
    """Return the state before the commit, without the files that are set aside."""
    try:
        return StoreReader(build_overlay(loaded, store, with_commit=False)).read_state()
    except (CorruptLog, SegmentError, StorageError) as fault:
        raise PlanRefused(f"the state of the table cannot be read: {fault}") from fault


def check_features(protocol: Protocol) -> None:
    """Raise `PlanRefused` for a table that a catalog manages, or that has a feature the kit does not check."""
    for name in sorted({*get_supported_features(protocol), *(protocol.reader_features or ())}):
        if strip_preview_suffix(name) in (FEATURE, "catalogOwned"):
            raise PlanRefused("a catalog manages the table, so only the catalog may commit to it")
        if get_unchecked_effect(name) is not None:
            raise PlanRefused(f"the table needs the feature {name}, which deltaspec does not check")


def _compare_verdicts(when: str, found: VerdictSummary, stated: VerdictSummary) -> None:
    if (found.verdict, found.violations) != (stated.verdict, stated.violations):
        raise PlanRefused(
            f"the plan states {describe(stated)} {when}, but the table has {describe(found)}; make a new plan"
        )


def _check_commit(plan: RepairPlan, data: bytes, state: LoadedTable, report: Report, root: str | None) -> None:
    """Check that a commit concerns the files and the metadata that the repairs name, and nothing else."""
    decoded = decode_lines(data)
    if decoded.faults or decoded.unread or None in decoded.kinds:
        raise PlanRefused("a line of the commit is not an action")
    actions: list[Any] = [*(action for _, action in decoded.actions), *decoded.files.actions]
    kinds = {repair.kind for repair in plan.repairs}
    for each in actions:
        match each:
            case CommitInfo():
                continue
            case Add() | Remove():
                continue
            case MetaData() if each == state.metadata:
                continue
            case Protocol() | MetaData() | DomainMetadata() if kinds & {"raise-mark", "list-feature"}:
                _check_metadata(each, state)
            case _:
                raise PlanRefused(f"no repair of the plan needs the action {type(each).__name__} of its commit")
    added = [each for each in actions if isinstance(each, Add)]
    removed = [each for each in actions if isinstance(each, Remove)]
    _check_file_actions(plan, state, added, removed)
    kept = {get_file_key(each)[0] for each in added}
    gone = [each for each in removed if get_file_key(each)[0] not in kept]
    lost_keys = {get_file_key(each)[0] for each in gone}
    left = {path_key(add.path, root) for key, add in state.snapshot.files.items() if key[0] not in lost_keys}
    for each in gone:
        _require_effect(plan, each.path, ("lost", "duplicates-end"), "removes")
        if path_key(each.path, root) not in left:
            _require_effect(plan, each.path, ("lost",), "removes the only copy of")
            _require_finding(plan, each.path, report)


def _check_file_actions(plan: RepairPlan, state: LoadedTable, added: list[Add], removed: list[Remove]) -> None:
    """Check that a commit only removes live files, or describes them again, and that the repairs state the effect."""
    named = {path for repair in plan.repairs for path in repair.files}
    live = {key for key, _ in state.snapshot.files}
    returned = {path for repair in plan.repairs if repair.kind == "return-to-version" for path in repair.files}
    changed: list[Add | Remove] = [*added, *removed]
    for each in changed:
        if each.path not in named:
            raise PlanRefused(f"the commit concerns {each.path}, which no repair names")
        if get_file_key(each)[0] not in live and not (isinstance(each, Add) and each.path in returned):
            raise PlanRefused(f"the commit concerns {each.path}, which is not a live file of the table")
    for gone in removed:
        if get_file_key(gone) not in state.snapshot.files:
            raise PlanRefused(f"the commit removes {gone.path} with another deletion vector than the live file has")
    for each in added:
        before = [add for key, add in state.snapshot.files.items() if key[0] == get_file_key(each)[0]]
        if any(add.deletion_vector != each.deletion_vector for add in before):
            _require_effect(plan, each.path, ("returned",), "changes the deletion vector of")
            if each.deletion_vector is not None:
                raise PlanRefused(f"the commit gives {each.path} another deletion vector")


def _require_effect(plan: RepairPlan, path: str, effects: Collection[str], verb: str) -> None:
    if not any(path in each.files and each.effect in effects for each in plan.repairs):
        raise PlanRefused(f"the commit {verb} {path}, but no repair states that rows are {' or '.join(effects)}")


def _require_finding(plan: RepairPlan, path: str, report: Report) -> None:
    """Check that a file whose rows are lost has a finding: it may have been restored after the plan was made."""
    rules = {code for each in plan.repairs if path in each.files and each.effect == "lost" for code in each.rules}
    if not any(each.path == path and each.rule in rules for each in report.findings):
        raise PlanRefused(f"the commit removes {path}, but the table has no finding about it now; make a new plan")


def _check_metadata(action: Protocol | MetaData | DomainMetadata, state: LoadedTable) -> None:
    """Check that metadata is raised or completed, and that nothing else of it changes."""
    match action:
        case Protocol():
            before, after = get_supported_features(state.protocol), get_supported_features(action)
            is_lower = (action.min_reader_version, action.min_writer_version) < (
                state.protocol.min_reader_version,
                state.protocol.min_writer_version,
            )
            if is_lower or not before <= after:
                raise PlanRefused("the commit takes a feature from the protocol of the table")
            check_features(action)
        case MetaData():
            for name in _UNCHANGED_METADATA:
                if getattr(action, name) != getattr(state.metadata, name):
                    raise PlanRefused(f"the commit changes the field {name} of the metadata")
            if _describe_columns(action.schema_string) != _describe_columns(state.metadata.schema_string):
                raise PlanRefused("the commit changes columns of the schema")
            if not state.metadata.configuration.keys() <= action.configuration.keys():
                raise PlanRefused("the commit takes a property from the table")
        case DomainMetadata():
            if action.removed or action.domain not in {*state.snapshot.domains, _ROW_IDS}:
                raise PlanRefused(f"the commit creates or removes the domain {action.domain}")


def _describe_columns(schema: str) -> list[tuple[str, str, bool]]:
    """Return names, types and nullability of all columns, without their metadata."""
    try:
        found = msgspec.json.decode(schema, type=dict)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise PlanRefused(f"the commit has a schema that cannot be read: {fault}") from fault
    return list(_iter_columns(found, ""))


def _iter_columns(node: object, path: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the leaves of a schema without the objects under `metadata`."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name != "metadata":
                yield from _iter_columns(value, f"{path}/{name}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _iter_columns(value, f"{path}/{number}")
    else:
        yield path, repr(node), node is None
