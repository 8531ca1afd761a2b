"""Derived files: newer checkpoints, compactions and version checksums, compared with replay.

They are read before replay, and their file actions are put into the buckets of the table. After all buckets have been
compared, each derived file is checked as a unit.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec
from msgspec.structs import replace

from deltaspec.protocol import actions as model
from deltaspec.protocol.actions import DomainMetadata, MetaData, Txn, WireStruct
from deltaspec.protocol.features.table_properties import compute_tombstone_cutoff_ms, compute_transaction_cutoff_ms
from deltaspec.protocol.log.compared_fields import DerivedFileKind
from deltaspec.protocol.log.file_names import CompactionName, checksum_name, compaction_name
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.log.version_checksum import OlderChecksum, VersionChecksum
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.checkpoint_checks import check_checkpoint
from deltaspec.validation.log.derived_file_comparison import evaluate_differences
from deltaspec.validation.log.derived_file_types import (
    CheckpointFileActions,
    ChecksumFileActions,
    CompactionFileActions,
    DerivedFiles,
)
from deltaspec.validation.log.facts import LogFacts, ReadContext
from deltaspec.validation.log.hint_checks import LONE_SURROGATE_REASON, MAX_OBJECT_BYTES, TOO_DEEP_REASON
from deltaspec.validation.log.log_source import LogSource, compaction_file
from deltaspec.validation.log.replay_stage import DERIVED_ROWS
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.views.files.file_action_facts import FileContext, Provenance, build_file_facts
from deltaspec.views.files.file_replay import select_replay_columns
from deltaspec.views.files.repeated_keys import find_repeated_checksum_key
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import checksums, replay_differences
from deltaspec.views.log.derived_file_rows import CommitFacts, build_checksum_row, read_checksum
from deltaspec.views.log.replay_differences import (
    DerivedFile,
    Row,
    TableActions,
    collect_last_actions,
    compare_table_actions,
    find_repeated_actions,
)
from deltaspec.views.table.state import TableState
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary, decode_line_stream
from deltaspec.wire.log.line_validation import contains_lone_surrogate, is_too_deep
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store

ACTIONS_OF_ONE_COMMIT = {"commitInfo", "cdc", "checkpointMetadata", "sidecar"}
"""Actions that reconciliation does not keep."""
_CHECKSUM_DIFFERENCE_RULES = ("CRC010", "CRC011", "CRC014")
"""Rules over `replay_differences` that concern version checksums only."""
_WRONG_BASE_REASON = "the checkpoint that the history starts from contradicts earlier commits"

_STATISTICS_RULE = "CKP054"
"""The rule that compares the number of statistics in a checkpoint with replay."""


def read_derived_files(source: LogSource, facts: LogFacts) -> DerivedFiles:
    """Read every derived file of the plan, and put its file actions into the buckets."""
    plan = facts.plan
    compactions = (_read_compaction(source, facts, name) for name in plan.compactions)
    checksums = (_read_checksum(source, facts, version) for version in plan.checksums)
    return DerivedFiles(
        [_read_checkpoint(source, facts, checkpoint) for checkpoint in plan.compared_checkpoints],
        [each for each in compactions if each is not None],
        [each for each in checksums if each is not None],
    )


def compare_derived_files(
    derived_files: DerivedFiles, facts: LogFacts, findings: Findings, aggregates: Aggregates
) -> None:
    """Check every derived file as a unit.

    Args:
        derived_files: whose file actions have been compared in all buckets.
        facts: of the log.
        findings: receives what is found.
        aggregates: of all buckets.
    """
    for files, read in derived_files.checkpoints:
        _check_checkpoint(facts, findings, files, read, aggregates)
    for compaction, log in derived_files.compactions:
        _check_compaction(facts, findings, compaction, log)
    for checksum, fault in derived_files.checksums:
        _check_checksum(facts, findings, checksum, fault, aggregates)


def _read_checkpoint(
    source: LogSource, facts: LogFacts, checkpoint: Checkpoint
) -> tuple[CheckpointFileActions, ParsedCheckpoint]:
    expected, context = _get_state(facts, checkpoint.version)
    tag = DERIVED_ROWS + checkpoint.files[0]
    read, check_file_actions = source.read_checkpoint(checkpoint)
    check_file_actions(context, tag)
    derived_file = _locate(facts, "checkpoint", f"{LOG_DIRECTORY}/{checkpoint.files[0]}", checkpoint.version)
    tombstone_cutoff, _ = _compute_retention_cutoffs(facts, expected)
    files = CheckpointFileActions(
        tag, derived_file, False, context.partition_columns, tombstone_cutoff, context.leaf_columns or ()
    )
    return files, read


def _read_compaction(
    source: LogSource, facts: LogFacts, name: CompactionName
) -> tuple[CompactionFileActions, LogSummary] | None:
    """Read a compaction; None if it cannot be read."""
    file = compaction_file(name)
    _, context = _get_state(facts, name.end)
    tag = DERIVED_ROWS + compaction_name(name.start, name.end)
    try:
        log, check_file_actions = source.read_compaction(name)
    except StorageError as fault:
        source.findings.mark_undecided((replay_differences, log_files.lines), str(fault), file)
        return None
    check_file_actions(context, tag)
    derived_file = DerivedFile("compaction", file, name.end)
    if log.undecoded_kinds:
        source.findings.mark_undecided((replay_differences,), "an action of the compaction cannot be decoded", file)
    has_commits = facts.plan.has_commits_of(name)
    first = bisect_left(facts.undecoded_commits, name.start)
    undecoded = facts.undecoded_commits[first : first + 1]
    is_undecoded = name.start < facts.earlier_known_from or any(version <= name.end for version in undecoded)
    if has_commits and is_undecoded:
        source.findings.mark_undecided((replay_differences,), "an action of its commits cannot be decoded", file)
    is_comparable = has_commits and not is_undecoded and not log.undecoded_kinds
    files = CompactionFileActions(tag, derived_file, name.start, is_comparable, context.partition_columns)
    return files, log


def _read_checksum(
    source: LogSource, facts: LogFacts, version: int
) -> tuple[ChecksumFileActions, tuple[str | None, str | None, str | None]] | None:
    """Read a version checksum, and put its files into the buckets; None if it cannot be read."""
    file = f"{LOG_DIRECTORY}/{checksum_name(version)}"
    try:
        data = facts.store.read(file, MAX_OBJECT_BYTES)
    except StorageError as error:
        source.findings.mark_undecided((checksums,), str(error), file)
        for code in _CHECKSUM_DIFFERENCE_RULES:
            source.findings.mark_rule_undecided(code, str(error), file)
        return None
    if is_too_deep(data):
        source.findings.mark_undecided((checksums, replay_differences), TOO_DEEP_REASON, file)
        return None
    if contains_lone_surrogate(data):
        source.findings.mark_undecided((checksums, replay_differences), LONE_SURROGATE_REASON, file)
        return None
    stated, fault, pointer = read_checksum(data)
    _, context = _get_state(facts, version)
    tag, lists_files = DERIVED_ROWS + checksum_name(version), False
    if isinstance(stated, VersionChecksum) and stated.all_files is not None:
        lists_files = True
        adds = (b'{"add":' + msgspec.json.encode(add) + b"}" for add in stated.all_files)
        rows = decode_line_stream(adds).files.table()
        columns = build_file_facts(rows, Provenance("checksum", file, version), context)
        source.buckets.put(tag, select_replay_columns(columns, compared=True))
    derived_file = _locate(facts, "checksum", file, version)
    files = ChecksumFileActions(
        tag,
        derived_file,
        _without_files(stated),
        lists_files,
        context.partition_columns,
        context.leaf_columns or (),
    )
    return files, (fault, pointer, find_repeated_checksum_key(data, stated))


def _locate(facts: LogFacts, kind: DerivedFileKind, file: str, version: int) -> DerivedFile:
    base = facts.plan.base
    is_of_base = base is not None and base.version == version
    return DerivedFile(kind, file, version, f"{LOG_DIRECTORY}/{base.files[0]}" if base and is_of_base else None)


def needs_file_fields(plan: Plan, history: str) -> bool:
    """Return whether the plan compares file actions, whatever its version checksums contain."""
    compares_earlier = bool(plan.earlier_commits) and history != "latest"
    return compares_earlier or bool(plan.compared_checkpoints or plan.compactions)


def build_read_context(store: Store, plan: Plan, options: Options) -> ReadContext:
    """Build the context for reading a log. Replay keeps the fields of file actions if the plan compares some."""
    compares_files = needs_file_fields(plan, options.history) or any(
        _lists_files(store, f"{LOG_DIRECTORY}/{checksum_name(version)}") for version in plan.checksums
    )
    return ReadContext(store, plan, options, compares_files)


def _lists_files(store: Store, file: str) -> bool:
    """Return whether a version checksum may have `allFiles`; its key may be escaped."""
    try:
        data = store.read(file, MAX_OBJECT_BYTES)
    except StorageError:  # reported when the checksum is compared
        return False
    return b'"allFiles"' in data or b"\\u00" in data


def _get_state(facts: LogFacts, version: int) -> tuple[TableActions, FileContext]:
    """Return the table state that replay gives at a version; an empty one if it is not known."""
    known = facts.compared_states.get(version)
    if known is not None:
        return known
    unknown = TableState(facts.options.revision)
    unknown.lose({None})
    return TableActions(), unknown.file_context(facts.store.root)


def _compute_retention_cutoffs(facts: LogFacts, state: TableActions) -> tuple[int | None, int | None]:
    """Compute from when on tombstones and transactions had not expired, with the retention of a state.

    Actions that have not expired at the clock of the run had not expired when the checkpoint was written.
    """
    clock_ms = facts.options.clock_ms
    if clock_ms is None or state.metadata is None:
        return None, None
    settings = state.metadata.configuration
    return compute_tombstone_cutoff_ms(settings, clock_ms), compute_transaction_cutoff_ms(settings, clock_ms)


def _evaluate_differences(findings: Findings, differences: list[Row]) -> None:
    """Evaluate differences. The rules count as run even if there is no difference."""
    findings.evaluated_views.add(replay_differences.name)
    evaluate_differences(findings, differences)


def _check_checkpoint(
    facts: LogFacts, findings: Findings, files: CheckpointFileActions, read: ParsedCheckpoint, aggregates: Aggregates
) -> None:
    derived_file = files.derived_file
    read.split_paths = aggregates.split_paths[files.tag] if files.tag in facts.multipart else None
    known = aggregates.adds_with_known_stats.get(files.tag)
    check_checkpoint(findings, read, known, configuration=facts.state.rows["configuration"])
    if facts.replay_blocked_reason is not None:
        findings.mark_rule_undecided(_STATISTICS_RULE, facts.replay_blocked_reason, derived_file.file)
    if read.incomplete_reason is not None:
        findings.mark_undecided((replay_differences,), read.incomplete_reason, derived_file.file)
        return
    expected, _ = _get_state(facts, derived_file.version)
    if aggregates.wrong_base_files:
        findings.mark_undecided((replay_differences,), _WRONG_BASE_REASON, derived_file.file)
    actions = collect_last_actions(action for _, _, action in read.actions)
    domains = {name: each for name, each in (actions.domains or {}).items() if not each.removed}
    differences: list[Row] = []
    if read.undecoded_kinds:
        findings.mark_undecided(
            (replay_differences,), "an action of the checkpoint cannot be decoded", derived_file.file
        )
    else:
        _, transaction_cutoff = _compute_retention_cutoffs(facts, expected)
        differences = compare_table_actions(
            derived_file,
            replace(actions, domains=domains),
            expected,
            retention_cutoff_ms=transaction_cutoff,
        )
        has_unknown_retention = facts.options.clock_ms is not None and transaction_cutoff is None
        if has_unknown_retention and any(each["may_have_expired"] for each in differences):
            findings.mark_rule_undecided("CKP037", "it is not known how long transactions are kept", derived_file.file)
        differences = _drop_consequences(findings, derived_file, differences, aggregates)
    _evaluate_differences(findings, differences)


def _drop_consequences(
    findings: Findings, derived_file: DerivedFile, differences: list[Row], aggregates: Aggregates
) -> list[Row]:
    """Return the differences except for actions that are wrong in the base, because replay of them may be wrong too."""
    known = [row for row in differences if (row["kind"], row["path"]) not in aggregates.wrong_base_actions]
    if len(known) < len(differences):
        findings.mark_undecided((replay_differences,), _WRONG_BASE_REASON, derived_file.file)
    return known


def _check_compaction(facts: LogFacts, findings: Findings, files: CompactionFileActions, log: LogSummary) -> None:
    derived_file = files.derived_file
    if not files.is_comparable or facts.replay_blocked_reason is not None:
        return
    table_actions = [*facts.earlier_table_actions, *facts.table_actions]
    expected = collect_last_actions(_filter_table_actions(table_actions, files.start, derived_file.version))
    kinds = {kind for kind in log.kinds if kind is not None}
    differences = [derived_file.row(kind, None, "extra") for kind in sorted(ACTIONS_OF_ONE_COMMIT & kinds)]
    stated = collect_last_actions(action for _, action in log.actions)
    differences += _replace_repeated(
        _compare_with_absences(derived_file, stated, expected),
        find_repeated_actions(derived_file, (action for _, action in log.actions)),
    )
    _evaluate_differences(findings, [{**row, "may_have_expired": False} for row in differences])


def _replace_repeated(differences: list[Row], repeated: list[Row]) -> list[Row]:
    """Replace the differences of repeated actions: the protocol does not define which of the actions counts."""
    keys = {(row["kind"], row["path"]) for row in repeated}
    return repeated + [row for row in differences if (row["kind"], row["path"]) not in keys]


def _check_checksum(
    facts: LogFacts,
    findings: Findings,
    files: ChecksumFileActions,
    fault: tuple[str | None, str | None, str | None],
    aggregates: Aggregates,
) -> None:
    version, stated = files.derived_file.version, files.stated
    commit = facts.commit_facts.get(version, CommitFacts())
    live = aggregates.live.get(version)
    if aggregates.wrong_base_files and live is not None:
        live = None
        findings.mark_undecided((checksums,), _WRONG_BASE_REASON, files.derived_file.file)
    row = build_checksum_row(files.derived_file.file, version, stated, fault, live, commit)
    if version in aggregates.all_files_faults:
        row["all_files_fault"] = aggregates.all_files_faults[version][-1]
    findings.evaluate_rows(checksums, [row])
    if not isinstance(stated, VersionChecksum):
        return
    expected, _ = _get_state(facts, version)
    actions = TableActions(
        stated.protocol,
        stated.metadata,
        None if stated.set_transactions is None else {each.app_id: each for each in stated.set_transactions},
        None if stated.domain_metadata is None else {each.domain: each for each in stated.domain_metadata},
    )
    listed = (*(stated.set_transactions or ()), *(stated.domain_metadata or ()))
    differences = _replace_repeated(
        compare_table_actions(files.derived_file, actions, expected),
        find_repeated_actions(files.derived_file, listed),
    )
    differences = _drop_consequences(findings, files.derived_file, differences, aggregates)
    _evaluate_differences(findings, differences)


def _without_files(stated: VersionChecksum | OlderChecksum | None) -> VersionChecksum | OlderChecksum | None:
    return msgspec.structs.replace(stated, all_files=None) if isinstance(stated, VersionChecksum) else stated


def _filter_table_actions(actions: list[tuple[int, WireStruct]], start: int, end: int) -> list[WireStruct]:
    wanted = model.Protocol | MetaData | Txn | DomainMetadata
    return [action for version, action in actions if start <= version <= end and isinstance(action, wanted)]


def _compare_with_absences(derived_file: DerivedFile, stated: TableActions, replayed: TableActions) -> list[Row]:
    """Compare table actions where either side may have no protocol or no metadata."""
    rows = compare_table_actions(derived_file, stated, replayed)
    for kind, action in (("protocol", "protocol"), ("metadata", "metaData")):
        is_missing = getattr(stated, kind) is None
        if is_missing is not (getattr(replayed, kind) is None):
            rows.append(derived_file.row(action, None, "missing" if is_missing else "extra"))
    return rows
