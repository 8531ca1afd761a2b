"""A run that reads a log: it steps through the judged history and deals its file actions to shares.

How bytes become actions, and where, is the engine's: `EmbeddedRun` in this process, `SparkRun` on executors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import polars as pl

from deltaspec.model.actions import CommitInfo
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.report.report_types import Inventory
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import ACTION_VIEWS, Run
from deltaspec.validation.buckets import Buckets
from deltaspec.validation.data.data_stages import check_data
from deltaspec.validation.data.variant_checks import check_variant_uses
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.added_vector_checks import find_operation
from deltaspec.validation.log.checkpoint_checks import check_checkpoint
from deltaspec.validation.log.derived_files import DerivedFiles
from deltaspec.validation.log.file_times import file_time_before
from deltaspec.validation.log.log_listing_checks import check_log_listing
from deltaspec.validation.log.replay_stage import REPLAY_ROWS, replay_and_check
from deltaspec.validation.log.type_change_checks import check_type_changes
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.row_id_history import StatedRowIds
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checkpoints, checksums, replay_differences, sidecars
from deltaspec.views.log.derived_file_rows import CommitFacts
from deltaspec.views.log.log_file_rows import PreviousCommit, build_commit_row
from deltaspec.views.log.replay_differences import TableActions, row_id_high_water_marks
from deltaspec.views.table import table_actions as table_state
from deltaspec.views.table.state import VIEW_NAMES, Row
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

STATE_VIEWS = tuple(getattr(table_state, name) for name in VIEW_NAMES)


class LogRun(Run, ABC):
    """One run over one table, from its log to its findings. `judge` may be called once."""

    buckets: Buckets
    inventory: Inventory | None = None
    reads: dict[Checkpoint, ParsedCheckpoint]
    """What was read of every checkpoint."""

    def judge(self) -> Findings:
        """Read the log, run the rules."""
        try:
            return self._judge()
        finally:
            self.buckets.close()

    def _judge(self) -> Findings:
        aggregates = self._judge_log()
        if aggregates is not None and self.level != "log":
            self.inventory = check_data(self, self.buckets, aggregates)
        return self.findings

    def _judge_log(self) -> Aggregates | None:
        """Look at the log; gives what the shares say of the table's files, None where the table is refused."""
        derived_files = self._read_log()
        if derived_files is None:
            return None
        aggregates = replay_and_check(self, self.buckets)
        if self.plan.base is not None:
            self._look_at_base(self.plan.base, aggregates)
        derived_files.check(aggregates)
        check_type_changes(self, aggregates)
        check_variant_uses(self)
        return aggregates

    def _read_log(self) -> DerivedFiles | None:
        """Read the log, and deal its file actions to the shares; None where the table is refused."""
        self.read_history()
        for view in STATE_VIEWS:
            self.findings.evaluate_rows(view, self.state.rows[view.name])
        if self.state.refusal is not None:
            reason = f"revision {self.revision} refuses the table: {self.state.refusal.why}"
            self.findings.discard_findings(reason, except_views=(table_state.protocols, table_state.features))
            return None
        self._doubt_unread_schemas()
        check_log_listing(self)
        derived_files = DerivedFiles(self)
        derived_files.read()
        self.finalize()
        derived_files.finalize()
        return derived_files

    def read_history(self) -> None:
        """Read the judged history: the state of the table version by version, its file actions to the shares."""
        if self.plan.base is not None:
            self._take_base(self.plan.base)
        self._take_commits()
        unknown = self.state.unknown_reader_features
        if unknown:
            self.block_replay(f"readers need {', '.join(unknown)}, which is unknown", None)

    # what an engine does

    @abstractmethod
    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        """Read a checkpoint that is to equal replay, and deal its file actions with a tag; these now or in `settle`."""

    @abstractmethod
    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        """The same for a log compaction. Raises `StorageError`."""

    def finalize(self) -> None:
        """BucketWriter what is not dealt yet, and enter what of the base could not be read."""
        base = self.plan.base
        if base is not None and not self.reads[base].is_complete:
            name = base.files[0]
            self.block_replay(f"the checkpoint {name} cannot be read as a whole", f"{LOG_DIRECTORY}/{name}")

    @abstractmethod
    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        """Read the table actions of the checkpoint that the judged history begins with."""

    @abstractmethod
    def _deal_base(self, read: ParsedCheckpoint, context: FileContext) -> None:
        """Look at its file actions, and deal them; now or in `settle`."""

    @abstractmethod
    def _commits(self) -> Iterator[LogSummary | StorageError]:
        """Every commit of the plan, in order, or why it cannot be read."""

    @abstractmethod
    def _deal_files(self, file: str, version: int, context: FileContext, summary: LogSummary) -> None:
        """Look at the file actions of a commit, and deal them; now or in `settle`."""

    @abstractmethod
    def _end_of_commits(self) -> None:
        """Every commit was taken."""

    def put_rows(self, tag: str, rows: pl.DataFrame, places: pl.Series | None = None) -> None:
        """BucketWriter rows of file actions."""
        self.buckets.put(tag, rows, places)

    # the judged history

    def _take_base(self, base: Checkpoint) -> None:
        read = self._read_base(base)
        self.base_actions = [action for _, _, action in read.actions]
        self.state.apply(
            base.version, f"{LOG_DIRECTORY}/{base.files[0]}", [(line, action) for _, line, action in read.actions]
        )
        self.state.lose({fault.kind for _, _, fault in read.faults})
        unread = read.storage_error or read.unreadable
        if unread is not None:  # what is read of its actions may not be all of them
            self.state.lose({None})
            self.findings.mark_undecided(STATE_VIEWS, unread, f"{LOG_DIRECTORY}/{base.files[0]}")
        self.register_parts(base, REPLAY_ROWS)
        self._deal_base(read, self.state.file_context(self.store.root))
        self._remember(base.version)

    def register_parts(self, checkpoint: Checkpoint, tag: str) -> None:
        """Remember the files of a checkpoint of several parts."""
        if len(checkpoint.files) > 1:
            self.multipart[tag] = tuple(f"{LOG_DIRECTORY}/{name}" for name in checkpoint.files)

    def _look_at_base(self, base: Checkpoint, aggregates: Aggregates) -> None:
        read = self.reads[base]
        read.split_paths = aggregates.split_paths[REPLAY_ROWS] if REPLAY_ROWS in self.multipart else None
        check_checkpoint(self.findings, read, is_base=True)

    def mark_checkpoint_undecided(self, read: ParsedCheckpoint) -> None:
        """Enter what storage did not give of a checkpoint, once that is known."""
        if read.storage_error:
            file = f"{LOG_DIRECTORY}/{read.checkpoint.files[0]}"
            self.findings.mark_undecided((checkpoints, sidecars, *ACTION_VIEWS), read.storage_error, file)

    def _take_commits(self) -> None:
        before = PreviousCommit()
        rows: list[Row] = []
        commits = self._commits()
        for index, version in enumerate(self.plan.commits):
            if index % 200 == 0:
                self.progress("commits", index, len(self.plan.commits))
            if version in self.plan.commits_after_gaps:
                self._lose_versions(version)
            file = commit_file(version)
            log = next(commits)
            if isinstance(log, StorageError):
                self.block_replay(str(log), file)
                self.findings.mark_undecided(
                    (log_files.lines, log_files.commits, *ACTION_VIEWS, *STATE_VIEWS), str(log), file
                )
                self._lose_versions(version)
                before = PreviousCommit()
                continue
            self._doubt_lines(file, log)
            self.state.lose(log.undecoded_kinds)
            self.state.apply(version, file, log.actions)
            self.table_actions += [(version, a) for _, a in log.actions if not isinstance(a, CommitInfo)]
            self.operations[version] = find_operation(log.actions)
            self.stated_row_ids[version] = StatedRowIds.from_actions(log.actions, log.undecoded_kinds, self.revision)
            self._deal_files(file, version, self.state.file_context(self.store.root), log)
            if self.level != "log" and log.has_cdc:
                self.schemas[version] = self.state.table_schema
            row = build_commit_row(version, file, log, before, self.state)
            row["file_time_before"] = file_time_before(self.plan, row)
            before.follow(row)
            rows.append(row)
            self.commit_facts[version] = CommitFacts.from_row(row)
            self._remember(version)
        self.findings.evaluate_rows(log_files.commits, rows)
        self._end_of_commits()
        self.progress("commits", len(self.plan.commits), len(self.plan.commits))

    def _doubt_lines(self, file: str, log: LogSummary) -> None:
        for reason in log.unread:
            self.findings.mark_undecided((log_files.lines, log_files.commits, *ACTION_VIEWS), reason, file)
            self.block_replay(reason, file)
        undecoded = log.undecoded_kinds
        if undecoded & {"add", "remove", None}:
            self.block_replay("an action that cannot be decoded", file)
        if undecoded & {"protocol", "metaData", None}:
            self.findings.mark_undecided((replay_differences, checksums), "a state that cannot be decoded", file)
        if undecoded & {"txn", "domainMetadata"}:
            self.findings.mark_undecided((replay_differences,), "an action that cannot be decoded", file)
        if None in undecoded:
            self.findings.mark_undecided((log_files.commits,), "a line that cannot be decoded", file)

    def _remember(self, version: int) -> None:
        """Keep the state at versions that a claim is compared at."""
        if version not in self.plan.compared_versions:
            return
        retained = self.state.metadata is not None and any(
            name.endswith("setTransactionRetentionDuration") for name in self.state.metadata.configuration
        )
        actions = TableActions(
            self.state.protocol,
            self.state.metadata,
            dict(self.state.transactions) if self.state.transactions_known else None,
            dict(self.state.domains) if self.state.domains_known else None,
            row_id_high_water_marks(self.state.row_id_mark) if self.state.row_id_mark_known else None,
            transactions_may_expire=retained,
        )
        self.compared_states[version] = (actions, self.state.file_context(self.store.root))

    def _lose_versions(self, version: int) -> None:
        """Commits before this one are unknown: nothing is known of the state but what still comes."""
        self.state.lose({None})
        self.block_replay(f"commits before version {version} are missing", None)

    def _doubt_unread_schemas(self) -> None:
        """A schema beyond the depth that is read may be sound: no text bounds it."""
        for row in self.state.rows[table_state.metadata.name]:
            if row["schema_fault"] == "too deep":
                views = (table_state.metadata, table_state.schema_fields)
                self.findings.mark_undecided(views, row["schema_fault_pointer"], row["file"])


def commit_file(version: int) -> str:
    """Path of a commit, relative to the table."""
    return f"{LOG_DIRECTORY}/{commit_name(version)}"
