"""Checkpoints, compactions, checksums and hints that contradict the commits: set them aside, write a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CompactionName,
    LastCheckpointName,
    LogFileName,
    MultipartCheckpoint,
    SidecarName,
    UuidCheckpoint,
    classic_checkpoint_name,
    parse_log_file_name,
)
from deltaspec.repair.changes import HINT, Change, has_hadoop_checksum
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.plan_format import Repair
from deltaspec.repair.table_log import LogUnusable, StateTooLarge, open_table_log
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import count
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry

_CHECKPOINTS = (ClassicCheckpoint, MultipartCheckpoint, UuidCheckpoint)
_DERIVED = (*_CHECKPOINTS, SidecarName, CompactionName, ChecksumName, LastCheckpointName)
_PREFIXES = ("CKP", "COP", "CRC", "LCP", "LIN")
_RULES = frozenset({"FIL020", "FIL040", "FIL041"})
_BEYOND = frozenset({"LOG005", "LOG011"})
CHOICE = "later=set-aside"
_IS_BEYOND = (
    "the file is of a later version than the newest commit. If commits are lost, restore them from a backup or an "
    "earlier version of the object, and keep the file until then. If they never succeeded, choose to set it aside"
)
LIVE_DIFFERS = frozenset({"CKP030", "CKP031", "CKP032"})
"""Rules that find other live files in a checkpoint than in the commits."""
_COMMITS_DISPUTED = frozenset({"COM020", "COM021", "COM022", "FIL030", "FIL032", "FIL033", "FIL037"})
_DISPUTED = (
    "the checkpoint and the commits define different live files, and {rules} says that the commits are disputed: "
    "compare the rows before one of them is set aside"
)
_GONE = "the commits before it are gone, and no other complete checkpoint leads to the latest version"


def find_distrusted(report: Report, entries: Mapping[str, Entry]) -> frozenset[str]:
    """Return the derived files of the log that findings concern, with all files of their checkpoints."""
    found: set[str] = set()
    for each in report.findings:
        if is_about_derived_file(each):
            found.update(_find_files(each, entries))
    return frozenset(found)


def is_about_derived_file(finding: Finding) -> bool:
    """Return whether setting a derived file aside ends a finding."""
    if finding.severity != "violation" or not (finding.rule.startswith(_PREFIXES) or finding.rule in _RULES):
        return False
    return isinstance(_parse(finding), _DERIVED)


def _parse(finding: Finding) -> LogFileName | None:
    name = (finding.file or "").removeprefix(f"{LOG_DIRECTORY}/")
    return parse_log_file_name(name) if name else None


def _find_files(finding: Finding, entries: Mapping[str, Entry]) -> list[str]:
    """Return the listed files to set aside for a finding."""
    parsed = _parse(finding)
    version = finding.version if isinstance(parsed, SidecarName) else getattr(parsed, "version", None)
    if isinstance(parsed, SidecarName | UuidCheckpoint):
        kinds: tuple[type, ...] = (
            (UuidCheckpoint, ClassicCheckpoint) if isinstance(parsed, SidecarName) else (UuidCheckpoint,)
        )
    elif isinstance(parsed, _CHECKPOINTS):
        kinds = (type(parsed),)
    else:
        name = (finding.file or "").removeprefix(f"{LOG_DIRECTORY}/")
        return [name] if name in entries else []
    return [
        name
        for name, entry in entries.items()
        if isinstance(entry.log_name, kinds) and getattr(entry.log_name, "version", None) == version
    ]


def propose(context: Context) -> Proposal:
    """Propose to set aside the derived files that findings concern."""
    proposal = Proposal()
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for each in context.report.findings:
        if is_about_derived_file(each) and (listed := _find_files(each, context.entries)):
            groups.setdefault(tuple(sorted(listed)), []).append(each)
    disputed = find_disputed(context)
    for names, findings in groups.items():
        is_checkpoint = any(isinstance(parse_log_file_name(name), _CHECKPOINTS) for name in names)
        base = context.log.base
        if is_checkpoint and base is not None and not set(names).isdisjoint(base.checkpoint.files):
            proposal.not_repaired += refuse_findings(findings, _GONE)
        elif disputing := _list_disputing(context, findings, disputed):
            reason = _DISPUTED.format(rules=" and ".join(disputing))
            proposal.not_repaired += refuse_findings(findings, reason)
        else:
            proposal.changes += _build_changes(context, names, findings, is_checkpoint=is_checkpoint)
    for each in context.select(_BEYOND):
        if not context.choices.sets_later_aside:
            proposal.not_repaired += refuse_findings([each], _IS_BEYOND, [CHOICE])
        else:
            proposal.changes += _build_changes(context, tuple(_find_files(each, context.entries)), [each])
    return proposal


def find_disputed(context: Context) -> dict[str, list[str]]:
    """Return the files that a checkpoint and the commits do not agree on and that have another violation, by key.

    The commit may then be what is damaged, and the checkpoint right. The values are the rules of these violations.
    """
    differing = {context.log.get_key(each.path) for each in context.select(LIVE_DIFFERS) if each.path is not None}
    found: dict[str, list[Finding]] = {}
    for each in context.report.findings:
        is_about_data = each.severity == "violation" and not each.rule.startswith(_PREFIXES)
        if is_about_data and each.path is not None and (key := context.log.get_key(each.path)) in differing:
            found.setdefault(key, []).append(each)
    return {key: list_rules(findings) for key, findings in found.items()}


def _list_disputing(context: Context, findings: list[Finding], disputed: Mapping[str, list[str]]) -> list[str]:
    """Return the rules that make it doubtful whether the commits or the derived file of some findings are right."""
    differing = [each for each in findings if each.rule in LIVE_DIFFERS]
    keys = {context.log.get_key(each.path) for each in differing if each.path is not None}
    rules = {code for key in keys for code in disputed.get(key, ())}
    return sorted(rules | ({each.rule for each in context.select(_COMMITS_DISPUTED)} if differing else set()))


def _build_changes(
    context: Context, names: tuple[str, ...], findings: list[Finding], *, is_checkpoint: bool = False
) -> Iterable[Change]:
    rules = list_rules(findings)
    what = "a checkpoint" if is_checkpoint else _name(parse_log_file_name(names[0]))
    set_aside = (*names, HINT) if is_checkpoint and HINT in context.entries else names
    changes = f"{count(len(names), 'file')} of the log" if len(names) > 1 else names[0]
    repair = Repair(
        kind="set-aside-derived-file",
        rules=rules,
        summary=f"Set aside {what} that is damaged or contradicts the commits ({changes}); readers use the commits.",
        files=list(names),
        effect="none",
    )
    yield Change(repair=repair, set_aside=set_aside)
    if not is_checkpoint:
        return
    version = getattr(parse_log_file_name(names[0]), "version", None)
    state = None if version is None else _read_state(context, version)
    if version is not None and state is not None:
        repair = Repair(
            kind="write-checkpoint",
            rules=rules,
            summary=f"Write a checkpoint of version {version} from the commits.",
            files=[f"{version:020}.checkpoint.parquet"],
            effect="none",
        )
        yield Change(repair=repair, checkpoints={version: state})


def _read_state(context: Context, version: int) -> Snapshot | None:
    """Return the state of a version without the files that findings concern; None if it is not known or too large."""
    entries = {name: entry for name, entry in context.entries.items() if name not in context.distrusted}
    name = classic_checkpoint_name(version)
    if name in entries or has_hadoop_checksum(entries, name):  # a sound one remains, or Hadoop would refuse a new one
        return None
    try:
        return open_table_log(context.store, entries, version).read_state()
    except (LogUnusable, StateTooLarge):
        return None


def _name(parsed: LogFileName) -> str:
    match parsed:
        case CompactionName():
            return "a log compaction"
        case ChecksumName():
            return "a version checksum"
        case LastCheckpointName():
            return "the hint to the last checkpoint"
    return "a file"
