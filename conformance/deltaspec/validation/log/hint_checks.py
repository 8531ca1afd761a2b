"""Check the `_last_checkpoint` file against the checkpoint that it names."""

from __future__ import annotations

from collections.abc import Mapping

from deltaspec.protocol.json_values import MAX_DEPTH
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.report.report_types import DerivedFileNotCompared
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.concurrent_writes import HINT, is_hint_unchanged
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.log.checkpoints import last_checkpoint
from deltaspec.views.log.derived_file_rows import Row, build_hint_row
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_validation import contains_lone_surrogate, is_too_deep
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

TOO_DEEP_REASON = f"is nested more than {MAX_DEPTH} levels deep"
LONE_SURROGATE_REASON = "a lone surrogate is escaped; parsers keep it, replace it or fail"
MAX_OBJECT_BYTES = 256 << 20
"""Largest version checksum and `_last_checkpoint` that is read."""
HINT_FILE = f"{LOG_DIRECTORY}/{HINT}"
_COMPARED_COLUMNS = frozenset({"actual_sizes", "actual_sizes_in_bytes", "actual_add_file_counts", "schema_difference"})
"""Columns that are null if a checkpoint of the hint's version could not be read."""


def check_hint(
    facts: LogFacts, findings: Findings, parsed_checkpoints: Mapping[Checkpoint, ParsedCheckpoint]
) -> DerivedFileNotCompared | None:
    """Check the hint. Return why it was not compared with its checkpoint, if the options or the log explain it.

    Args:
        facts: of the log.
        findings: receives what is found.
        parsed_checkpoints: every checkpoint that was read.
    """
    try:
        data = facts.store.read(HINT_FILE, MAX_OBJECT_BYTES)
    except StorageError as fault:
        findings.mark_undecided((last_checkpoint,), str(fault), HINT_FILE)
        return None
    if is_too_deep(data):
        findings.mark_undecided((last_checkpoint,), TOO_DEEP_REASON, HINT_FILE)
        return None
    if contains_lone_surrogate(data):
        findings.mark_undecided((last_checkpoint,), LONE_SURROGATE_REASON, HINT_FILE)
        return None
    is_empty = not data.strip()  # it counts as absent
    row: Row = (
        {"file": HINT_FILE, "is_empty": True}
        if is_empty
        else build_hint_row(
            data, facts.plan.listed_checkpoints, parsed_checkpoints, facts.plan.sizes, facts.options.revision
        )
    )
    found = findings.copy_without_findings()
    found.evaluate_rows(last_checkpoint, [row])
    if found.found_rules and not is_hint_unchanged(facts.store, facts.plan):
        findings.mark_undecided((last_checkpoint,), "was overwritten after the log was listed", HINT_FILE)
        return None
    findings.evaluate_rows(last_checkpoint, [row])
    return None if is_empty else _explain_uncompared(facts, findings, row, parsed_checkpoints)


def _explain_uncompared(
    facts: LogFacts, findings: Findings, row: Row, parsed_checkpoints: Mapping[Checkpoint, ParsedCheckpoint]
) -> DerivedFileNotCompared | None:
    """Return why the checkpoint that the hint names was not read; record in the ledger if it could not be."""
    version, newest, plan = row.get("version"), row["newest_checkpoint"], facts.plan
    if version is None or newest is None or version > newest:  # a finding says so
        return None
    of_version = [each for each in plan.listed_checkpoints if each.version == version]
    reads = [parsed_checkpoints[each] for each in of_version if each in parsed_checkpoints]
    for reason in filter(None, (each.incomplete_reason for each in reads)):
        findings.mark_undecided((last_checkpoint,), reason, HINT_FILE, read_columns=_COMPARED_COLUMNS)
    if of_version and len(reads) == len(of_version):
        return None
    if not of_version:
        reason = f"no complete checkpoint of version {version} is listed"
    elif version > plan.version:
        reason = f"its checkpoint is later than version {plan.version}"
    elif facts.options.history != "all":
        reason = f"its checkpoint was not read: history is {facts.options.history}"
    else:
        reason = "its checkpoint was not read"
    return DerivedFileNotCompared(file=HINT_FILE, reason=reason)
