"""Features that a table uses and that its protocol does not list: list them, where that changes no row."""

from __future__ import annotations

from collections.abc import Iterator

from deltaspec.protocol.features.table_features import FEATURES, get_feature, get_required_features
from deltaspec.repair.changes import Change
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.plan_format import Repair
from deltaspec.report.report_types import Finding

RULES = frozenset({"CFG002", "CFG004", "DOM001", "DOM011", "EVO001", "FEA004", "FIL014", "FIL070", "PRO008", "CON001"})
_CHANGES_MEANING = {
    "catalogManaged": "a catalog must manage the table first",
    "columnMapping": "readers would resolve the columns of all files in another way",
    "icebergCompatV1": "all files must be checked and perhaps rewritten first",
    "icebergCompatV2": "all files must be checked and perhaps rewritten first",
    "icebergCompatV3": "all files must be checked and perhaps rewritten first",
    "inCommitTimestamp": "every commit from then on needs a timestamp, and the metadata must say since when",
    "rowTracking": "every live file needs row ids first",
}
"""Features that an action of the protocol alone does not make true, and why."""


def propose(context: Context) -> Proposal:
    """Propose to add missing features to the protocol."""
    proposal = Proposal()
    features: set[str] = set()
    ended: list[Finding] = []
    for finding in context.select(RULES):
        names = set(_find_features(finding))
        names |= {other for name in names for other in get_required_features(name)}
        blocked = sorted(name for name in names if name in _CHANGES_MEANING or get_feature(name) is None)
        if not names:
            reason = "the finding names no feature"
            proposal.not_repaired += refuse_findings([finding], reason)
        elif blocked:
            why = _CHANGES_MEANING.get(blocked[0], "deltaspec does not know it")
            proposal.not_repaired += refuse_findings([finding], f"{blocked[0]} cannot just be listed: {why}")
        else:
            features |= names
            ended.append(finding)
    if features:
        repair = Repair(
            kind="list-feature",
            rules=list_rules(ended),
            summary=f"List features that the table uses: {', '.join(sorted(features))}.",
            files=[],
            effect="none",
        )
        proposal.changes.append(Change(repair=repair, features=frozenset(features)))
    return proposal


def _find_features(finding: Finding) -> Iterator[str]:
    """Yield the features that a finding misses."""
    match finding.rule:
        case "DOM001":
            yield "domainMetadata"
        case "FIL014" | "FIL070":
            yield "deletionVectors"
    for value in finding.evidence.values():
        for text in value if isinstance(value, list) else [value]:
            name = str(text).partition(":")[0].strip()
            if name in FEATURES:
                yield name
