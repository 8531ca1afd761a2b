"""Plan the repair of a table: propose repairs, prove them on an overlay of the table, and drop those that do harm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from deltaspec.errors import TableUnreadable
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_features import get_unchecked_effect
from deltaspec.protocol.log.segment import SegmentError, choose_segment
from deltaspec.repair.changes import Change, Draft, build_draft
from deltaspec.repair.context import Choices, Context, Proposal
from deltaspec.repair.kinds import (
    derived_files,
    duplicates,
    features,
    file_facts,
    history,
    lost_files,
    marks,
    partition_values,
    return_to_version,
    vectors,
)
from deltaspec.repair.kinds.history import is_about_history
from deltaspec.repair.log_versions import locate_log_files
from deltaspec.repair.plan_format import NotRepaired, RowComparison
from deltaspec.repair.proof import RowsDiffer, build_overlay, compare_rows, open_overlay_log
from deltaspec.repair.proved_plan import ProvedPlan, build_plan
from deltaspec.repair.reasons import Dropped, list_unrepaired
from deltaspec.repair.table_log import LogUnusable, StateTooLarge, TableLog, open_table_log
from deltaspec.repair.verdicts import (
    ENDS_NOTHING,
    MAX_FINDINGS,
    Validate,
    explain_lost_return,
    explain_refusal,
    summarize,
    validate_store,
)
from deltaspec.report.report_types import Report
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.options import Options
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store

KINDS: tuple[Callable[[Context], Proposal], ...] = (
    lost_files.propose,
    vectors.propose,
    derived_files.propose,
    file_facts.propose,
    partition_values.propose,
    duplicates.propose,
    features.propose,
    marks.propose,
    history.propose,
)
_DECLARING = ("remove-file", "remove-vector", "set-partition-value", "remove-duplicate")
"""Kinds of repair after which the rows of their files differ."""
MAX_TRIALS = 24
"""Validations to find out which repairs do harm."""
_DERIVED_RULES = ("CKP", "COP", "CRC", "COM", "FIL03")  # the last two dispute the commits
_NO_ROWS = RowComparison(equal_files=0, different_files=[])


class _Proof(msgspec.Struct, frozen=True):
    """What a plan with some changes leads to."""

    changes: list[Change]
    draft: Draft
    report: Report
    rows: RowComparison


class _Harmful(ValueError):
    """Changes that make a table worse, or that end no finding."""


def plan_table(
    store: Store,
    options: Options,
    choices: Choices,
    progress: Progress = ignore_progress,
    validate: Validate = validate_store,
) -> ProvedPlan:
    """Plan the repair of a table. Nothing is written.

    A plan without repairs says why nothing is repaired.

    Args:
        store: the table.
        options: level of the validations, and what may be read.
        choices: what the user has chosen.
        progress: called while the validations run.
        validate: validates the table, or an overlay of it.

    Raises:
        TableUnreadable: there is no table, a catalog manages it, or it needs a feature that deltaspec does not know.
        StorageUnavailable: the storage did not answer.
    """
    listed = load_pinned_listing(store)
    created_ms = time.time_ns() // 1_000_000
    before = validate(store, options, progress)
    entries = {entry.name: entry for entry in listed}
    version = _find_latest(store, entries)
    distrusted = derived_files.find_distrusted(before, entries)
    planner = _Planner(store, options, progress, validate, entries, before, created_ms)
    if choices.version is not None:
        return planner.return_to(choices.version, version, distrusted)
    try:
        log = open_table_log(store, entries, version, distrusted)
    except LogUnusable as fault:
        not_repaired = return_to_version.explain(store, entries, version, distrusted, before, str(fault))
        return planner.build(None, version, "", not_repaired)
    require_repairable(log)
    context = Context(
        store=store,
        entries=entries,
        log=log,
        report=before,
        distrusted=distrusted,
        choices=choices,
        created_ms=created_ms,
        access=DataAccess(store, allow_outside=options.allow_outside),
    )
    return planner.plan(context)


def _find_latest(store: Store, entries: dict[str, Entry]) -> int:
    try:
        return choose_segment(entries).version
    except SegmentError as fault:
        versions = [getattr(entry.log_name, "version", -1) for entry in entries.values()]
        if max(versions, default=-1) < 0:
            raise TableUnreadable(f"{store.uri}: {fault}") from fault
        return max(versions)


def require_repairable(log: TableLog) -> None:
    """Check that deltaspec may write to a table.

    Raises:
        TableUnreadable: it may not.
    """
    features = get_supported_features(log.protocol)
    if "catalogManaged" in features:
        raise TableUnreadable(f"{log.store.uri}: a catalog manages the table, so only the catalog can commit a repair")
    unknown = sorted(name for name in features if get_unchecked_effect(name) is not None)
    if unknown or log.protocol.min_reader_version > 3 or log.protocol.min_writer_version > 7:
        what = ", ".join(unknown) or "a later version of the protocol"
        raise TableUnreadable(f"{log.store.uri}: the table needs {what}, which deltaspec does not know completely")


class _Planner(msgspec.Struct, frozen=True):
    store: Store
    options: Options
    progress: Progress
    validate: Validate
    entries: dict[str, Entry]
    before: Report
    created_ms: int
    later: dict[tuple[int, ...], tuple[list[Change], Report | None]] = {}
    """Changes, and the report on the table after them and log cleanup, by the identities of the changes."""

    def plan(self, context: Context) -> ProvedPlan:
        """Return the plan of everything that can be repaired."""
        changes: list[Change] = []
        not_repaired: list[NotRepaired] = []
        for propose in KINDS:
            try:
                proposal = propose(context)
            except (LogUnusable, StateTooLarge, StorageError) as fault:
                not_repaired.append(NotRepaired(rule="", location="the log", reason=str(fault)))
                continue
            changes += proposal.changes
            not_repaired += proposal.not_repaired
        proof, dropped = self._prove_best(context, changes)
        proof = self._prove_further(context, proof)
        version = context.log.version
        after, changes = (self.before, []) if proof is None else (proof.report, proof.changes)
        later = None
        if not context.choices.sets_history_aside and any(
            each.severity == "violation" and is_about_history(each, version) for each in after.findings
        ):
            later = self._validate_later(context, changes)
        not_repaired = list_unrepaired(
            after,
            not_repaired,
            dropped,
            version,
            context.choices,
            later,
            {code for each in changes for code in each.repair.rules},
        )
        ends_later = later is not None and proof is not None and later.counts["violation"] < after.counts["violation"]
        return self.build(proof, version, context.log.metadata.id, not_repaired, later if ends_later else None)

    def _validate_later(self, context: Context, changes: list[Change]) -> Report | None:
        """Return the report on the table after some changes and log cleanup; None if no checkpoint can be written."""
        key = tuple(map(id, changes))
        if key not in self.later:
            self.later[key] = list(changes), self._validate_without_history(context, changes)
        return self.later[key][1]

    def _validate_without_history(self, context: Context, changes: list[Change]) -> Report | None:
        try:
            draft = build_draft(context.log, [*changes, history.build_change(context)], self.created_ms)
        except (LogUnusable, StateTooLarge, StorageError):
            return None
        return self.validate(build_overlay(self.store, draft, self.created_ms), self.options, self.progress)

    def _ends_findings_later(self, context: Context, changes: list[Change], best: _Proof | None) -> bool:
        """Return whether changes end findings that only a commit still shows, which log cleanup deletes."""
        changes_state = any(
            each.edits or each.edit_metadata or each.features is not None or each.domains for each in changes
        )
        if context.choices.sets_history_aside or not changes_state:
            return False
        before = self._validate_later(context, [] if best is None else best.changes)
        after = self._validate_later(context, changes)
        return before is not None and after is not None and explain_refusal(before, after) is None

    def _prove_further(self, context: Context, proof: _Proof | None) -> _Proof | None:
        """Return a proof that also sets aside the older derived files that only an overlay shows to be wrong.

        A run with `--history latest` compares only the newest checksum and compaction.
        """
        if proof is None:
            return None
        written = {f"{LOG_DIRECTORY}/{name}" for name in proof.draft.new_files}
        visible = [each for each in proof.report.findings if each.file not in written]
        if not any(derived_files.is_about_derived_file(each) for each in visible):
            return proof
        overlay = build_overlay(self.store, proof.draft, self.created_ms)
        options = Options.create(level="log", history="all", select=_DERIVED_RULES, samples=MAX_FINDINGS)
        older = self.validate(overlay, options, self.progress)
        report = replace(older, findings=[each for each in older.findings if each.file not in written])
        distrusted = context.distrusted | derived_files.find_distrusted(report, context.entries)
        known = [each.repair.files for each in proof.changes]
        further = [
            each
            for each in derived_files.propose(replace(context, report=report, distrusted=distrusted)).changes
            if each.repair.files not in known
        ]
        try:
            return self._prove(context, [*proof.changes, *further])
        except _Harmful:
            return proof

    def _prove_best(self, context: Context, changes: list[Change]) -> tuple[_Proof | None, list[Dropped]]:
        """Return the proof of as many changes as possible, and why the others were dropped."""
        if not changes:
            return None, []
        try:
            return self._prove(context, changes), []
        except _Harmful as fault:
            if len(changes) == 1:
                return None, [Dropped(changes[0].repair, str(fault))]
        history = [each for each in changes if each.repair.kind == "set-aside-history"]  # other repairs may need it
        best: _Proof | None = None
        dropped: list[Dropped] = []
        for group in _group([each for each in changes if each not in history]):
            kept = history if best is None else best.changes
            found = self._prove_part(context, kept, group, best)
            if isinstance(found, _Proof):
                best = found
            else:
                dropped += [Dropped(each.repair, found) for each in group]
        if best is None and history:
            found = self._prove_part(context, [], history, None)
            if isinstance(found, _Proof):
                return found, dropped
            best, others = self._prove_best(context, [each for each in changes if each not in history])
            dropped = [*(Dropped(each.repair, found) for each in history), *others]
        return best, dropped

    def _prove_part(
        self, context: Context, kept: list[Change], group: list[Change], best: _Proof | None
    ) -> _Proof | str:
        """Return the proof of further changes, or of the first of them; otherwise why they do harm."""
        try:
            return self._prove(context, [*kept, *group], best)
        except _Harmful as fault:
            if len(group) > 1:
                found = self._prove_part(context, kept, group[:1], best)
                return found if isinstance(found, _Proof) else str(fault)
            return str(fault)

    def _prove(self, context: Context, changes: list[Change], best: _Proof | None = None) -> _Proof:
        """Validate an overlay with some changes.

        Raises:
            _Harmful: the verdict does not improve, a finding is new, or other rows differ.
        """
        try:
            draft = build_draft(context.log, changes, self.created_ms)
            self._require_readable(draft.hidden_files)
            overlay = build_overlay(self.store, draft, self.created_ms)
            report = self.validate(overlay, self.options, self.progress)
            refusal = explain_refusal(self.before if best is None else best.report, report)
            refusal = refusal or explain_refusal(self.before, report)
            if refusal == ENDS_NOTHING and self._ends_findings_later(context, changes, best):
                refusal = None
            if refusal is not None:
                raise _Harmful(refusal)
            declared = {
                context.log.get_key(path): path
                for each in changes
                if each.repair.kind in _DECLARING
                for path in each.repair.files
            }
            after = open_overlay_log(context.log, overlay, draft)
            rows = compare_rows(context.log, after, draft, declared, allow_outside=self.options.allow_outside)
        except (LogUnusable, StateTooLarge, StorageError, RowsDiffer) as fault:
            raise _Harmful(str(fault)) from fault
        return _Proof(changes, draft, report, rows)

    def return_to(self, target: int, version: int, distrusted: frozenset[str]) -> ProvedPlan:
        """Return the plan that sets all later versions aside."""
        change, log = return_to_version.propose(self.store, self.entries, target, version, distrusted, self.before)
        require_repairable(log)
        draft = Draft(None, {}, list(change.set_aside), [], frozenset())
        try:
            self._require_readable(draft.hidden_files)
        except StorageError as fault:
            raise TableUnreadable(f"{self.store.uri}: cannot return to version {target}: {fault}") from fault
        report = self.validate(build_overlay(self.store, draft, self.created_ms), self.options, self.progress)
        refusal = explain_lost_return(self.before, report)
        if refusal is not None:
            dropped = [Dropped(change.repair, refusal)]
            return self.build(None, version, log.metadata.id, list_unrepaired(self.before, [], dropped, version))
        proof = _Proof([change], draft, report, _NO_ROWS)
        return self.build(proof, version, log.metadata.id, list_unrepaired(report, [], [], target))

    def build(
        self,
        proof: _Proof | None,
        version: int,
        table_id: str,
        not_repaired: Sequence[NotRepaired],
        later: Report | None = None,
    ) -> ProvedPlan:
        """Build the plan of a proof; None if nothing is repaired.

        Args:
            proof: what the repairs lead to.
            version: latest version of the table.
            table_id: its id.
            not_repaired: what is not repaired.
            later: report on the repaired table after log cleanup; None if findings do not depend on it.
        """
        return build_plan(
            self.store,
            self.entries.values(),
            Draft(None, {}, [], [], frozenset()) if proof is None else proof.draft,
            table_id=table_id,
            version=version,
            created_ms=self.created_ms,
            allow_outside=self.options.allow_outside,
            writer_time_zone=self.options.writer_time_zone,
            repairs=[] if proof is None else [each.repair for each in proof.changes],
            not_repaired=locate_log_files(self.store, self.entries, list(not_repaired)),
            before=summarize(self.before),
            after=summarize(self.before if proof is None else proof.report),
            after_cleanup=None if later is None else summarize(later),
            rows=_NO_ROWS if proof is None else proof.rows,
        )

    def _require_readable(self, names: Sequence[str]) -> None:
        """Raise `StorageError` for a file that cannot be set aside, such as a directory with the name of a file."""
        for name in names:
            self.store.read_range(f"{LOG_DIRECTORY}/{name}", 0, 1)


def _group(changes: list[Change]) -> list[list[Change]]:
    """Return changes in the groups that are tried one after another: single ones, or by kind if there are many.

    A checkpoint is written only if the one that it replaces is set aside.
    """
    if len(changes) <= MAX_TRIALS:
        single: list[list[Change]] = []
        for each in changes:
            if each.repair.kind == "write-checkpoint":
                single[-1].append(each)
            else:
                single.append([each])
        return single
    groups: dict[str, list[Change]] = {}
    for each in changes:
        groups.setdefault(each.repair.kind, []).append(each)
    return list(groups.values())
