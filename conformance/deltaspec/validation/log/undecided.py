"""Record the rules that stay undecided because a part of the log is missing, or cannot be read or decoded."""

from __future__ import annotations

from collections.abc import Collection, Set

from deltaspec.protocol.features.system_domains import TOO_DEEP
from deltaspec.protocol.features.table_features import get_unchecked_effect
from deltaspec.protocol.revisions import Revision
from deltaspec.report.text import bound_text, escape_text
from deltaspec.validation.findings import Findings
from deltaspec.validation.ledger import NOT_REPLAYED
from deltaspec.validation.log.facts import LogFacts, LogFactsBuilder
from deltaspec.views.base import View
from deltaspec.views.data.change_data import change_commits, change_files
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.files.added_vectors import added_vectors
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.file_actions import deletion_vectors, file_actions, file_history
from deltaspec.views.files.idle_removes import idle_removes
from deltaspec.views.files.null_columns import null_columns
from deltaspec.views.files.outdated_files import outdated_files
from deltaspec.views.files.snapshot import snapshot_files
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checkpoints, checksums, replay_differences, sidecars
from deltaspec.views.table import table_actions as table_state
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY

MAX_FEATURES_SHOWN = 20
"""Number of unchecked features that the ledger lists."""
ACTION_VIEWS: tuple[View, ...] = (file_actions, deletion_vectors)
"""Views of single file actions."""
COMMIT_VIEWS: tuple[View, ...] = (log_files.lines, log_files.commits, *ACTION_VIEWS)
"""Views of the content of a commit."""
REPLAY_VIEWS: tuple[View, ...] = (
    file_history,
    added_vectors,
    adds_without_stats,
    idle_removes,
    null_columns,
    outdated_files,
    replay_differences,
    checksums,
    snapshot_files,
)
"""Views whose rows depend on the replay of file actions."""


def block_replay(history: LogFactsBuilder, findings: Findings, reason: str, file: str | None) -> None:
    """Record that the result of replay cannot be trusted."""
    if history.replay_blocked_reason is None:
        history.replay_blocked_reason, history.replay_blocked_file = reason, file
    findings.mark_undecided(REPLAY_VIEWS, reason, file)


def lose_state(
    history: LogFactsBuilder, findings: Findings, kinds: Set[str | None], reason: str, file: str | None
) -> None:
    """Record that actions of these kinds in a file cannot be decoded, so the state that they change is undecided."""
    history.state.lose(kinds, (reason, file))
    findings.mark_lost_actions(kinds, reason, file)


def lose_commit(history: LogFactsBuilder, findings: Findings, reason: str, file: str | None) -> None:
    """Record that commits are unknown, and so is the table state after them."""
    lose_state(history, findings, {None}, reason, file)
    block_replay(history, findings, reason, file)


def mark_undecoded_lines(history: LogFactsBuilder, findings: Findings, file: str, log: LogSummary) -> None:
    """Record the rules that undecodable lines of a commit leave undecided, all with one reason."""
    undecoded = log.undecoded_kinds
    if not undecoded:
        return
    reason = next(iter(log.unread), "a line cannot be decoded")
    if log.unread:
        findings.mark_undecided((log_files.lines, *ACTION_VIEWS), reason, file)
    if undecoded & {"add", "remove", None}:
        block_replay(history, findings, reason, file)
    if "cdc" in undecoded:
        findings.mark_undecided((change_commits, change_files, data_files, file_columns), reason, file)
    if undecoded & {"commitInfo", None}:
        findings.mark_undecided((log_files.commits,), reason, file)
    lose_state(history, findings, undecoded, reason, file)


def mark_checkpoint_undecided(findings: Findings, read: ParsedCheckpoint) -> None:
    """If actions of a checkpoint could not be read, record it."""
    if read.unread_reason is not None:
        file, counts = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}", frozenset(checkpoints.columns)
        if read.storage_error is None:
            counts -= {"unreadable"}  # this column is known
        findings.mark_undecided((sidecars, *ACTION_VIEWS), read.unread_reason, file)
        findings.mark_undecided((checkpoints,), read.unread_reason, file, read_columns=counts)


def mark_gaps_undecided(facts: LogFacts, findings: Findings) -> None:
    """Mark the versions after a gap, up to the next checkpoint, which cannot be replayed."""
    if facts.options.history != "all":
        return
    with_checkpoint = {each.version for each in facts.plan.all_checkpoints}
    gaps = [
        gap for gap in facts.plan.gaps if not gap.explained and with_checkpoint.isdisjoint((gap.last, gap.last + 1))
    ]
    if gaps:
        more = f", and {len(gaps) - 1:,} more gaps" if len(gaps) > 1 else ""
        findings.mark_undecided(REPLAY_VIEWS, NOT_REPLAYED.format(gaps[0].last, gaps[0].description, more))


def mark_unchecked_features(facts: LogFacts, findings: Findings) -> None:
    """Mark the features that the kit does not check; older revisions refuse a table with unknown features."""
    if facts.options.revision is not Revision.CURRENT:
        return
    found = {name: get_unchecked_effect(name) for name in sorted(facts.state.listed_features)}
    unchecked = [(name, effect) for name, effect in found.items() if effect is not None]
    accepted = facts.options.accepts_feature
    unchecked.sort(key=lambda each: accepted(each[0]))  # features that the user does not accept are never left out
    for name, effect in unchecked[:MAX_FEATURES_SHOWN]:
        shown = escape_text(bound_text(name))
        findings.mark_feature_unchecked(shown, f"feature {shown} is not checked; it may affect {effect}")


def mark_unread_schemas_undecided(facts: LogFacts, findings: Findings) -> None:
    """Mark schemas and domains that are nested too deeply: they may be valid, as no revision limits the depth."""
    for row in facts.state.rows[table_state.metadata.name]:
        if row["schema_fault"] == "too deep":
            views = (table_state.metadata, table_state.schema_fields)
            findings.mark_undecided(views, row["schema_fault_pointer"], row["file"])
    for row in facts.state.rows[table_state.domains.name]:
        if row["configuration_fault"] == TOO_DEEP:
            reason = f"the configuration of {row['domain']} {TOO_DEEP}"
            findings.mark_rule_undecided("DOM003", reason, row["file"])


def describe_unknown_readers(needed: Collection[str]) -> str:
    """Return why replay cannot be trusted if readers need these features or this version."""
    return f"readers need {', '.join(needed)}, which may change replay"
