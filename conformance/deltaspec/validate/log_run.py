"""A run that reads a log: it steps through the judged history and deals its file actions to shares.

How bytes become actions, and where, is the engine's: `EmbeddedRun` in this process, `SparkRun` on executors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import polars as pl

from deltaspec.model.actions import CommitInfo
from deltaspec.model.file_names import commit_name
from deltaspec.model.segment import Checkpoint
from deltaspec.report.values import Inventory
from deltaspec.validate.added_vectors import operation_of
from deltaspec.validate.base_run import ACTION_VIEWS, Run
from deltaspec.validate.checkpoints import look_at_checkpoint
from deltaspec.validate.claims import Claims
from deltaspec.validate.data_stages import look_at_data
from deltaspec.validate.file_times import file_time_before
from deltaspec.validate.findings import Findings
from deltaspec.validate.listing import look_at_listing
from deltaspec.validate.path_stage import CHAIN_ROWS, look_at_log
from deltaspec.validate.shares import Shares
from deltaspec.validate.sums import Sums
from deltaspec.validate.type_changes import look_at_type_changes
from deltaspec.validate.variants import look_at_variant_uses
from deltaspec.views import log_files, table_state
from deltaspec.views.checkpoints import checkpoint_rows, checkpoints, checksums, sidecars
from deltaspec.views.claim_facts import CommitFacts
from deltaspec.views.differences import TableActions, row_id_marks
from deltaspec.views.file_facts import FileContext
from deltaspec.views.log_facts import CommitContext, commit_row
from deltaspec.views.row_id_history import CommitClaims
from deltaspec.views.state import VIEW_NAMES, Row
from deltaspec.wire.checkpoint_files import CheckpointRead
from deltaspec.wire.log_lines import LogSummary
from deltaspec.wire.storage import LOG, StorageError

STATE_VIEWS = tuple(getattr(table_state, name) for name in VIEW_NAMES)


class LogRun(Run, ABC):
    """One run over one table, from its log to its findings. `judge` may be called once."""

    shares: Shares
    inventory: Inventory | None = None
    reads: dict[Checkpoint, CheckpointRead]
    """What was read of every checkpoint."""

    def judge(self) -> Findings:
        """Read the log, run the rules."""
        try:
            return self._judge()
        finally:
            self.shares.close()

    def _judge(self) -> Findings:
        sums = self._judge_log()
        if sums is not None and self.level != "log":
            self.inventory = look_at_data(self, self.shares, sums)
        return self.findings

    def _judge_log(self) -> Sums | None:
        """Look at the log; gives what the shares say of the table's files, None where the table is refused."""
        claims = self._read_log()
        if claims is None:
            return None
        sums = look_at_log(self, self.shares)
        if self.plan.base is not None:
            self._look_at_base(self.plan.base, sums)
        claims.finish(sums)
        look_at_type_changes(self, sums)
        look_at_variant_uses(self)
        return sums

    def _read_log(self) -> Claims | None:
        """Read the log, and deal its file actions to the shares; None where the table is refused."""
        self.read_history()
        for view in STATE_VIEWS:
            self.findings.look_at_rows(view, self.state.rows[view.name])
        if self.state.refusal is not None:
            reason = f"revision {self.revision} refuses the table: {self.state.refusal.why}"
            self.findings.withdraw(reason, but=(table_state.protocols, table_state.features))
            return None
        self._doubt_unread_schemas()
        look_at_listing(self)
        claims = Claims(self)
        claims.read()
        self.settle()
        claims.settle()
        return claims

    def read_history(self) -> None:
        """Read the judged history: the state of the table version by version, its file actions to the shares."""
        if self.plan.base is not None:
            self._take_base(self.plan.base)
        self._take_commits()
        unknown = self.state.unknown_reader_features
        if unknown:
            self.doubt_files(f"readers need {', '.join(unknown)}, which is unknown", None)

    # what an engine does

    @abstractmethod
    def take_claim(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> CheckpointRead:
        """Read a checkpoint that is to equal replay, and deal its file actions with a tag; these now or in `settle`."""

    @abstractmethod
    def take_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        """The same for a log compaction. Raises `StorageError`."""

    def settle(self) -> None:
        """Deal what is not dealt yet, and enter what of the base could not be read."""
        base = self.plan.base
        if base is not None and not self.reads[base].is_whole:
            name = base.files[0]
            self.doubt_files(f"the checkpoint {name} cannot be read as a whole", f"{LOG}/{name}")

    @abstractmethod
    def _read_base(self, base: Checkpoint) -> CheckpointRead:
        """Read the table actions of the checkpoint that the judged history begins with."""

    @abstractmethod
    def _deal_base(self, read: CheckpointRead, context: FileContext) -> None:
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
        """Deal rows of file actions."""
        self.shares.put(tag, rows, places)

    # the judged history

    def _take_base(self, base: Checkpoint) -> None:
        read = self._read_base(base)
        self.base_actions = [action for _, _, action in read.actions]
        self.state.apply(base.version, f"{LOG}/{base.files[0]}", [(line, action) for _, line, action in read.actions])
        self.state.lose({fault.kind for _, _, fault in read.faults})
        unread = read.not_read or read.unreadable
        if unread is not None:  # what is read of its actions may not be all of them
            self.state.lose({None})
            self.findings.doubt(STATE_VIEWS, unread, f"{LOG}/{base.files[0]}")
        self.note_parts(base, CHAIN_ROWS)
        self._deal_base(read, self.state.file_context(self.store.root))
        self._remember(base.version)

    def note_parts(self, checkpoint: Checkpoint, tag: str) -> None:
        """Remember the files of a checkpoint of several parts."""
        if len(checkpoint.files) > 1:
            self.multipart[tag] = tuple(f"{LOG}/{name}" for name in checkpoint.files)

    def _look_at_base(self, base: Checkpoint, sums: Sums) -> None:
        read = self.reads[base]
        read.split_paths = sums.split_paths[CHAIN_ROWS] if CHAIN_ROWS in self.multipart else None
        look_at_checkpoint(self.findings, read, is_base=True)

    def doubt_read(self, read: CheckpointRead) -> None:
        """Enter what storage did not give of a checkpoint, once that is known."""
        if read.not_read:
            file = f"{LOG}/{read.checkpoint.files[0]}"
            self.findings.doubt((checkpoints, sidecars, *ACTION_VIEWS), read.not_read, file)

    def _take_commits(self) -> None:
        before = CommitContext()
        rows: list[Row] = []
        commits = self._commits()
        for index, version in enumerate(self.plan.commits):
            if index % 200 == 0:
                self.progress("commits", index, len(self.plan.commits))
            if version in self.plan.missing_after:
                self._lose_versions(version)
            file = commit_file(version)
            log = next(commits)
            if isinstance(log, StorageError):
                self.doubt_files(str(log), file)
                self.findings.doubt((log_files.lines, log_files.commits, *ACTION_VIEWS, *STATE_VIEWS), str(log), file)
                self._lose_versions(version)
                before = CommitContext()
                continue
            self._doubt_lines(file, log)
            self.state.lose(log.undecoded_kinds)
            self.state.apply(version, file, log.actions)
            self.table_actions += [(version, a) for _, a in log.actions if not isinstance(a, CommitInfo)]
            self.operations[version] = operation_of(log.actions)
            self.row_id_claims[version] = CommitClaims.of(log.actions, log.undecoded_kinds, self.revision)
            self._deal_files(file, version, self.state.file_context(self.store.root), log)
            if self.level != "log" and log.has_cdc:
                self.schemas[version] = self.state.table_schema
            row = commit_row(version, file, log, before, self.state)
            row["file_time_before"] = file_time_before(self.plan, row)
            before.follow(row)
            rows.append(row)
            self.commit_facts[version] = CommitFacts.of(row)
            self._remember(version)
        self.findings.look_at_rows(log_files.commits, rows)
        self._end_of_commits()
        self.progress("commits", len(self.plan.commits), len(self.plan.commits))

    def _doubt_lines(self, file: str, log: LogSummary) -> None:
        for reason in log.unread:
            self.findings.doubt((log_files.lines, log_files.commits, *ACTION_VIEWS), reason, file)
            self.doubt_files(reason, file)
        undecoded = log.undecoded_kinds
        if undecoded & {"add", "remove", None}:
            self.doubt_files("an action that cannot be decoded", file)
        if undecoded & {"protocol", "metaData", None}:
            self.findings.doubt((checkpoint_rows, checksums), "a state that cannot be decoded", file)
        if undecoded & {"txn", "domainMetadata"}:
            self.findings.doubt((checkpoint_rows,), "an action that cannot be decoded", file)
        if None in undecoded:
            self.findings.doubt((log_files.commits,), "a line that cannot be decoded", file)

    def _remember(self, version: int) -> None:
        """Keep the state at versions that a claim is compared at."""
        if version not in self.plan.claimed_versions:
            return
        retained = self.state.metadata is not None and any(
            name.endswith("setTransactionRetentionDuration") for name in self.state.metadata.configuration
        )
        actions = TableActions(
            self.state.protocol,
            self.state.metadata,
            dict(self.state.transactions) if self.state.transactions_known else None,
            dict(self.state.domains) if self.state.domains_known else None,
            row_id_marks(self.state.row_id_mark) if self.state.row_id_mark_known else None,
            transactions_may_expire=retained,
        )
        self.states[version] = (actions, self.state.file_context(self.store.root))

    def _lose_versions(self, version: int) -> None:
        """Commits before this one are unknown: nothing is known of the state but what still comes."""
        self.state.lose({None})
        self.doubt_files(f"commits before version {version} are missing", None)

    def _doubt_unread_schemas(self) -> None:
        """A schema beyond the depth that is read may be sound: no text bounds it."""
        for row in self.state.rows[table_state.metadata.name]:
            if row["schema_fault"] == "too deep":
                views = (table_state.metadata, table_state.schema_fields)
                self.findings.doubt(views, row["schema_fault_pointer"], row["file"])


def commit_file(version: int) -> str:
    """Path of a commit, relative to the table."""
    return f"{LOG}/{commit_name(version)}"
