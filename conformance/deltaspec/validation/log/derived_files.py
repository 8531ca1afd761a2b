"""Everything that claims to equal replay, beside it: newer checkpoints, compactions, version checksums, the hint.

They are read first, and their file actions dealt to the shares of the table; what the shares say is put together
afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.model.actions import DomainMetadata, MetaData, Protocol, Txn, WireStruct
from deltaspec.model.features.table_properties import compute_tombstone_cutoff_ms, compute_transaction_cutoff_ms
from deltaspec.model.log.file_names import CompactionName, checksum_name, compaction_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.model.log.version_checksum import VersionChecksum
from deltaspec.model.revisions import Revision
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.log.checkpoint_checks import check_checkpoint
from deltaspec.validation.log.concurrent_writes import is_hint_unchanged
from deltaspec.validation.log.derived_file_comparison import (
    CheckpointFileActions,
    ChecksumFileActions,
    CompactionFileActions,
)
from deltaspec.validation.log.replay_stage import DERIVED_ROWS
from deltaspec.views.files.file_action_facts import FileContext, Provenance, build_file_facts
from deltaspec.views.files.file_replay import select_replay_columns
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checksums, last_checkpoint, replay_differences
from deltaspec.views.log.derived_file_rows import CommitFacts, build_checksum_row, build_hint_row, read_checksum
from deltaspec.views.log.replay_differences import (
    DerivedFile,
    Row,
    TableActions,
    collect_last_actions,
    compare_table_actions,
)
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary, decode_line_stream
from deltaspec.wire.log.line_validation import contains_lone_surrogate
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.log.log_run import LogRun

LONE_SURROGATE_REASON = "half of a surrogate pair is escaped, which parsers keep, replace or refuse"
_OF_ONE_COMMIT = {"commitInfo", "cdc", "checkpointMetadata", "sidecar"}
"""Actions that are no part of what reconciliation leaves."""
_DIFFERENCES_OF_CHECKSUMS = ("CRC010", "CRC011")
"""Rules over `replay_differences` that ask of version checksums alone."""
MAX_OBJECT_BYTES = 256 << 20
"""Largest version checksum and checkpoint hint that is read."""


class DerivedFiles:
    """Reads the claims of one run, and tells what became of them."""

    def __init__(self, run: LogRun) -> None:
        self.run = run
        self._checkpoints: list[tuple[CheckpointFileActions, ParsedCheckpoint]] = []
        self._compactions: list[tuple[CompactionFileActions, LogSummary]] = []
        self._checksums: list[tuple[ChecksumFileActions, tuple[str | None, str | None]]] = []

    def __getstate__(self) -> dict[str, Any]:
        """Without the run, which whoever keeps claims gives them anew."""
        return {**self.__dict__, "run": None}

    def read(self) -> None:
        """Read every claim that the plan names."""
        run = self.run
        for checkpoint in run.plan.compared_checkpoints:
            self._read_checkpoint(checkpoint)
        for name in run.plan.compactions if run.revision.since(Revision.R3) else ():
            self._read_compaction(name)
        for version in run.plan.checksums:
            self._read_checksum(version)

    def finalize(self) -> None:
        """Say in `run.claims` what shares compare, once all file actions are dealt."""
        run = self.run
        whole = [(replace(files, is_complete=read.is_complete), read) for files, read in self._checkpoints]
        self._checkpoints = whole
        run.derived_files = [each for each, _ in self._checkpoints]
        run.derived_files += [each for each, _ in self._compactions]
        run.derived_files += [each for each, _ in self._checksums]

    def check(self, aggregates: Aggregates) -> None:
        """Look at every claim as a whole.

        Args:
            sums: what the shares say of them.
        """
        for files, read in self._checkpoints:
            self._look_at_checkpoint(files, read, aggregates)
        for compaction, log in self._compactions:
            self._look_at_compaction(compaction, log)
        for checksum, fault in self._checksums:
            self._look_at_checksum(checksum, fault, aggregates)
        if self.run.plan.has_hint:
            self._look_at_hint()

    def _state(self, version: int) -> tuple[TableActions, FileContext]:
        """The table as replay has it at a version; nothing of it where that is not known."""
        run = self.run
        known = run.compared_states.get(version)
        return known if known is not None else (TableActions(), run.state.file_context(run.store.root))

    # checkpoints

    def _read_checkpoint(self, checkpoint: Checkpoint) -> None:
        run = self.run
        expected, context = self._state(checkpoint.version)
        tag = DERIVED_ROWS + checkpoint.files[0]
        read = run.read_derived_checkpoint(checkpoint, context, tag)
        derived_file = DerivedFile("checkpoint", f"{LOG_DIRECTORY}/{checkpoint.files[0]}", checkpoint.version)
        tombstones_since, _ = self._kept_since(expected)
        files = CheckpointFileActions(tag, derived_file, False, context.partition_columns, tombstones_since)
        self._checkpoints.append((files, read))

    def _look_at_checkpoint(self, files: CheckpointFileActions, read: ParsedCheckpoint, aggregates: Aggregates) -> None:
        run, derived_file = self.run, files.derived_file
        is_compared = read.is_complete and run.replay_blocked_reason is None
        read.split_paths = aggregates.split_paths[files.tag] if files.tag in run.multipart else None
        check_checkpoint(run.findings, read, aggregates.adds_with_known_stats[files.tag] if is_compared else None)
        if not read.is_complete:
            run.findings.mark_undecided(
                (replay_differences,), "the checkpoint cannot be read as a whole", derived_file.file
            )
            return
        expected, _ = self._state(derived_file.version)
        actions = collect_last_actions(action for _, _, action in read.actions)
        domains = {name: each for name, each in (actions.domains or {}).items() if not each.removed}
        stated = replace(actions, domains=domains)
        differences: list[Row] = []
        if read.faults:
            run.findings.mark_undecided(
                (replay_differences,), "an action of the checkpoint cannot be decoded", derived_file.file
            )
        else:
            _, transactions_since = self._kept_since(expected)
            differences = compare_table_actions(derived_file, stated, expected, retention_cutoff_ms=transactions_since)
        self._compare(differences)

    def _kept_since(self, state: TableActions) -> tuple[int | None, int | None]:
        """From when on tombstones and transactions had not expired by the clock of the run, with a state's retention.

        What has not expired by then had not when the checkpoint was made, which was before.
        """
        clock = self.run.clock_ms
        if clock is None or state.metadata is None:
            return None, None
        settings = state.metadata.configuration
        return compute_tombstone_cutoff_ms(settings, clock), compute_transaction_cutoff_ms(settings, clock)

    def _compare(self, differences: list[Row]) -> None:
        """Look at differences; that something was compared counts even where nothing differs."""
        self.run.findings.evaluated_views.add(replay_differences.name)
        self.run.findings.evaluate_rows(replay_differences, differences)

    # compactions

    def _read_compaction(self, name: CompactionName) -> None:
        run, file = self.run, f"{LOG_DIRECTORY}/{compaction_name(name.start, name.end)}"
        _, context = self._state(name.end)
        tag = DERIVED_ROWS + compaction_name(name.start, name.end)
        try:
            log = run.read_compaction(file, name.end, context, tag)
        except StorageError as fault:
            run.findings.mark_undecided((replay_differences, log_files.lines), str(fault), file)
            return
        derived_file = DerivedFile("compaction", file, name.end)
        if log.undecoded_kinds:
            run.findings.mark_undecided((replay_differences,), "an action of the compaction cannot be decoded", file)
        files = CompactionFileActions(tag, derived_file, name.start, not log.undecoded_kinds, context.partition_columns)
        self._compactions.append((files, log))

    def _look_at_compaction(self, files: CompactionFileActions, log: LogSummary) -> None:
        run, derived_file = self.run, files.derived_file
        if not files.is_decoded or run.replay_blocked_reason is not None:
            return
        expected = collect_last_actions(_between(run.table_actions, files.start, derived_file.version))
        kinds = {kind for kind in log.kinds if kind is not None}
        differences = [derived_file.row(kind, None, "extra") for kind in sorted(_OF_ONE_COMMIT & kinds)]
        differences += _with_absences(derived_file, collect_last_actions(action for _, action in log.actions), expected)
        self._compare([{**row, "may_have_expired": False} for row in differences])

    # version checksums

    def _read_checksum(self, version: int) -> None:
        run, file = self.run, f"{LOG_DIRECTORY}/{checksum_name(version)}"
        try:
            data = run.store.read(file, MAX_OBJECT_BYTES)
        except StorageError as error:
            run.findings.mark_undecided((checksums,), str(error), file)
            for code in _DIFFERENCES_OF_CHECKSUMS:
                run.findings.mark_rule_undecided(code, str(error), file)
            return
        if contains_lone_surrogate(data):
            run.findings.mark_undecided((checksums, replay_differences), LONE_SURROGATE_REASON, file)
            return
        stated, fault, pointer = read_checksum(data)
        _, context = self._state(version)
        tag, lists_files = DERIVED_ROWS + checksum_name(version), False
        if stated is not None and stated.all_files is not None:
            lists_files = True
            adds = (b'{"add":' + msgspec.json.encode(add) + b"}" for add in stated.all_files)
            rows = decode_line_stream(adds).files.table()
            facts = build_file_facts(rows, Provenance("checksum", file, version), context)
            run.put_rows(tag, select_replay_columns(facts, compared=True))
        derived_file = DerivedFile("checksum", file, version)
        files = ChecksumFileActions(tag, derived_file, _without_files(stated), lists_files, context.partition_columns)
        self._checksums.append((files, (fault, pointer)))

    def _look_at_checksum(
        self, files: ChecksumFileActions, fault: tuple[str | None, str | None], aggregates: Aggregates
    ) -> None:
        run, version, stated = self.run, files.derived_file.version, files.stated
        commit = run.commit_facts.get(version, CommitFacts())
        row = build_checksum_row(files.derived_file.file, version, stated, fault, aggregates.live.get(version), commit)
        if version in aggregates.all_files_faults:
            row["all_files_fault"] = aggregates.all_files_faults[version][-1]
        run.findings.evaluate_rows(checksums, [row])
        if stated is not None:
            expected, _ = self._state(version)
            actions = TableActions(
                stated.protocol,
                stated.metadata,
                None if stated.set_transactions is None else {each.app_id: each for each in stated.set_transactions},
                None if stated.domain_metadata is None else {each.domain: each for each in stated.domain_metadata},
            )
            self._compare(compare_table_actions(files.derived_file, actions, expected))

    def _look_at_hint(self) -> None:
        run = self.run
        try:
            data = run.store.read(f"{LOG_DIRECTORY}/_last_checkpoint", MAX_OBJECT_BYTES)
        except StorageError as fault:
            run.findings.mark_undecided((last_checkpoint,), str(fault), f"{LOG_DIRECTORY}/_last_checkpoint")
            return
        if contains_lone_surrogate(data):
            run.findings.mark_undecided((last_checkpoint,), LONE_SURROGATE_REASON, f"{LOG_DIRECTORY}/_last_checkpoint")
        elif data.strip():  # an empty hint is no hint
            row = build_hint_row(data, run.plan.all_checkpoints, run.reads, run.plan.sizes)
            found = run.findings.copy_without_findings()
            found.evaluate_rows(last_checkpoint, [row])
            if found.totals and not is_hint_unchanged(run.store, run.plan):
                reason = "was overwritten since the log was listed"
                run.findings.mark_undecided((last_checkpoint,), reason, f"{LOG_DIRECTORY}/_last_checkpoint")
            else:
                run.findings.evaluate_rows(last_checkpoint, [row])


def _without_files(stated: VersionChecksum | None) -> VersionChecksum | None:
    return None if stated is None else msgspec.structs.replace(stated, all_files=None)


def _between(actions: list[tuple[int, WireStruct]], start: int, end: int) -> list[WireStruct]:
    wanted = Protocol | MetaData | Txn | DomainMetadata
    return [action for version, action in actions if start <= version <= end and isinstance(action, wanted)]


def _with_absences(derived_file: DerivedFile, claimed: TableActions, replayed: TableActions) -> list[Row]:
    """Differences of table actions where a protocol or metadata may be absent from either side."""
    rows = compare_table_actions(derived_file, claimed, replayed)
    for kind in ("protocol", "metadata"):
        here, there = getattr(claimed, kind), getattr(replayed, kind)
        if (here is None) is not (there is None):
            rows.append(
                derived_file.row(
                    "metaData" if kind == "metadata" else kind, None, "missing" if here is None else "extra"
                )
            )
    return rows
