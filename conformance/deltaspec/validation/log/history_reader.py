"""Read the validated history: the state of the table version by version, and the file actions of each version.

Every function reads from a source, adds to the facts in a `LogFactsBuilder`, and records findings in the source's
recorder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from deltaspec.protocol.actions import CommitInfo, DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, WireStruct
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.ledger import COMMITS_MISSING
from deltaspec.validation.log.added_vector_checks import find_operation
from deltaspec.validation.log.derived_files import ACTIONS_OF_ONE_COMMIT
from deltaspec.validation.log.facts import LogFactsBuilder
from deltaspec.validation.log.file_times import file_time_before
from deltaspec.validation.log.log_source import JsonFile, LogSource, commit_file
from deltaspec.validation.log.new_files import find_reason_for_all_files
from deltaspec.validation.log.replay_stage import EARLIER_ROWS, REPLAY_ROWS
from deltaspec.validation.log.undecided import (
    COMMIT_VIEWS,
    block_replay,
    describe_unknown_readers,
    lose_commit,
    lose_state,
    mark_undecoded_lines,
)
from deltaspec.views.base import View
from deltaspec.views.files.row_id_history import StatedRowIds
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checksums, replay_differences
from deltaspec.views.log.derived_file_rows import CommitFacts
from deltaspec.views.log.log_file_rows import PreviousCommit, build_commit_row, mark_repeated_transaction_ids
from deltaspec.views.log.replay_differences import TableActions
from deltaspec.views.table import table_actions as table_state
from deltaspec.views.table.state import VIEW_NAMES, Row, TableState
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

STATE_ACTIONS = (Protocol, MetaData, DomainMetadata, RowIdHighWaterMark)
"""Actions that change the state that file actions are checked against."""
STATE_VIEWS: tuple[View, ...] = tuple(getattr(table_state, name) for name in VIEW_NAMES)
_PROGRESS_COMMITS = 200
"""Number of commits between reports of progress."""
_Lines = list[tuple[int, WireStruct]]


class _EarlierCommits(msgspec.Struct):
    """Results of reading the commits up to the base, for the commits after it."""

    previous: PreviousCommit
    """The last of them."""
    rows: list[Row]
    """Their rows of the view `commits`."""
    evaluated_base: str | None = None
    """File of the base, if its state was evaluated after theirs."""


def read_history(source: LogSource, history: LogFactsBuilder) -> None:
    """Read the checkpoint that the validated history begins with, the commits up to it, and the commits after it."""
    plan, options, base_lines = history.context.plan, history.context.options, _Lines()
    check_base: Callable[[], None] | None = None
    if plan.base is not None:
        base_lines, check_base = _read_base(source, history, plan.base)
    elif not plan.commits:
        history.state.lose({None})
    since = None if options.level == "log" else options.since
    if check_base is not None and since is None:
        check_base()
    earlier = _read_earlier_commits(source, history, base_lines)
    _read_commits(source, history, earlier.previous, earlier.rows)
    if check_base is not None and since is not None:  # now the commits have shown which of its files are read
        if find_reason_for_all_files(since, history.build()) is None:
            source.keep_new_files()
        check_base()
    unknown = history.state.unknown_reader_features
    if unknown:
        block_replay(history, source.findings, describe_unknown_readers(unknown), None)
    for view in STATE_VIEWS:
        rows = history.state.rows[view.name]
        source.findings.evaluate_rows(view, [row for row in rows if row["file"] != earlier.evaluated_base])
    source.findings.evaluate_rows(table_state.metadata, history.state.undefined_types)


def _read_base(source: LogSource, history: LogFactsBuilder, base: Checkpoint) -> tuple[_Lines, Callable[[], None]]:
    """Read the base. Return its table actions with their lines, and a function that checks its file actions."""
    read, check_file_actions = source.read_checkpoint(base)
    file = f"{LOG_DIRECTORY}/{base.files[0]}"
    lines = [(line, action) for _, line, action in read.actions]
    history.base_actions = [action for _, action in lines]
    history.state.apply(base.version, file, lines)
    if read.unread_reason is not None:
        lose_state(history, source.findings, {None}, read.unread_reason, file)
    elif read.undecoded_kinds:
        reason = "an action of the checkpoint that the history starts from cannot be decoded"
        lose_state(history, source.findings, read.undecoded_kinds, reason, file)
        source.findings.mark_undecided((replay_differences, checksums), reason, file)
    history.remember_parts(base, REPLAY_ROWS)
    context = history.state.file_context(history.context.store.root)
    history.remember_state(base.version)
    return lines, partial(check_file_actions, context, REPLAY_ROWS)


# the commits up to the base


def _read_earlier_commits(source: LogSource, history: LogFactsBuilder, base_lines: _Lines) -> _EarlierCommits:
    """Read the commits up to the base, which are not replayed, and check their table actions.

    The state after the last one is the state of the base. Going back, it stays the same until a commit changes it.
    Before that commit, it is not known.
    """
    context, plan = history.context, history.context.plan
    unknown = _create_unknown_state(history)
    state, read = history.state, dict[int, tuple[LogSummary, TableState]]()
    descending = plan.earlier_commits[::-1]
    for version, commit in zip(descending, source.iter_commits(descending), strict=True):
        file = commit_file(version)
        if isinstance(commit, StorageError):
            source.findings.mark_undecided(COMMIT_VIEWS, str(commit), file)
            state, history.earlier_known_from = unknown, max(history.earlier_known_from, version + 1)
            continue
        log = commit.summary
        for reason in log.unread:
            source.findings.mark_undecided(COMMIT_VIEWS, reason, file)
        if log.undecoded_kinds:
            history.earlier_known_from = max(history.earlier_known_from, version + 1)
        read[version] = log, state
        history.remember_digest(version, log)
        file_context = state.file_context(context.store.root)
        commit.check_file_actions(file_context, EARLIER_ROWS)
        if version in plan.compared_versions:  # the state at the version of the base is known
            known = TableActions(state.protocol, state.metadata), file_context
            history.compared_states.setdefault(version, known)
        if log.undecoded_kinds or any(isinstance(action, STATE_ACTIONS) for _, action in log.actions):
            state = unknown
    source.flush()
    return _check_earlier_commits(source, history, base_lines, read)


def _check_earlier_commits(
    source: LogSource,
    history: LogFactsBuilder,
    base_lines: _Lines,
    read: dict[int, tuple[LogSummary, TableState]],
) -> _EarlierCommits:
    """Check the table actions of earlier commits, given with the state after each."""
    base, found = history.context.plan.base, _EarlierCommits(PreviousCommit(), [])
    own_actions = _create_unknown_state(history)
    for version in history.context.plan.earlier_commits:
        if version not in read:
            found.previous = PreviousCommit()
            continue
        (log, state), file = read[version], commit_file(version)
        row = build_commit_row(version, file, log, found.previous, state)
        row |= dict.fromkeys(state.columns.changes)  # the version before the base is not known
        found.previous.follow(row)
        found.rows.append(row)
        history.commit_facts[version] = CommitFacts.from_row(row)
        history.earlier_table_actions += [
            (version, action) for _, action in log.actions if not isinstance(action, CommitInfo)
        ]
        if base is None or version < base.version:  # the base has the other findings
            own_actions.apply(version, file, log.actions)
    if base is not None and own_actions.known_version == base.version - 1:
        # the base follows the earlier commits: a fault that they had is not new in it
        found.evaluated_base = f"{LOG_DIRECTORY}/{base.files[0]}"
        own_actions.apply(base.version, found.evaluated_base, base_lines)
    for view in STATE_VIEWS:
        source.findings.evaluate_rows(view, own_actions.rows[view.name])
    return found


def _create_unknown_state(history: LogFactsBuilder) -> TableState:
    state = TableState(history.context.options.revision)
    state.lose({None})
    return state


# the commits after the base


def _read_commits(source: LogSource, history: LogFactsBuilder, previous: PreviousCommit, rows: list[Row]) -> None:
    """Replay the commits.

    Args:
        source: the log.
        history: receives facts.
        previous: the commit before them.
        rows: rows of the view `commits` of the commits before them.
    """
    findings, plan = source.findings, history.context.plan
    previous.append_only = history.state.append_only
    commits = source.iter_commits(plan.commits)
    for index, version in enumerate(plan.commits):
        if index % _PROGRESS_COMMITS == 0:
            source.progress("commits", index, len(plan.commits))
        if version in plan.commits_after_gaps:
            lose_commit(history, findings, COMMITS_MISSING.format(version), None)
        commit = next(commits)
        if isinstance(commit, StorageError):
            file = commit_file(version)
            findings.mark_undecided(COMMIT_VIEWS, str(commit), file)
            lose_commit(history, findings, str(commit), file)
            previous = PreviousCommit()
        else:
            row = _replay_commit(source, history, version, commit, previous)
            previous.follow(row)
            rows.append(row)
            history.commit_facts[version] = CommitFacts.from_row(row)
        history.remember_state(version)
    mark_repeated_transaction_ids(rows)
    findings.evaluate_rows(log_files.commits, rows)
    source.flush()
    source.progress("commits", len(plan.commits), len(plan.commits))


def _replay_commit(
    source: LogSource, history: LogFactsBuilder, version: int, commit: JsonFile, previous: PreviousCommit
) -> Row:
    """Apply a commit to the state, and check its file actions. Return its row of the view `commits`."""
    log, options, file = commit.summary, history.context.options, commit_file(version)
    mark_undecoded_lines(history, source.findings, file, log)
    if not log.undecoded_kinds <= ACTIONS_OF_ONE_COMMIT:
        history.undecoded_commits.append(version)
    history.remember_digest(version, log)
    rewrites_files = options.level == "rows" and log.kinds["add"] and log.kinds["remove"]
    if rewrites_files and log.kinds["metaData"]:
        history.schemas_before[version] = history.share_schema()
    history.state.apply(version, file, log.actions)
    history.table_actions += [(version, action) for _, action in log.actions if not isinstance(action, CommitInfo)]
    history.operations[version] = find_operation(log.actions)
    history.stated_row_ids[version] = StatedRowIds.from_actions(log.actions, log.undecoded_kinds, options.revision)
    commit.check_file_actions(history.state.file_context(history.context.store.root), REPLAY_ROWS)
    has_change_data = options.level != "log" and log.has_cdc
    if has_change_data:
        history.versions_with_change_data.append(version)
    if rewrites_files or has_change_data:
        history.schemas[version] = history.share_schema()
    row = build_commit_row(version, file, log, previous, history.state)
    row["file_time_before"] = file_time_before(history.context.plan, row)
    return row
