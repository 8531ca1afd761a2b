"""Decide which files a run with `--since` must check, once, when the log has been read."""

from __future__ import annotations

from msgspec.structs import replace

from deltaspec.protocol.actions import DomainMetadata, MetaData, Protocol
from deltaspec.protocol.features import clustering
from deltaspec.report.report_types import Since
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.version_at import resolve_at
from deltaspec.validation.options import Options
from deltaspec.validation.plan import EmptiedLog, Plan, build_plan, plan_emptied_log
from deltaspec.validation.since import (
    EarlierReport,
    find_changed_replacement,
    refuse_report,
    require_same_commits,
    require_same_history,
)
from deltaspec.wire.storage.interface import Entry, Store
from deltaspec.wire.storage.ratified_store import RatifiedStore


def plan_run(store: Store, listed: list[Entry], options: Options) -> tuple[Plan, Options]:
    """Plan a run. If the options name an earlier report, compare its history with the history of the table.

    Args:
        store: the table, after its catalog was asked.
        listed: the pinned listing of `_delta_log`, before that.
        options: of the run.

    Raises:
        EmptiedLog: the log was emptied, and the options name a version or a time.
        TableUnreadable: the log was deleted after it was listed.
        InvalidUsage: as `find_version_at`, `build_plan` and `require_same_history`.
    """
    is_asked = isinstance(store, RatifiedStore)
    selected = store.select(listed) if isinstance(store, RatifiedStore) else listed
    try:
        plan, options = _plan_run(store, selected, options)
        return replace(plan, listed=tuple(listed) if is_asked else None), options
    except EmptiedLog:
        if options.at is not None:
            raise
    if isinstance(store, RatifiedStore):
        listed = store.table.list_log()
        selected = store.select(listed)
    else:
        listed = selected = store.list_log()  # a new table may have got its first commit after the first listing
    try:
        plan, options = _plan_run(store, selected, options)
    except EmptiedLog:
        plan, options = plan_emptied_log(selected, options.history, options.revision), replace(options, since=None)
    return replace(plan, listed=tuple(listed) if is_asked else None), options


def _plan_run(store: Store, listed: list[Entry], options: Options) -> tuple[Plan, Options]:
    earlier = options.since
    version, at = resolve_at(store, listed, options.at, options.revision)
    plan = build_plan(
        store.uri,
        listed,
        at=version,
        history=options.history,
        revision=options.revision,
        since=None if earlier is None else earlier.version,
    )
    plan = replace(plan, at=at)
    if earlier is None:
        return plan, options
    return plan, replace(options, since=require_same_history(earlier, store, plan))


def find_reason_for_all_files(earlier: EarlierReport, facts: LogFacts) -> str | None:
    """Return why all files must be checked; None if the files after the earlier report suffice.

    Raises:
        InvalidUsage: the report is of another table, or of another history.
    """
    require_same_commits(earlier, facts.commit_digests)
    changed = find_changed_replacement(earlier, facts.plan)
    if changed is not None:
        return changed
    metadata = facts.state.metadata
    if metadata is None or facts.replay_blocked_reason is not None:
        return "the state of the table is not known"
    if metadata.id != earlier.table_id:
        raise refuse_report(earlier.file, f"is of the table with id {earlier.table_id}, not {metadata.id}")
    for version, action in facts.table_actions:
        is_clustering = isinstance(action, DomainMetadata) and action.domain == clustering.DOMAIN
        if version > earlier.version and (is_clustering or isinstance(action, Protocol | MetaData)):
            return f"version {version} changes what files must conform to"
    return None


def mark_earlier_files(earlier: EarlierReport, findings: Findings) -> None:
    """Record in the ledger that rules were not decided for the files that the earlier report has checked."""
    for rule in findings.rules:
        if rule.level != "log" and rule.code not in earlier.not_applicable:
            findings.mark_rule_undecided(rule.code, earlier.reason)
    for each in earlier.undecided:
        findings.mark_rule_undecided(each.rule, each.reason, each.file)


def describe_since(earlier: EarlierReport, skipped_files: int, reason: str | None) -> Since:
    """Describe the files that a run did not check again, for the report.

    Args:
        earlier: the earlier report.
        skipped_files: number of live files that were not checked.
        reason: why all were checked; None if not all were.
    """
    return Since(
        version=earlier.version,
        first_version=earlier.first_version,
        counts=earlier.counts,
        skipped_files=skipped_files,
        reason=reason,
    )
