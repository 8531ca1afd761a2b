"""The embedded driver: one process, Arrow and Polars, the log read once and in order.

Rules that read their own row run batch by batch while the log streams by; what replay needs of the file actions is
kept in narrow columns. What cannot be read or decoded puts the views that depend on it in doubt, so that one fault
gives one finding and not a cascade.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.model.actions import CommitInfo, Wire
from deltaspec.model.file_names import commit_name
from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.report.values import Inventory
from deltaspec.rules.registry import Rule
from deltaspec.validate.added_vectors import look_at_added_vectors, operation_of
from deltaspec.validate.bare_adds import look_at_bare_adds
from deltaspec.validate.checkpoints import look_at_checkpoint
from deltaspec.validate.claims import Claims
from deltaspec.validate.data import DataRun
from deltaspec.validate.file_times import file_time_before
from deltaspec.validate.findings import Findings
from deltaspec.validate.listing import look_at_listing
from deltaspec.validate.plan import Plan
from deltaspec.validate.row_id_history import suspended_since, tables_begin
from deltaspec.validate.row_ids import look_at_row_id_ranges
from deltaspec.validate.type_changes import look_at_type_changes
from deltaspec.validate.variants import look_at_variant_uses
from deltaspec.views import log_files, table_state
from deltaspec.views.added_vectors import added_vectors
from deltaspec.views.bare_adds import bare_adds, bare_rows
from deltaspec.views.base import Level
from deltaspec.views.checkpoint_parts import PartFacts
from deltaspec.views.checkpoints import checkpoint_rows, checkpoints, checksums, sidecars
from deltaspec.views.claim_facts import CommitFacts
from deltaspec.views.differences import TableActions, row_id_marks
from deltaspec.views.file_actions import deletion_vectors, file_actions, file_history
from deltaspec.views.file_facts import FileContext, Provenance, deletion_vectors_of, file_actions_of, file_facts
from deltaspec.views.file_pairs import history_of_commits
from deltaspec.views.file_replay import CHAIN, DATA_CHAIN, chain_frame, chain_rows, live_at, spans
from deltaspec.views.log_facts import CommitContext, commit_row, fault_row, line_rows
from deltaspec.views.rearrangements import rearrangements, rearranging_commits
from deltaspec.views.row_id_history import CommitClaims
from deltaspec.views.snapshot import snapshot_files, snapshot_rows
from deltaspec.views.state import VIEW_NAMES, Row, TableSchema, TableState
from deltaspec.wire.checkpoint_files import CheckpointRead, read_checkpoint, runs
from deltaspec.wire.file_rows import FILE_ROWS, FileRows
from deltaspec.wire.log_lines import MAX_LINE_BYTES, LogFile, read_line_stream, read_lines
from deltaspec.wire.storage import LOG, StorageError, Store, read_in_order
from deltaspec.wire.storage import read_lines as stream_lines

BATCH_ROWS = 50_000
WHOLE_FILE_BYTES = 64 << 20
"""Larger commits are read as a stream of lines."""

_FILE_VIEWS = (file_history, added_vectors, bare_adds, checkpoint_rows, checksums, snapshot_files)
_STATE_VIEWS = tuple(getattr(table_state, name) for name in VIEW_NAMES)


class EmbeddedRun:
    """One run over one table. `judge` may be called once."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        rules: list[Rule],
        samples: int,
        progress: Callable[[str, int, int | None], None],
        *,
        level: Level = "log",
        revision: Revision = Revision.CURRENT,
        clock_ms: int | None = None,
        allow_outside: bool = False,
    ) -> None:
        self.store = store
        self.plan = plan
        self.revision = revision
        self.findings = Findings(rules, samples, revision)
        self.state = TableState(revision)
        self.progress = progress
        self.level: Level = level
        self.clock_ms = clock_ms
        """A moment after the last file of the table was written, by which retention is judged; None: it is not."""
        self.allow_outside = allow_outside
        self.compared = bool(plan.claims or plan.compactions)
        self.chain: list[pl.DataFrame] = []
        self.cdcs: list[pl.DataFrame] = []
        self.operations: dict[int, str | None] = {}
        """What each commit says it does."""
        self.row_id_claims: dict[int, CommitClaims] = {}
        """What each commit says of row ids."""
        self.reads: dict[Checkpoint, CheckpointRead] = {}
        self.table_actions: list[tuple[int, Wire]] = []
        self.states: dict[int, tuple[TableActions, FileContext]] = {}
        self.commit_facts: dict[int, CommitFacts] = {}
        self.files_in_doubt: str | None = None
        self.schemas: dict[int, TableSchema | None] = {}
        """What data files of a version are judged against, at versions with change data."""
        self.inventory: Inventory | None = None
        self.bare_adds: list[pl.DataFrame] = []
        self._vectors: list[pl.DataFrame] = []
        self._pending = _Pending()

    def judge(self) -> Findings:
        """Read the log, run the rules."""
        with _no_cyclic_garbage():
            spanned = self.replay()
            for view in _STATE_VIEWS:
                self.findings.look_at_rows(view, self.state.rows[view.name])
            if self.state.refusal is not None:
                reason = f"revision {self.revision} refuses the table: {self.state.refusal.why}"
                self.findings.withdraw(reason, but=(table_state.protocols, table_state.features))
                return self.findings
            self._doubt_unread_schemas()
            look_at_listing(self)
            Claims(self, spanned).look()
            self._look_at_snapshot(spanned)
        self._look_at_data(spanned)
        return self.findings

    def _look_at_data(self, spanned: pl.DataFrame) -> None:
        """What the level lets be opened beside the log."""
        vectors = pl.concat(self._vectors) if self._vectors else deletion_vectors.frame([])
        if self.level == "log":
            return
        if self.files_in_doubt:
            self.findings.look(deletion_vectors, vectors)
            self.findings.doubt_data(f"the live files are not known: {self.files_in_doubt}")
            return
        cdcs = pl.concat(self.cdcs) if self.cdcs else chain_frame(self._chain_schema)
        data = DataRun(self, spanned, cdcs)
        self.inventory = data.look(vectors)

    def replay(self) -> pl.DataFrame:
        """Read the judged history and look at it; gives the file actions as `file_replay.spans` has them."""
        if self.plan.base is not None:
            self._take_base(self.plan.base)
        self._take_commits()
        self._flush()
        chain = pl.concat(self.chain) if self.chain else chain_frame(self._chain_schema)
        self.chain.clear()
        unknown = self.state.unknown_reader_features
        if unknown:
            self.doubt_files(f"readers need {', '.join(unknown)}, which is unknown", None)
        elif self.findings.wants(file_history):
            self.progress("replay", 0, None)
            cdcs = pl.concat(self.cdcs) if self.cdcs else chain_frame(self._chain_schema)
            history = history_of_commits(chain, cdcs, suspended_since(self), tables_begin(self))
            self.findings.look(file_history, history)
        look_at_added_vectors(self, chain)
        look_at_bare_adds(self, chain)
        return spans(chain, self.revision)

    # the judged history

    def _take_base(self, base: Checkpoint) -> None:
        read = self.read_actions(base)
        self.state.apply(base.version, f"{LOG}/{base.files[0]}", [(line, action) for _, line, action in read.actions])
        self.state.lose({fault.kind for _, _, fault in read.faults})
        context = self.state.file_context(self.store.root)
        for rows in self.read_files(read, context):
            self.chain.append(rows)
        look_at_checkpoint(self.findings, read, is_base=True)
        if not read.is_whole:
            self.doubt_files(f"the checkpoint {base.files[0]} cannot be read as a whole", f"{LOG}/{base.files[0]}")
        self._remember(base.version)

    def _take_commits(self) -> None:
        before = CommitContext()
        rows: list[Row] = []
        small = (file for file in map(_commit_file, self.plan.commits) if self._size(file) <= WHOLE_FILE_BYTES)
        contents = read_in_order(self.store, small, WHOLE_FILE_BYTES)
        for index, version in enumerate(self.plan.commits):
            if index % 200 == 0:
                self.progress("commits", index, len(self.plan.commits))
            if version in self.plan.missing_after:
                self._lose_versions(version)
            file = _commit_file(version)
            log = self._read_commit(file, contents)
            if log is None:
                self._lose_versions(version)
                before = CommitContext()
                continue
            self._take_lines(file, version, log)
            self.state.lose(log.undecoded_kinds)
            self.state.apply(version, file, log.actions)
            self.table_actions += [(version, a) for _, a in log.actions if not isinstance(a, CommitInfo)]
            self.operations[version] = operation_of(log.actions)
            self.row_id_claims[version] = CommitClaims.of(log.actions, log.undecoded_kinds, self.revision)
            self._queue_files(file, version, log)
            row = commit_row(version, file, log, before, self.state)
            row["file_time_before"] = file_time_before(self.plan, row)
            before.follow(row)
            rows.append(row)
            self.commit_facts[version] = CommitFacts.of(row)
            self._remember(version)
        self.findings.look_at_rows(log_files.commits, rows)
        self.progress("commits", len(self.plan.commits), len(self.plan.commits))

    def _size(self, file: str) -> int:
        return self.plan.entries[file.removeprefix(f"{LOG}/")].size_bytes

    def _read_commit(self, file: str, contents: Iterator[bytes | StorageError]) -> LogFile | None:
        """The next commit: from `contents` if it is small enough to stand there, else line by line."""
        try:
            if self._size(file) > WHOLE_FILE_BYTES:
                return read_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.revision)
            content = next(contents)
            if isinstance(content, StorageError):
                raise content
            return read_lines(content, self.revision)
        except StorageError as fault:
            self.doubt_files(str(fault), file)
            self.findings.doubt((log_files.lines, log_files.commits, file_actions, *_STATE_VIEWS), str(fault), file)
            return None

    def _take_lines(self, file: str, version: int, log: LogFile) -> None:
        for reason in list(log.unread.values())[:1]:
            self.findings.doubt((log_files.lines, log_files.commits, file_actions), reason, file)
            self.doubt_files(reason, file)
        self._pending.lines += line_rows(file, version, log)
        undecoded = log.undecoded_kinds
        if undecoded & {"add", "remove", None}:
            self.doubt_files("an action that cannot be decoded", file)
        if undecoded & {"protocol", "metaData", None}:
            self.findings.doubt((checkpoint_rows, checksums), "a state that cannot be decoded", file)
        if undecoded & {"txn", "domainMetadata"}:
            self.findings.doubt((checkpoint_rows,), "an action that cannot be decoded", file)
        if None in undecoded:
            self.findings.doubt((log_files.commits,), "a line that cannot be decoded", file)

    def _queue_files(self, file: str, version: int, log: LogFile) -> None:
        context = self.state.file_context(self.store.root)
        if self._pending.context not in (None, context) or self._pending.size > BATCH_ROWS:
            self._flush()
        if log.files.rows:
            self._pending.add(file, version, log.files.rows, context)
            if self.level != "log" and any(row[1] == "cdc" for row in log.files.rows):
                self.schemas[version] = self.state.table_schema

    def _flush(self) -> None:
        """Look at the lines and file actions gathered since, all of one state of the table."""
        pending, self._pending = self._pending, _Pending()
        self.findings.look_at_rows(log_files.lines, pending.lines)
        if pending.context is not None and pending.rows:
            table = FileRows(pending.rows).table()
            place = Provenance("commit", pending.files, pending.versions)
            self.chain.append(self.look_at_file_rows(table, place, pending.context))

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
            dict(self.state.transactions),
            dict(self.state.domains),
            row_id_marks(self.state.row_id_mark) if self.state.row_id_mark_known else None,
            transactions_may_expire=retained,
        )
        self.states[version] = (actions, self.state.file_context(self.store.root))

    def _lose_versions(self, version: int) -> None:
        """Commits before this one are unknown: nothing is known of the state but what still comes."""
        self.state.lose({None})
        self.doubt_files(f"commits before version {version} are missing", None)

    def doubt_files(self, reason: str, file: str | None) -> None:
        """Replay of file actions is not to be trusted."""
        self.files_in_doubt = self.files_in_doubt or reason
        self.findings.doubt(_FILE_VIEWS, reason, file)

    # checkpoints, whether base or claim

    def read_actions(self, checkpoint: Checkpoint) -> CheckpointRead:
        """Read the table actions of a checkpoint and look at their lines."""
        read = read_checkpoint(self.store, checkpoint, self.plan.sizes, self.revision)
        self.reads[checkpoint] = read
        for file, log in read.json_lines:
            self.findings.look_at_rows(log_files.lines, line_rows(file, checkpoint.version, log))
        parquet = [(file, line, fault) for file, line, fault in read.faults if file.endswith(".parquet")]
        rows = [fault_row(file, checkpoint.version, line, fault) for file, line, fault in parquet]
        self.findings.look_at_rows(log_files.lines, rows)
        return read

    def read_files(self, read: CheckpointRead, context: FileContext) -> Iterator[pl.DataFrame]:
        """Look at the file actions of a checkpoint; gives what replay keeps of them."""
        done = 0
        files = tuple(f"{LOG}/{name}" for name in read.checkpoint.files)
        parts = PartFacts(files, vectors_supported=context.deletion_vectors_supported)
        for run in runs(self.store, read):
            parts.take(run.file, run.table)
            place = Provenance(run.source, run.file, read.checkpoint.version)
            yield self.look_at_file_rows(run.table, place, context)
            done += run.table.num_rows
            self.progress(f"checkpoint {read.checkpoint.version}", done, None)
        read.misplaced_files, read.split_paths = parts.misplaced_files, parts.split_paths
        if read.not_read:
            file = f"{LOG}/{read.checkpoint.files[0]}"
            self.findings.doubt((checkpoints, sidecars, file_actions, deletion_vectors), read.not_read, file)

    def look_at_file_rows(self, table: pa.Table, place: Provenance, context: FileContext) -> pl.DataFrame:
        """Look at file actions of one state of the table; gives what replay keeps of them."""
        if table.num_rows == 0:
            return chain_frame(self._chain_schema)
        values = self.level == "rows"
        facts = file_facts(table.select(FILE_ROWS.names), place, context, compared=self.compared or values)
        if context.partition_columns is None:
            where = place.file if isinstance(place.file, str) else place.file[0]
            self.findings.doubt((file_actions,), "the metadata they are judged against is not known", where)
        self.findings.look(file_actions, file_actions_of(facts))
        self.bare_adds.append(bare_rows(facts, context.clustered_since))
        if self.findings.wants(deletion_vectors):
            vectors = deletion_vectors_of(facts)
            if self.level == "log":
                self.findings.look(deletion_vectors, vectors)
            elif len(vectors):  # judged once it is known which of them are live
                self._vectors.append(vectors)
        schema = self._chain_schema
        self.cdcs.append(chain_rows(facts, compared=False, cdc=True, schema=schema, values=values))
        timed = self.clock_ms is not None and self.level != "log"
        return chain_rows(facts, compared=self.compared, schema=schema, values=values, timed=timed)

    @property
    def _chain_schema(self) -> Mapping[str, Any]:
        return CHAIN if self.level == "log" else DATA_CHAIN

    # the whole

    def _doubt_unread_schemas(self) -> None:
        """A schema beyond the depth that is read may be sound: no text bounds it."""
        for row in self.state.rows[table_state.metadata.name]:
            if row["schema_fault"] == "too deep":
                views = (table_state.metadata, table_state.schema_fields)
                self.findings.doubt(views, row["schema_fault_pointer"], row["file"])

    def _look_at_snapshot(self, spanned: pl.DataFrame) -> None:
        if self.findings.wants(snapshot_files):
            live = live_at(spanned, self.plan.version)
            self.findings.look(snapshot_files, snapshot_rows(live, self.plan.version))
        look_at_row_id_ranges(self, spanned)
        look_at_type_changes(self, spanned)
        look_at_variant_uses(self)
        if self.files_in_doubt is not None:
            self.findings.doubt((rearrangements,), self.files_in_doubt)
        elif self.findings.wants(rearrangements):
            self.findings.look(rearrangements, rearranging_commits(spanned))


def _commit_file(version: int) -> str:
    return f"{LOG}/{commit_name(version)}"


class _Pending:
    """File actions and lines of commits of one state, not looked at yet."""

    def __init__(self) -> None:
        self.lines: list[Row] = []
        self.rows: list[tuple[object, ...]] = []
        self.files: list[str] = []
        self.versions: list[int] = []
        self.context: FileContext | None = None

    @property
    def size(self) -> int:
        return max(len(self.rows), len(self.lines))

    def add(self, file: str, version: int, rows: list[tuple[object, ...]], context: FileContext) -> None:
        self.rows += rows
        self.files += [file] * len(rows)
        self.versions += [version] * len(rows)
        self.context = context


@contextmanager
def _no_cyclic_garbage() -> Iterator[None]:
    """Actions hold no cycles: the collector would walk millions of them for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
