"""Everything that claims to equal replay, beside it: newer checkpoints, compactions, version checksums, the hint."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from deltaspec.model.actions import Add, DomainMetadata, MetaData, Protocol, Txn, Wire
from deltaspec.model.configuration import tombstones_kept_since, transactions_kept_since
from deltaspec.model.file_names import CompactionName, checksum_name, compaction_name
from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.validate.checkpoints import look_at_checkpoint
from deltaspec.views import log_files
from deltaspec.views.checkpoints import checkpoint_rows, checksums, last_checkpoint
from deltaspec.views.claim_facts import CommitFacts, all_files_fault, checksum_row, hint_row, read_checksum
from deltaspec.views.differences import Claim, Row, TableActions, file_differences, last_of_each, table_differences
from deltaspec.views.file_actions import file_history
from deltaspec.views.file_facts import Provenance, file_facts
from deltaspec.views.file_pairs import history_of_claim
from deltaspec.views.file_replay import CHAIN, chain_rows, live_at
from deltaspec.views.log_facts import line_rows
from deltaspec.wire.checkpoint_contents import SHORTEST_STATISTICS
from deltaspec.wire.form import escapes_half_a_pair
from deltaspec.wire.log_lines import MAX_LINE_BYTES, read_line_stream
from deltaspec.wire.storage import LOG, StorageError, read_lines

if TYPE_CHECKING:
    from deltaspec.validate.embedded import EmbeddedRun

HALF_PAIR = "half of a surrogate pair is escaped, which parsers keep, replace or refuse"
_OF_ONE_COMMIT = {"commitInfo", "cdc", "checkpointMetadata", "sidecar"}
"""Actions that are no part of what reconciliation leaves."""
MAX_OBJECT_BYTES = 256 << 20
"""Largest version checksum and checkpoint hint that is read."""


class Claims:
    """Compares the claims of one run with its replay."""

    def __init__(self, run: EmbeddedRun, spanned: pl.DataFrame) -> None:
        self.run = run
        self.spanned = spanned

    def look(self) -> None:
        """Look at every claim that the plan names."""
        for checkpoint in self.run.plan.claims:
            self._checkpoint(checkpoint)
        for name in self.run.plan.compactions if self.run.revision.since(Revision.R3) else ():
            self._compaction(name)
        for version in self.run.plan.checksums:
            self._checksum(version)
        if self.run.plan.has_hint:
            self._hint()

    def _checkpoint(self, checkpoint: Checkpoint) -> None:
        run, file = self.run, f"{LOG}/{checkpoint.files[0]}"
        read = run.read_actions(checkpoint)
        expected, context = run.states.get(checkpoint.version, (TableActions(), None))
        context = context or run.state.file_context(run.store.root)
        claimed = [rows for rows in run.read_files(read, context) if len(rows)]
        rows = pl.concat(claimed) if claimed else pl.DataFrame(schema=CHAIN)
        is_compared = read.is_whole and run.files_in_doubt is None
        known = self._known_statistics(rows, checkpoint.version) if is_compared else None
        look_at_checkpoint(run.findings, read, known)
        run.findings.look(file_history, history_of_claim(rows))
        if not read.is_whole:
            run.findings.doubt((checkpoint_rows,), "the checkpoint cannot be read as a whole", file)
            return
        claim = Claim("checkpoint", file, checkpoint.version)
        actions = last_of_each(action for _, _, action in read.actions)
        domains = {name: each for name, each in (actions.domains or {}).items() if not each.removed}
        stated = replace(actions, domains=domains)
        faulty = {fault.kind for _, _, fault in read.faults}
        if faulty:
            run.findings.doubt((checkpoint_rows,), "an action of the checkpoint cannot be decoded", file)
        tombstones_since, transactions_since = self._kept_since(expected)
        differences: list[Row] = []
        if not faulty:
            differences += table_differences(claim, stated, expected, kept_since_ms=transactions_since)
        if run.files_in_doubt is None:
            replayed = pl.concat([live_at(self.spanned, checkpoint.version, kind) for kind in ("add", "remove")])
            differences += file_differences(
                claim,
                rows,
                replayed,
                context.partition_columns,
                tombstones_complete=run.plan.base is None,
                kept_since_ms=tombstones_since,
                revision=run.revision,
            )
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

    def _known_statistics(self, claimed: pl.DataFrame, version: int) -> dict[str, int]:
        """How many adds of each file of a checkpoint replay has with statistics."""
        said = pl.col("stats").str.len_bytes() >= SHORTEST_STATISTICS
        known = live_at(self.spanned, version).filter(said).select("path_key")
        found = claimed.filter(pl.col("kind") == "add").join(known, on="path_key", how="semi")
        return dict(found.group_by("file").len().iter_rows())

    def _compare(self, differences: list[Row]) -> None:
        """Look at differences; that something was compared counts even where nothing differs."""
        self.run.findings.views_seen.add(checkpoint_rows.name)
        self.run.findings.look_at_rows(checkpoint_rows, differences)

    def _compaction(self, name: CompactionName) -> None:
        run, file = self.run, f"{LOG}/{compaction_name(name.start, name.end)}"
        try:
            log = read_line_stream(read_lines(run.store, file, MAX_LINE_BYTES), run.revision)
        except StorageError as fault:
            run.findings.doubt((checkpoint_rows, log_files.lines), str(fault), file)
            return
        run.findings.look_at_rows(log_files.lines, line_rows(file, name.end, log))
        _, context = run.states.get(name.end, (TableActions(), run.state.file_context(run.store.root)))
        rows = run.look_at_file_rows(log.files.table(), Provenance("compaction", file, name.end), context)
        run.findings.look(file_history, history_of_claim(rows))
        if log.undecoded_kinds:
            run.findings.doubt((checkpoint_rows,), "an action of the compaction cannot be decoded", file)
            return
        if run.files_in_doubt is not None:
            return
        claim = Claim("compaction", file, name.end)
        within = self.spanned.filter(
            pl.col("version").is_between(name.start, name.end) & (pl.col("source") == "commit")
        )
        ends_later = pl.col("until").is_null() | (pl.col("until") > name.end)
        replayed = within.filter(ends_later).drop("until")
        expected = last_of_each(_between(run.table_actions, name.start, name.end))
        differences = file_differences(
            claim, rows, replayed, context.partition_columns, tombstones_complete=True, revision=run.revision
        )
        differences += [claim.row(kind, None, "extra") for kind in sorted(_OF_ONE_COMMIT & set(log.kinds))]
        differences += _with_absences(claim, last_of_each(action for _, action in log.actions), expected)
        self._compare([{**row, "expired_possible": False} for row in differences])

    def _checksum(self, version: int) -> None:
        run, file = self.run, f"{LOG}/{checksum_name(version)}"
        try:
            data = run.store.read(file, MAX_OBJECT_BYTES)
        except StorageError as error:
            run.findings.doubt((checksums,), str(error), file)
            return
        if escapes_half_a_pair(data):
            run.findings.doubt((checksums, checkpoint_rows), HALF_PAIR, file)
            return
        stated, fault, pointer = read_checksum(data)
        expected, _ = run.states.get(version, (TableActions(), None))
        known = run.files_in_doubt is None and (version in run.states)
        live = live_at(self.spanned, version) if known else None
        commit = run.commit_facts.get(version, CommitFacts())
        row = checksum_row(file, version, stated, (fault, pointer), live, commit)
        if stated is not None and stated.all_files is not None and live is not None:
            row["all_files_fault"] = self._all_files_fault(file, version, stated.all_files, live)
        run.findings.look_at_rows(checksums, [row])
        if stated is not None:
            actions = TableActions(
                stated.protocol,
                stated.metadata,
                None if stated.set_transactions is None else {each.app_id: each for each in stated.set_transactions},
                None if stated.domain_metadata is None else {each.domain: each for each in stated.domain_metadata},
            )
            self._compare(table_differences(Claim("checksum", file, version), actions, expected))

    def _all_files_fault(self, file: str, version: int, listed: list[Add], live: pl.DataFrame) -> str | None:
        _, context = self.run.states[version]
        log = read_line_stream(b'{"add":' + msgspec.json.encode(add) + b"}" for add in listed)
        facts = file_facts(log.files.table(), Provenance("checksum", file, version), context)
        rows, types = chain_rows(facts, compared=True), context.partition_columns
        claim = Claim("checksum", file, version)
        return all_files_fault(rows, file_differences(claim, rows, live, types, tombstones_complete=True))

    def _hint(self) -> None:
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
            run.findings.look_at_rows(last_checkpoint, [row])


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
