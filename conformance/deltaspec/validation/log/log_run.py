"""A run over one table: read the log, replay it, check the files.

Backends provide how bytes become actions, and where: `EmbeddedRun` in this process, `SparkRun` on executors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from types import MappingProxyType

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.model.actions import CommitInfo, DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, WireStruct
from deltaspec.model.features.table_features import get_unchecked_effect
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.model.revisions import Revision
from deltaspec.report.report_types import DerivedFileNotCompared, Inventory, Since
from deltaspec.report.text import bound_text, escape_text
from deltaspec.scales import LEVELS
from deltaspec.validation.aggregates import Aggregates, TableActionKey
from deltaspec.validation.buckets import Buckets
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.added_vector_checks import find_operation
from deltaspec.validation.log.checkpoint_checks import check_checkpoint
from deltaspec.validation.log.derived_files import ACTIONS_OF_ONE_COMMIT, DerivedFiles, compares_file_actions
from deltaspec.validation.log.earlier_commit_checks import check_earlier_table_actions
from deltaspec.validation.log.facts import LogFacts, LogFactsBuilder, ReadContext
from deltaspec.validation.log.file_times import file_time_before
from deltaspec.validation.log.hint_checks import check_hint
from deltaspec.validation.log.log_listing_checks import check_log_listing
from deltaspec.validation.log.new_files import describe_since, find_reason_for_all_files, mark_earlier_files
from deltaspec.validation.log.outdated_file_checks import check_outdated_files
from deltaspec.validation.log.replay_stage import EARLIER_ROWS, REPLAY_ROWS, replay_and_check
from deltaspec.validation.log.type_change_checks import check_type_changes
from deltaspec.validation.log.variant_use_checks import check_variant_uses
from deltaspec.validation.options import Options
from deltaspec.validation.plan import EMPTIED, NO_VERSION, Plan
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.stopping import RunStopped
from deltaspec.views.base import View
from deltaspec.views.data.change_data import change_commits, change_files
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.files.added_vectors import added_vectors
from deltaspec.views.files.adds_without_stats import adds_without_stats
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.file_actions import deletion_vectors, file_actions, file_history
from deltaspec.views.files.null_columns import null_columns
from deltaspec.views.files.outdated_files import outdated_files
from deltaspec.views.files.row_id_history import StatedRowIds
from deltaspec.views.files.snapshot import snapshot_files
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checkpoints, checksums, last_checkpoint, replay_differences, sidecars
from deltaspec.views.log.derived_file_rows import CommitFacts
from deltaspec.views.log.log_file_rows import PreviousCommit, build_commit_row, mark_repeated_transaction_ids
from deltaspec.views.log.replay_differences import TableActions, row_id_high_water_marks
from deltaspec.views.log.staged_commits import staged_commits
from deltaspec.views.table import table_actions as table_state
from deltaspec.views.table.state import VIEW_NAMES, Row, TableState
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store

MAX_FEATURES_SHOWN = 20
"""Number of unchecked features that the ledger lists."""
ACTION_VIEWS: tuple[View, ...] = (file_actions, deletion_vectors)
"""Views of single file actions."""
REPLAY_VIEWS: tuple[View, ...] = (
    file_history,
    added_vectors,
    adds_without_stats,
    null_columns,
    outdated_files,
    replay_differences,
    checksums,
    snapshot_files,
)
"""Views whose rows depend on the replay of file actions."""
LISTING_VIEWS: tuple[View, ...] = (log_files.listing, staged_commits, last_checkpoint)
"""Views that need only the listing of the log: without such files, their rules do not apply."""
STATE_ACTIONS = (Protocol, MetaData, DomainMetadata, RowIdHighWaterMark)
"""Actions that change the state that file actions are checked against."""
STATE_VIEWS: tuple[View, ...] = tuple(getattr(table_state, name) for name in VIEW_NAMES)


class ReadLog(msgspec.Struct, frozen=True):
    """The log after reading. A resume state contains it."""

    facts: LogFacts
    findings: Findings
    parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint]
    derived_files: DerivedFiles | None
    """None if the revision refuses the table."""


class LogRun(ABC):
    """One run over one table, from its log to its findings. Call `run` once."""

    buckets: Buckets
    inventory: Inventory | None = None
    facts: LogFacts
    """Set once the log has been read."""

    def __init__(
        self, store: Store, plan: Plan, options: Options, findings: Findings, progress: Progress = ignore_progress
    ) -> None:
        self.store = store
        self.plan = plan
        self.options = options
        self.findings = findings
        self.progress = progress
        compares_files = compares_file_actions(store, plan, options.history)
        self.context = ReadContext(store, plan, options, compares_files)
        self.history = LogFactsBuilder(self.context)
        self.parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint] = {}
        self._earlier_checkpoints: dict[Checkpoint, ParsedCheckpoint] = {}
        """Checkpoints of earlier parts of the log, without their actions."""
        self.stop_reason: str | None = None
        """Why the run stopped before everything was checked; None if it did not."""
        self._log_was_read = self._log_was_checked = False
        self._reason_for_all_files: str | None = None
        self._skipped_files = 0
        self.hint_not_compared: DerivedFileNotCompared | None = None
        self._base_lines: list[tuple[int, WireStruct]] = []
        self._evaluated_base: str | None = None
        """File of the base whose state was evaluated with the earlier commits."""

    @property
    def state(self) -> TableState:
        """State of the table; at the validated version once the history has been read."""
        return self.history.state

    @property
    def all_parsed_checkpoints(self) -> dict[Checkpoint, ParsedCheckpoint]:
        """Every checkpoint that was read, also in earlier parts of the log."""
        return self._earlier_checkpoints | self.parsed_checkpoints

    def run(self, interrupts: Mapping[type[BaseException], str] = MappingProxyType({})) -> Findings:
        """Read the log and evaluate the rules.

        Args:
            interrupts: exceptions that stop the run, and how to report them.
        """
        try:
            return self._run()
        except RunStopped as stop:
            self._check_what_was_read()
            self._mark_unchecked(stop.reason, stop.levels)
            return self.findings
        except tuple(interrupts) as fault:
            self._check_what_was_read()
            self._mark_unchecked(interrupts[type(fault)], None)
            return self.findings
        finally:
            self.buckets.close()

    def _mark_unchecked(self, reason: str, levels: Collection[str] | None) -> None:
        """Record why the run stopped, and the rules that it has not decided."""
        self.stop_reason = reason
        if not self._log_was_read:
            unknown = LogFactsBuilder(self.context)
            unknown.state.lose({None})
            self.facts = unknown.build()
        if levels is None:
            levels = LEVELS[1:] if self._log_was_checked else LEVELS
        self.findings.mark_stopped(reason, levels)

    def _run(self) -> Findings:
        aggregates = self._check_log()
        if aggregates is not None and self.options.level != "log":
            from deltaspec.validation.data.data_stages import check_data  # the readers of data take long to import

            found = check_data(self.facts, self.findings, self.buckets, aggregates, self.progress)
            self.inventory, self._skipped_files = found.inventory, found.skipped_files
        if self.plan.version == NO_VERSION:
            self.findings.mark_unevaluated(EMPTIED, except_views=LISTING_VIEWS)
        return self.findings

    def _select_files(self) -> None:
        """Decide which files outside the log are checked: all, or those after an earlier report."""
        earlier = self.options.since
        if earlier is None or self.options.level == "log":
            return
        self._reason_for_all_files = find_reason_for_all_files(earlier, self.facts)
        if self._reason_for_all_files is None:
            self.facts = replace(self.facts, since=earlier)
            mark_earlier_files(earlier, self.findings)

    @property
    def since(self) -> Since | None:
        """What the run did not check again because an earlier report did; None without such a report."""
        earlier = self.options.since
        if earlier is None:
            return None
        return describe_since(earlier, self._skipped_files, self._reason_for_all_files)

    def _check_log(self) -> Aggregates | None:
        """Read and check the log. Return the aggregates of all buckets; None if the revision refuses the table."""
        for part in self.plan.earlier_ranges:
            self._check_range(part)
        log = self._read_log()
        self.facts, self.findings, self.parsed_checkpoints = log.facts, log.findings, log.parsed_checkpoints
        self._log_was_read = True
        if log.derived_files is None:
            return None
        self._select_files()
        facts, findings = self.facts, self.findings
        self.progress("replay", 0, None)
        aggregates = replay_and_check(facts, findings, self.buckets)
        if self.plan.base is not None:
            aggregates.wrong_base_actions = self._check_base(self.plan.base, aggregates)
        self.progress("derived files", 0, None)
        log.derived_files.check(facts, findings, aggregates)
        if self.plan.has_hint:
            self.hint_not_compared = check_hint(facts, findings, self.all_parsed_checkpoints)
        check_outdated_files(facts, findings, aggregates)
        check_type_changes(facts, findings, aggregates)
        check_variant_uses(facts, findings)
        self._log_was_checked = True
        return aggregates

    def _check_range(self, part: Plan) -> None:
        """Check a part of the log before the validated history, as a separate history."""
        run = self._create_range_run(part, replace(self.options, level="log"))
        try:
            run._check_log()
        finally:
            run.close_range()
        self.findings.merge(run.findings)
        for checkpoint, read in run.parsed_checkpoints.items():
            self._earlier_checkpoints[checkpoint] = read.without_actions()

    def _read_log(self) -> ReadLog:
        """Read the log, and put its file actions into the buckets."""
        facts = self.read_history()
        for view in STATE_VIEWS:
            rows = facts.state.rows[view.name]
            self.findings.evaluate_rows(view, [row for row in rows if row["file"] != self._evaluated_base])
        self.findings.evaluate_rows(table_state.metadata, facts.state.undefined_types)
        refusal = facts.state.refusal
        if refusal is not None:
            reason = f"revision {self.options.revision} refuses the table: {refusal.reason}"
            self.findings.discard_findings(reason, except_views=(table_state.protocols, table_state.features))
            return ReadLog(facts, self.findings, self.parsed_checkpoints, None)
        self._mark_unchecked_features(facts.state)
        self._mark_unread_schemas_undecided()
        if not self.plan.is_range:
            check_log_listing(facts, self.findings)
            self._mark_gaps_undecided()
        derived_files = DerivedFiles()
        derived_files.read(self, facts, self.findings)
        self.finalize()
        facts = self.history.build(derived_files.collect_file_actions())
        return ReadLog(facts, self.findings, self.parsed_checkpoints, derived_files)

    def read_history(self) -> LogFacts:
        """Read the validated history: the state of the table version by version, and its file actions."""
        if self.plan.base is not None:
            self._read_base_state(self.plan.base)
        elif not self.plan.commits:
            self.state.lose({None})
        self._read_commits(*self._read_earlier_commits())
        unknown = self.state.unknown_reader_features
        if unknown:
            self.block_replay(describe_unknown_readers(unknown), None)
        return self.history.build()

    def _mark_gaps_undecided(self) -> None:
        """Mark the versions after a gap, up to the next checkpoint, which cannot be replayed."""
        if self.options.history != "all":
            return
        with_checkpoint = {each.version for each in self.plan.all_checkpoints}
        gaps = [
            gap for gap in self.plan.gaps if not gap.explained and with_checkpoint.isdisjoint((gap.last, gap.last + 1))
        ]
        if gaps:
            more = f", and {len(gaps) - 1:,} more gaps" if len(gaps) > 1 else ""
            reason = f"versions after {gaps[0].last} cannot be replayed: {gaps[0].description} missing{more}"
            self.findings.mark_undecided(REPLAY_VIEWS, reason)

    # what a backend provides

    @abstractmethod
    def _create_range_run(self, part: Plan, options: Options) -> LogRun:
        """Create the run over a part of the log, with a new recorder."""

    def close_range(self) -> None:
        """Delete the temporary data of a run over a part of the log."""
        self.buckets.close()

    @abstractmethod
    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        """Read a checkpoint later than the base, and put its file actions into the buckets, now or in `finalize`."""

    @abstractmethod
    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        """Read a log compaction, and put its file actions into the buckets, now or in `finalize`.

        Raises:
            StorageError: it cannot be read.
        """

    def finalize(self) -> None:
        """Put the remaining file actions into the buckets, and record what of the base could not be read."""
        base = self.plan.base
        reason = None if base is None else self.parsed_checkpoints[base].incomplete_reason
        if base is not None and reason is not None:
            self.history.base_is_complete = False
            self.block_replay(reason, f"{LOG_DIRECTORY}/{base.files[0]}")

    @abstractmethod
    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        """Read the table actions of the checkpoint that the validated history begins with."""

    @abstractmethod
    def _put_base_files(self, read: ParsedCheckpoint, context: FileContext) -> None:
        """Check its file actions and put them into the buckets, now or in `finalize`."""

    @abstractmethod
    def _iter_commits(self, versions: Sequence[int]) -> Iterator[LogSummary | StorageError]:
        """Yield commits in the given order, or the reason why a commit cannot be read."""

    @abstractmethod
    def _put_commit_files(self, file: str, version: int, context: FileContext, tag: str = REPLAY_ROWS) -> None:
        """Check the file actions of the last commit, and put them into the buckets, now or in `finalize`."""

    @abstractmethod
    def _check_what_was_read(self) -> None:
        """Evaluate rows that were read before the run stopped."""

    @abstractmethod
    def _end_commits(self) -> None:
        """Called after the last commit."""

    def put_rows(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None) -> None:
        """Put rows of file actions into the buckets."""
        self.buckets.put(tag, rows, keys)

    # the validated history

    def block_replay(self, reason: str, file: str | None) -> None:
        """Record that the result of replay cannot be trusted."""
        if self.history.replay_blocked_reason is None:
            self.history.replay_blocked_reason, self.history.replay_blocked_file = reason, file
        self.findings.mark_undecided(REPLAY_VIEWS, reason, file)

    def _read_base_state(self, base: Checkpoint) -> None:
        read = self._read_base(base)
        file = f"{LOG_DIRECTORY}/{base.files[0]}"
        self.history.base_actions = [action for _, _, action in read.actions]
        self._base_lines = [(line, action) for _, line, action in read.actions]
        self.state.apply(base.version, file, self._base_lines)
        if read.unread_reason is not None:
            self._lose_state({None}, read.unread_reason, file)
        elif read.undecoded_kinds:
            reason = "an action of the checkpoint that the history starts from cannot be decoded"
            self._lose_state(read.undecoded_kinds, reason, file)
            self.findings.mark_undecided((replay_differences, checksums), reason, file)
        self.register_parts(base, REPLAY_ROWS)
        self._put_base_files(read, self.state.file_context(self.store.root))
        self._remember(base.version)

    def register_parts(self, checkpoint: Checkpoint, tag: str) -> None:
        """Remember the files of a multipart checkpoint."""
        if len(checkpoint.files) > 1:
            self.history.multipart[tag] = tuple(f"{LOG_DIRECTORY}/{name}" for name in checkpoint.files)

    def _check_base(self, base: Checkpoint, aggregates: Aggregates) -> set[TableActionKey]:
        """Check the base as a unit. Return its table actions that contradict earlier commits."""
        read = self.parsed_checkpoints[base]
        read.split_paths = aggregates.split_paths[REPLAY_ROWS] if REPLAY_ROWS in self.facts.multipart else None
        check_checkpoint(self.findings, read, is_base=True)
        return check_earlier_table_actions(self.facts, self.findings, read)

    def mark_checkpoint_undecided(self, read: ParsedCheckpoint) -> None:
        """Record that actions of a checkpoint could not be read, if so."""
        if read.unread_reason is not None:
            file, counts = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}", frozenset(checkpoints.columns)
            if read.storage_error is None:
                counts -= {"unreadable"}  # which is known
            self.findings.mark_undecided((sidecars, *ACTION_VIEWS), read.unread_reason, file)
            self.findings.mark_undecided((checkpoints,), read.unread_reason, file, read_columns=counts)

    def _read_earlier_commits(self) -> tuple[PreviousCommit, list[Row]]:
        """Read the commits up to the base, which are not replayed. Return the last one and the rows of all.

        The state after the last one is that of the base. Going back, it stays the same until a commit changes it;
        before, it is not known.
        """
        history, versions = self.history, self.plan.earlier_commits
        unknown = TableState(self.options.revision)
        unknown.lose({None})
        state, read = self.state, dict[int, tuple[LogSummary, TableState]]()
        descending = versions[::-1]
        for version, log in zip(descending, self._iter_commits(descending), strict=True):
            file = commit_file(version)
            if isinstance(log, StorageError):
                self.findings.mark_undecided((log_files.lines, log_files.commits, *ACTION_VIEWS), str(log), file)
                state, history.earlier_known_from = unknown, max(history.earlier_known_from, version + 1)
                continue
            for reason in log.unread:
                self.findings.mark_undecided((log_files.lines, log_files.commits, *ACTION_VIEWS), reason, file)
            if log.undecoded_kinds:
                history.earlier_known_from = max(history.earlier_known_from, version + 1)
            read[version] = log, state
            history.remember_digest(version, log)
            context = state.file_context(self.store.root)
            self._put_commit_files(file, version, context, EARLIER_ROWS)
            if version in self.plan.compared_versions:  # of the version of the base, all is known
                known = TableActions(state.protocol, state.metadata), context
                history.compared_states.setdefault(version, known)
            if log.undecoded_kinds or any(isinstance(action, STATE_ACTIONS) for _, action in log.actions):
                state = unknown
        self._end_commits()
        return self._check_earlier_commits(read)

    def _check_earlier_commits(
        self, read: dict[int, tuple[LogSummary, TableState]]
    ) -> tuple[PreviousCommit, list[Row]]:
        """Check the actions of earlier commits, given with the state after each. Return the last one and all rows."""
        previous, rows = PreviousCommit(), list[Row]()
        own_actions = TableState(self.options.revision)
        own_actions.lose({None})
        for version in self.plan.earlier_commits:
            if version not in read:
                previous = PreviousCommit()
                continue
            (log, state), file = read[version], commit_file(version)
            row = build_commit_row(version, file, log, previous, state)
            row |= dict.fromkeys(state.columns.changes)  # those of the base compared with nothing
            previous.follow(row)
            rows.append(row)
            self.history.commit_facts[version] = CommitFacts.from_row(row)
            actions = [(version, action) for _, action in log.actions if not isinstance(action, CommitInfo)]
            self.history.earlier_table_actions += actions
            if self.plan.base is None or version < self.plan.base.version:  # the base has the others
                own_actions.apply(version, file, log.actions)
        self._continue_with_base(own_actions)
        for view in STATE_VIEWS:
            self.findings.evaluate_rows(view, own_actions.rows[view.name])
        return previous, rows

    def _continue_with_base(self, state: TableState) -> None:
        """Apply the base after the earlier commits that lead to it: a fault that they had is not new in it."""
        base = self.plan.base
        if base is not None and state.known_version == base.version - 1:
            self._evaluated_base = f"{LOG_DIRECTORY}/{base.files[0]}"
            state.apply(base.version, self._evaluated_base, self._base_lines)

    def _read_commits(self, previous: PreviousCommit, rows: list[Row]) -> None:
        """Replay the commits; `previous` and `rows` are those of the commits before them."""
        history = self.history
        commits = self._iter_commits(self.plan.commits)
        for index, version in enumerate(self.plan.commits):
            if index % 200 == 0:
                self.progress("commits", index, len(self.plan.commits))
            if version in self.plan.commits_after_gaps:
                self._lose_commit(f"commits before version {version} are missing", None)
            file = commit_file(version)
            log = next(commits)
            if isinstance(log, StorageError):
                self.findings.mark_undecided((log_files.lines, log_files.commits, *ACTION_VIEWS), str(log), file)
                self._lose_commit(str(log), file)
                self._remember(version)
                previous = PreviousCommit()
                continue
            self._mark_undecoded_lines(file, log)
            if not log.undecoded_kinds <= ACTIONS_OF_ONE_COMMIT:
                history.undecoded_commits.append(version)
            history.remember_digest(version, log)
            rewrites_files = self.options.level == "rows" and log.kinds["add"] and log.kinds["remove"]
            if rewrites_files and log.kinds["metaData"]:
                history.schemas_before[version] = history.share_schema()
            self.state.apply(version, file, log.actions)
            history.table_actions += [(version, a) for _, a in log.actions if not isinstance(a, CommitInfo)]
            history.operations[version] = find_operation(log.actions)
            history.stated_row_ids[version] = StatedRowIds.from_actions(
                log.actions, log.undecoded_kinds, self.options.revision
            )
            self._put_commit_files(file, version, self.state.file_context(self.store.root))
            has_change_data = self.options.level != "log" and log.has_cdc
            if has_change_data:
                history.versions_with_change_data.append(version)
            if rewrites_files or has_change_data:
                history.schemas[version] = history.share_schema()
            row = build_commit_row(version, file, log, previous, self.state)
            row["file_time_before"] = file_time_before(self.plan, row)
            previous.follow(row)
            rows.append(row)
            history.commit_facts[version] = CommitFacts.from_row(row)
            self._remember(version)
        mark_repeated_transaction_ids(rows)
        self.findings.evaluate_rows(log_files.commits, rows)
        self._end_commits()
        self.progress("commits", len(self.plan.commits), len(self.plan.commits))

    def _mark_undecoded_lines(self, file: str, log: LogSummary) -> None:
        """Record what the lines of a commit that could not be decoded leave undecided, all with one reason."""
        undecoded = log.undecoded_kinds
        if not undecoded:
            return
        reason = next(iter(log.unread), "a line cannot be decoded")
        if log.unread:
            self.findings.mark_undecided((log_files.lines, *ACTION_VIEWS), reason, file)
        if undecoded & {"add", "remove", None}:
            self.block_replay(reason, file)
        if "cdc" in undecoded:
            self.findings.mark_undecided((change_commits, change_files, data_files, file_columns), reason, file)
        if undecoded & {"commitInfo", None}:
            self.findings.mark_undecided((log_files.commits,), reason, file)
        self._lose_state(undecoded, reason, file)

    def _remember(self, version: int) -> None:
        """Keep the state at a version for which there is a derived file."""
        if version not in self.plan.compared_versions:
            return
        state = self.state
        retained = state.metadata is not None and any(
            name.endswith("setTransactionRetentionDuration") for name in state.metadata.configuration
        )
        actions = TableActions(
            state.protocol,
            state.metadata,
            dict(state.transactions) if state.transactions_known else None,
            dict(state.domains) if state.domains_known else None,
            row_id_high_water_marks(state.row_id_mark) if state.row_id_mark_known else None,
            transactions_may_expire=retained,
            is_complete=self.plan.base is None,
        )
        self.history.compared_states[version] = (actions, state.file_context(self.store.root))

    def _lose_state(self, kinds: Set[str | None], reason: str, file: str | None) -> None:
        """Record that actions of these kinds in a file cannot be decoded: what they change is undecided."""
        self.state.lose(kinds, (reason, file))
        self.findings.mark_lost_actions(kinds, reason, file)

    def _lose_commit(self, reason: str, file: str | None) -> None:
        """Record that commits are unknown, and with them the state that they made."""
        self._lose_state({None}, reason, file)
        self.block_replay(reason, file)

    def _mark_unchecked_features(self, state: TableState) -> None:
        """Mark the features that the kit does not check; older revisions refuse a table with unknown features."""
        found = {name: get_unchecked_effect(name) for name in sorted(state.listed_features)}
        unchecked = [(name, effect) for name, effect in found.items() if effect is not None]
        accepted = self.options.accepts_feature
        unchecked.sort(key=lambda each: accepted(each[0]))  # those that are not accepted are never left out
        for name, effect in unchecked[:MAX_FEATURES_SHOWN] if self.options.revision is Revision.CURRENT else ():
            shown = escape_text(bound_text(name))
            self.findings.mark_feature_unchecked(shown, f"feature {shown} is not checked; it may affect {effect}")

    def _mark_unread_schemas_undecided(self) -> None:
        """Mark schemas that are nested too deeply to be read: no revision limits the depth, so they may be valid."""
        for row in self.state.rows[table_state.metadata.name]:
            if row["schema_fault"] == "too deep":
                views = (table_state.metadata, table_state.schema_fields)
                self.findings.mark_undecided(views, row["schema_fault_pointer"], row["file"])


def describe_unknown_readers(needed: Collection[str]) -> str:
    """Return why replay cannot be trusted if readers need these features or this version."""
    return f"readers need {', '.join(needed)}, which may change replay"


def commit_file(version: int) -> str:
    """Return the path of a commit, relative to the table."""
    return f"{LOG_DIRECTORY}/{commit_name(version)}"
