"""Damage in old files of the log: set the history aside, or return to a version, if the user chooses it."""

from __future__ import annotations

from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    LastCheckpointName,
    MultipartCheckpoint,
    SidecarName,
    UuidCheckpoint,
)
from deltaspec.repair.changes import HINT, Change
from deltaspec.repair.context import Context, Proposal, refuse_findings
from deltaspec.repair.kinds import derived_files
from deltaspec.repair.plan_format import Repair
from deltaspec.report.report_types import Finding
from deltaspec.report.text import count

CHOICE = "history=set-aside"
_VERSIONED = (CommitName, ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint, ChecksumName)
_PROTECTED = "checkpointProtection forbids deleting commits and checkpoints of this table"
_OF_FILES = ("FIL", "COM", "LIN", "CMP", "RID", "PRO", "CFG", "DOM", "FEA", "MET", "EVO", "CKP", "LOG", "ICE", "CON")
_BEYOND_THE_LOG = frozenset({"LOG005", "LOG011"})


DISPUTES = frozenset({"COM020", "COM021", "COM022", "FIL032", "FIL033", "FIL037"})
"""Rules whose findings say that readers may disagree on the rows of the table."""
DISPUTED = (
    "the commits are disputed, so readers may disagree on the rows. Compare the rows, and run RESTORE in an engine; "
    "setting the history aside would only hide it"
)


def is_about_history(finding: Finding, version: int) -> bool:
    """Return whether a finding concerns a file of the log that a later checkpoint replaces."""
    return (
        finding.rule not in DISPUTES | _BEYOND_THE_LOG
        and finding.file is not None
        and (finding.version is None or finding.version <= version)
        and (finding.rule.startswith(_OF_FILES) and finding.level == "log")
    )


def propose(context: Context) -> Proposal:
    """Propose a checkpoint of the repaired state, which replaces all earlier files of the log."""
    proposal = Proposal()
    if not context.choices.sets_history_aside:
        return proposal
    if supports(context.log.protocol, "checkpointProtection"):
        findings = [each for each in context.report.findings if is_about_history(each, context.log.version)]
        proposal.not_repaired += refuse_findings(findings, _PROTECTED)
        return proposal
    if disputes := context.select(DISPUTES):
        proposal.not_repaired += refuse_findings(disputes, DISPUTED)
        return proposal
    if disputed := derived_files.find_disputed(context):
        rules = {code for codes in disputed.values() for code in codes}
        proposal.not_repaired += refuse_findings(context.select(rules | derived_files.LIVE_DIFFERS), DISPUTED)
        return proposal
    proposal.changes.append(build_change(context))
    return proposal


def build_change(context: Context) -> Change:
    """Return the change that replaces all files of the log by a checkpoint of the next version."""
    version = context.log.version
    old = [name for name, entry in sorted(context.entries.items()) if _is_replaced(entry.log_name, version)]
    repair = Repair(
        kind="set-aside-history",
        rules=sorted({each.rule for each in context.report.findings if is_about_history(each, version)}),
        summary=(
            f"Write a checkpoint of version {version + 1} and set aside {count(len(old), 'older file')} of the log. "
            f"Versions up to {version} cannot be read any more, and streams and change data feeds that have not read "
            "them fail."
        ),
        files=old,
        effect="none",
    )
    hint = (HINT,) if HINT in context.entries else ()
    return Change(
        repair=repair,
        set_aside=hint,
        set_aside_after=tuple(name for name in old if name != HINT),
        checkpoints={version + 1: None},
        needs_commit=True,
    )


def _is_replaced(name: object, version: int) -> bool:
    match name:
        case CompactionName(end=end):
            return end <= version
        case SidecarName() | LastCheckpointName():
            return True
    return isinstance(name, _VERSIONED) and name.version <= version
