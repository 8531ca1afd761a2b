"""Facts about the log of a table, as immutable values that executors receive.

`ReadContext` is known before the log is read, `LogFacts` afterwards. Both are small compared with the table: file
actions are rows in the buckets. `LogFactsBuilder` collects the facts meanwhile.
"""

from __future__ import annotations

import msgspec

from deltaspec.protocol.actions import WireStruct
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.log.derived_file_types import DerivedFileActions
from deltaspec.validation.log.staged_files import StagedFiles
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.validation.since import EarlierReport, shorten_digest
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.views.files.row_id_history import StatedRowIds
from deltaspec.views.log.derived_file_rows import CommitFacts
from deltaspec.views.log.replay_differences import TableActions, row_id_high_water_marks
from deltaspec.views.table.state import TableState
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store


class ReadContext(msgspec.Struct, frozen=True):
    """Inputs of reading the log: the table, the plan and the options."""

    store: Store
    plan: Plan
    options: Options
    compares_files: bool
    """Replay keeps the columns in which the file actions of derived files are compared."""


class LogFacts(ReadContext, frozen=True):
    """Facts of the validated history, without its file actions."""

    state: TableState
    """State of the table at the validated version, with the rows of the views of earlier versions."""
    operations: dict[int, str | None]
    """Operation that each commit states."""
    stated_row_ids: dict[int, StatedRowIds]
    """Row ids that each commit states."""
    base_actions: list[WireStruct]
    """Table actions of the checkpoint that the validated history begins with."""
    table_actions: list[tuple[int, WireStruct]]
    """Version and action of the table actions of all commits."""
    compared_states: dict[int, tuple[TableActions, FileContext]]
    """State of the table at the versions of derived files."""
    commit_facts: dict[int, CommitFacts]
    schemas: dict[int, TableSchema | None]
    """Schema at each version with change data, at level `rows` also at each version that adds and removes files; None
    if it is not known."""
    schemas_before: dict[int, TableSchema | None]
    """Schema before each of these versions that may change it; None if it is not known."""
    versions_with_change_data: list[int]
    multipart: dict[str, tuple[str, ...]]
    """Files of each multipart checkpoint, by the tag of its rows."""
    earlier_table_actions: list[tuple[int, WireStruct]]
    """Version and action of the table actions of `plan.earlier_commits`, ascending."""
    earlier_known_from: int
    """First version from which every earlier commit could be decoded."""
    undecoded_commits: list[int]
    """Replayed commits with an undecodable action that reconciliation keeps, ascending."""
    base_is_complete: bool
    replay_blocked_reason: str | None
    """Why the result of replay cannot be trusted; None if it can."""
    replay_blocked_file: str | None
    """File that the reason concerns."""
    commit_sha256: str | None
    """SHA-256 of the commit file of the validated version; None if it is not known."""
    commit_digests: dict[int, str]
    """First half of the SHA-256 of each commit, by version; commits that were read as a stream have none."""
    derived_files: tuple[DerivedFileActions, ...] = ()
    since: EarlierReport | None = None
    """Only files after the version of this report are checked; None if all are."""
    staged_files: StagedFiles = StagedFiles()
    """What staged commits of a catalog-managed table name; known when the files outside the log were checked."""
    listing_error: str | None = None
    """Why the directories of the table could not be listed completely."""
    constraints_on_spark: bool = False
    """Spark evaluates the row constraints of the table."""
    bucket_count: int = 1
    """Number of buckets over which the files of the table are distributed."""


class LogFactsBuilder:
    """Collects `LogFacts` while the log is being read."""

    def __init__(self, context: ReadContext) -> None:
        self.context = context
        self.state = TableState(context.options.revision)
        self.operations: dict[int, str | None] = {}
        self.stated_row_ids: dict[int, StatedRowIds] = {}
        self.base_actions: list[WireStruct] = []
        self.table_actions: list[tuple[int, WireStruct]] = []
        self.compared_states: dict[int, tuple[TableActions, FileContext]] = {}
        self.commit_facts: dict[int, CommitFacts] = {}
        self.schemas: dict[int, TableSchema | None] = {}
        self.schemas_before: dict[int, TableSchema | None] = {}
        self._schema: TableSchema | None = None
        self.versions_with_change_data: list[int] = []
        self.multipart: dict[str, tuple[str, ...]] = {}
        self.earlier_table_actions: list[tuple[int, WireStruct]] = []
        self.earlier_known_from = 0
        self.undecoded_commits: list[int] = []
        self.base_is_complete = context.plan.base is not None
        self.replay_blocked_reason: str | None = None
        self.replay_blocked_file: str | None = None
        self.commit_sha256: str | None = None
        self.commit_digests: dict[int, str] = {}

    def share_schema(self) -> TableSchema | None:
        """Return the current schema: the same object as for an earlier version if it has not changed."""
        schema, last = self.state.table_schema, self._schema
        if schema is None or last is None or schema.schema is not last.schema or schema != last:
            self._schema = schema
        return self._schema

    def remember_digest(self, version: int, log: LogSummary) -> None:
        """Record the digest of a commit."""
        if log.sha256 is not None:
            self.commit_digests[version] = shorten_digest(log.sha256)
        if version == self.context.plan.version:
            self.commit_sha256 = log.sha256

    def remember_parts(self, checkpoint: Checkpoint, tag: str) -> None:
        """Keep the files of a multipart checkpoint, whose rows have a tag."""
        if len(checkpoint.files) > 1:
            self.multipart[tag] = tuple(f"{LOG_DIRECTORY}/{name}" for name in checkpoint.files)

    def remember_state(self, version: int) -> None:
        """Keep the current state, if there is a derived file of its version."""
        if version not in self.context.plan.compared_versions:
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
            is_complete=self.context.plan.base is None,
        )
        self.compared_states[version] = (actions, state.file_context(self.context.store.root))

    def build(self, derived_files: tuple[DerivedFileActions, ...] = ()) -> LogFacts:
        """Return what has been collected so far."""
        context = self.context
        return LogFacts(
            store=context.store,
            plan=context.plan,
            options=context.options,
            compares_files=context.compares_files,
            state=self.state,
            operations=self.operations,
            stated_row_ids=self.stated_row_ids,
            base_actions=self.base_actions,
            table_actions=self.table_actions,
            compared_states=self.compared_states,
            commit_facts=self.commit_facts,
            schemas=self.schemas,
            schemas_before=self.schemas_before,
            versions_with_change_data=self.versions_with_change_data,
            multipart=self.multipart,
            earlier_table_actions=self.earlier_table_actions,
            earlier_known_from=self.earlier_known_from,
            undecoded_commits=self.undecoded_commits,
            base_is_complete=self.base_is_complete,
            replay_blocked_reason=self.replay_blocked_reason,
            replay_blocked_file=self.replay_blocked_file,
            commit_sha256=self.commit_sha256,
            commit_digests=self.commit_digests,
            derived_files=derived_files,
        )
