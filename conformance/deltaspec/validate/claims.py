"""Everything that claims to equal replay, beside it: newer checkpoints, compactions, version checksums, the hint.

They are read first, and their file actions dealt to the shares of the table; what the shares say is put together
afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.model.actions import DomainMetadata, MetaData, Protocol, Txn, Wire
from deltaspec.model.configuration import tombstones_kept_since, transactions_kept_since
from deltaspec.model.file_names import CompactionName, checksum_name, compaction_name
from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.model.version_checksum import VersionChecksum
from deltaspec.validate.checkpoints import look_at_checkpoint
from deltaspec.validate.claim_rows import CheckpointFiles, ChecksumFiles, CompactionFiles
from deltaspec.validate.moved import hint_is_as_listed
from deltaspec.validate.path_stage import CLAIMS
from deltaspec.validate.sums import Sums
from deltaspec.views import log_files
from deltaspec.views.checkpoints import checkpoint_rows, checksums, last_checkpoint
from deltaspec.views.claim_facts import CommitFacts, checksum_row, hint_row, read_checksum
from deltaspec.views.differences import Claim, Row, TableActions, last_of_each, table_differences
from deltaspec.views.file_facts import FileContext, Provenance, file_facts
from deltaspec.views.file_replay import chain_rows
from deltaspec.wire.checkpoint_files import CheckpointRead
from deltaspec.wire.form import escapes_half_a_pair
from deltaspec.wire.log_lines import LogSummary, read_line_stream
from deltaspec.wire.storage import LOG, StorageError

if TYPE_CHECKING:
    from deltaspec.validate.log_run import LogRun

HALF_PAIR = "half of a surrogate pair is escaped, which parsers keep, replace or refuse"
_OF_ONE_COMMIT = {"commitInfo", "cdc", "checkpointMetadata", "sidecar"}
"""Actions that are no part of what reconciliation leaves."""
_DIFFERENCES_OF_CHECKSUMS = ("CRC010", "CRC011")
"""Rules over `checkpoint_rows` that ask of version checksums alone."""
MAX_OBJECT_BYTES = 256 << 20
"""Largest version checksum and checkpoint hint that is read."""


class Claims:
    """Reads the claims of one run, and tells what became of them."""

    def __init__(self, run: LogRun) -> None:
        self.run = run
        self._checkpoints: list[tuple[CheckpointFiles, CheckpointRead]] = []
        self._compactions: list[tuple[CompactionFiles, LogSummary]] = []
        self._checksums: list[tuple[ChecksumFiles, tuple[str | None, str | None]]] = []

    def __getstate__(self) -> dict[str, Any]:
        """Without the run, which whoever keeps claims gives them anew."""
        return {**self.__dict__, "run": None}

    def read(self) -> None:
        """Read every claim that the plan names."""
        run = self.run
        for checkpoint in run.plan.claims:
            self._read_checkpoint(checkpoint)
        for name in run.plan.compactions if run.revision.since(Revision.R3) else ():
            self._read_compaction(name)
        for version in run.plan.checksums:
            self._read_checksum(version)

    def settle(self) -> None:
        """Say in `run.claims` what shares compare, once all file actions are dealt."""
        run = self.run
        whole = [(replace(files, is_whole=read.is_whole), read) for files, read in self._checkpoints]
        self._checkpoints = whole
        run.claims = [each for each, _ in self._checkpoints]
        run.claims += [each for each, _ in self._compactions]
        run.claims += [each for each, _ in self._checksums]

    def finish(self, sums: Sums) -> None:
        """Look at every claim as a whole.

        Args:
            sums: what the shares say of them.
        """
        for files, read in self._checkpoints:
            self._look_at_checkpoint(files, read, sums)
        for compaction, log in self._compactions:
            self._look_at_compaction(compaction, log)
        for checksum, fault in self._checksums:
            self._look_at_checksum(checksum, fault, sums)
        if self.run.plan.has_hint:
            self._look_at_hint()

    def _state(self, version: int) -> tuple[TableActions, FileContext]:
        """The table as replay has it at a version; nothing of it where that is not known."""
        run = self.run
        known = run.states.get(version)
        return known if known is not None else (TableActions(), run.state.file_context(run.store.root))

    # checkpoints

    def _read_checkpoint(self, checkpoint: Checkpoint) -> None:
        run = self.run
        expected, context = self._state(checkpoint.version)
        tag = CLAIMS + checkpoint.files[0]
        read = run.take_claim(checkpoint, context, tag)
        claim = Claim("checkpoint", f"{LOG}/{checkpoint.files[0]}", checkpoint.version)
        tombstones_since, _ = self._kept_since(expected)
        files = CheckpointFiles(tag, claim, False, context.partition_columns, tombstones_since)
        self._checkpoints.append((files, read))

    def _look_at_checkpoint(self, files: CheckpointFiles, read: CheckpointRead, sums: Sums) -> None:
        run, claim = self.run, files.claim
        is_compared = read.is_whole and run.files_in_doubt is None
        read.split_paths = sums.split_paths[files.tag] if files.tag in run.multipart else None
        look_at_checkpoint(run.findings, read, sums.known_statistics[files.tag] if is_compared else None)
        if not read.is_whole:
            run.findings.doubt((checkpoint_rows,), "the checkpoint cannot be read as a whole", claim.file)
            return
        expected, _ = self._state(claim.version)
        actions = last_of_each(action for _, _, action in read.actions)
        domains = {name: each for name, each in (actions.domains or {}).items() if not each.removed}
        stated = replace(actions, domains=domains)
        differences: list[Row] = []
        if read.faults:
            run.findings.doubt((checkpoint_rows,), "an action of the checkpoint cannot be decoded", claim.file)
        else:
            _, transactions_since = self._kept_since(expected)
            differences = table_differences(claim, stated, expected, kept_since_ms=transactions_since)
        self._compare(differences)

    def _kept_since(self, state: TableActions) -> tuple[int | None, int | None]:
        """From when on tombstones and transactions had not expired by the clock of the run, with a state's retention.

        What has not expired by then had not when the checkpoint was made, which was before.
        """
        clock = self.run.clock_ms
        if clock is None or state.metadata is None:
            return None, None
        settings = state.metadata.configuration
        return tombstones_kept_since(settings, clock), transactions_kept_since(settings, clock)

    def _compare(self, differences: list[Row]) -> None:
        """Look at differences; that something was compared counts even where nothing differs."""
        self.run.findings.views_seen.add(checkpoint_rows.name)
        self.run.findings.look_at_rows(checkpoint_rows, differences)

    # compactions

    def _read_compaction(self, name: CompactionName) -> None:
        run, file = self.run, f"{LOG}/{compaction_name(name.start, name.end)}"
        _, context = self._state(name.end)
        tag = CLAIMS + compaction_name(name.start, name.end)
        try:
            log = run.take_compaction(file, name.end, context, tag)
        except StorageError as fault:
            run.findings.doubt((checkpoint_rows, log_files.lines), str(fault), file)
            return
        claim = Claim("compaction", file, name.end)
        if log.undecoded_kinds:
            run.findings.doubt((checkpoint_rows,), "an action of the compaction cannot be decoded", file)
        files = CompactionFiles(tag, claim, name.start, not log.undecoded_kinds, context.partition_columns)
        self._compactions.append((files, log))

    def _look_at_compaction(self, files: CompactionFiles, log: LogSummary) -> None:
        run, claim = self.run, files.claim
        if not files.is_decoded or run.files_in_doubt is not None:
            return
        expected = last_of_each(_between(run.table_actions, files.start, claim.version))
        kinds = {kind for kind in log.kinds if kind is not None}
        differences = [claim.row(kind, None, "extra") for kind in sorted(_OF_ONE_COMMIT & kinds)]
        differences += _with_absences(claim, last_of_each(action for _, action in log.actions), expected)
        self._compare([{**row, "expired_possible": False} for row in differences])

    # version checksums

    def _read_checksum(self, version: int) -> None:
        run, file = self.run, f"{LOG}/{checksum_name(version)}"
        try:
            data = run.store.read(file, MAX_OBJECT_BYTES)
        except StorageError as error:
            run.findings.doubt((checksums,), str(error), file)
            for code in _DIFFERENCES_OF_CHECKSUMS:
                run.findings.doubt_rule(code, str(error), file)
            return
        if escapes_half_a_pair(data):
            run.findings.doubt((checksums, checkpoint_rows), HALF_PAIR, file)
            return
        stated, fault, pointer = read_checksum(data)
        _, context = self._state(version)
        tag, lists_files = CLAIMS + checksum_name(version), False
        if stated is not None and stated.all_files is not None:
            lists_files = True
            adds = (b'{"add":' + msgspec.json.encode(add) + b"}" for add in stated.all_files)
            rows = read_line_stream(adds).files.table()
            facts = file_facts(rows, Provenance("checksum", file, version), context)
            run.put_rows(tag, chain_rows(facts, compared=True))
        claim = Claim("checksum", file, version)
        files = ChecksumFiles(tag, claim, _without_files(stated), lists_files, context.partition_columns)
        self._checksums.append((files, (fault, pointer)))

    def _look_at_checksum(self, files: ChecksumFiles, fault: tuple[str | None, str | None], sums: Sums) -> None:
        run, version, stated = self.run, files.claim.version, files.stated
        commit = run.commit_facts.get(version, CommitFacts())
        row = checksum_row(files.claim.file, version, stated, fault, sums.live.get(version), commit)
        if version in sums.all_files_faults:
            row["all_files_fault"] = sums.all_files_faults[version][-1]
        run.findings.look_at_rows(checksums, [row])
        if stated is not None:
            expected, _ = self._state(version)
            actions = TableActions(
                stated.protocol,
                stated.metadata,
                None if stated.set_transactions is None else {each.app_id: each for each in stated.set_transactions},
                None if stated.domain_metadata is None else {each.domain: each for each in stated.domain_metadata},
            )
            self._compare(table_differences(files.claim, actions, expected))

    def _look_at_hint(self) -> None:
        run = self.run
        try:
            data = run.store.read(f"{LOG}/_last_checkpoint", MAX_OBJECT_BYTES)
        except StorageError as fault:
            run.findings.doubt((last_checkpoint,), str(fault), f"{LOG}/_last_checkpoint")
            return
        if escapes_half_a_pair(data):
            run.findings.doubt((last_checkpoint,), HALF_PAIR, f"{LOG}/_last_checkpoint")
        elif data.strip():  # an empty hint is no hint
            row = hint_row(data, run.plan.all_complete, run.reads, run.plan.sizes)
            found = run.findings.empty()
            found.look_at_rows(last_checkpoint, [row])
            if found.totals and not hint_is_as_listed(run.store, run.plan):
                reason = "was overwritten since the log was listed"
                run.findings.doubt((last_checkpoint,), reason, f"{LOG}/_last_checkpoint")
            else:
                run.findings.look_at_rows(last_checkpoint, [row])


def _without_files(stated: VersionChecksum | None) -> VersionChecksum | None:
    return None if stated is None else msgspec.structs.replace(stated, all_files=None)


def _between(actions: list[tuple[int, Wire]], start: int, end: int) -> list[Wire]:
    wanted = Protocol | MetaData | Txn | DomainMetadata
    return [action for version, action in actions if start <= version <= end and isinstance(action, wanted)]


def _with_absences(claim: Claim, claimed: TableActions, replayed: TableActions) -> list[Row]:
    """Differences of table actions where a protocol or metadata may be absent from either side."""
    rows = table_differences(claim, claimed, replayed)
    for kind in ("protocol", "metadata"):
        here, there = getattr(claimed, kind), getattr(replayed, kind)
        if (here is None) is not (there is None):
            rows.append(
                claim.row("metaData" if kind == "metadata" else kind, None, "missing" if here is None else "extra")
            )
    return rows
