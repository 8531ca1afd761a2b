"""Features that a table uses and that its protocol does not list: list them, where that changes no row."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.features.table_features import (
    FEATURES,
    MAX_READER_VERSION,
    MAX_WRITER_VERSION,
    get_feature,
    get_required_features,
)
from deltaspec.protocol.property_names import (
    IN_COMMIT_TIMESTAMPS_SINCE_TIME,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from deltaspec.repair.changes import Change, compute_commit_timestamp
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.plan_format import Repair
from deltaspec.report.report_types import Finding

_READER_LISTS = frozenset({"FEA003", "PRO003"})
"""Rules that find reader-writer features that only `writerFeatures` lists."""
_WRITER_LISTS = frozenset({"FEA001", "PRO004"})
RULES = frozenset({"CFG004", "DOM001", "DOM011", "FEA004", "FIL014", "FIL070", "PRO008"}) | _READER_LISTS
"""Only violations: a divergence may be on purpose, and a new feature keeps older engines out."""
_NO_LIST = (
    "the protocol has no writerFeatures, and which features the table supported is known only from a backup or an "
    "earlier version; run RESTORE in an engine that loads the table"
)
_CHANGES_MEANING = {
    "catalogManaged": "a catalog must manage the table first",
    "columnMapping": "readers would resolve the columns of all files in another way",
    "icebergCompatV1": "all files must be checked and perhaps rewritten first",
    "icebergCompatV2": "all files must be checked and perhaps rewritten first",
    "icebergCompatV3": "all files must be checked and perhaps rewritten first",
}
"""Features that an action of the protocol alone does not make true, and why."""


_ICT, _ROW_TRACKING = "inCommitTimestamp", "rowTracking"


def propose(context: Context) -> Proposal:
    """Propose to add missing features to the protocol."""
    proposal = Proposal()
    protocol = context.log.protocol
    if protocol.min_writer_version >= MAX_WRITER_VERSION and protocol.writer_features is None:
        proposal.not_repaired += refuse_findings(context.select(RULES | _WRITER_LISTS), _NO_LIST)
        return proposal
    supported = get_supported_features(protocol)
    listed = supported & get_reader_features(protocol) | {name for name in supported if not _is_of_readers(name)}
    features: set[str] = set()
    ended: list[Finding] = []
    for finding in context.select(RULES):
        named = supported if finding.rule in _READER_LISTS else set(_find_features(finding))
        names = {each for name in named for each in (name, *get_required_features(name))} - listed
        is_without_list = finding.rule == "PRO003" and _has_no_reader_list(protocol)
        if not named and not is_without_list:
            proposal.not_repaired += refuse_findings([finding], "the finding names no feature")
        elif (reason := _find_obstacle(context, names)) is not None:
            proposal.not_repaired += refuse_findings([finding], reason)
        elif names or is_without_list:
            features |= names or supported
            ended.append(finding)
    if ended:
        proposal.changes.append(_build_change(context, features, ended))
    return proposal


def _build_change(context: Context, features: set[str], ended: list[Finding]) -> Change:
    shown = ", ".join(sorted(features)) or "none"
    summary = f"List features that the table uses: {shown}."
    edit = None
    if _ICT in features:
        version = context.log.version + 1
        summary += f" In-commit timestamps are enabled from version {version} on."
        moment = compute_commit_timestamp(context.log, context.created_ms)

        def edit(metadata: MetaData) -> MetaData:
            since = {IN_COMMIT_TIMESTAMPS_SINCE_VERSION: str(version), IN_COMMIT_TIMESTAMPS_SINCE_TIME: str(moment)}
            return replace(metadata, configuration={**metadata.configuration, **since})

    repair = Repair(kind="list-feature", rules=list_rules(ended), summary=summary, files=[], effect="none")
    return Change(repair=repair, features=frozenset(features), edit_metadata=edit)


def _find_obstacle(context: Context, names: set[str]) -> str | None:
    """Return why features cannot be listed; None if they can."""
    for name in sorted(names - get_supported_features(context.log.protocol)):
        if get_feature(name) is None or name in _CHANGES_MEANING:
            why = _CHANGES_MEANING.get(name, "deltaspec does not know it")
            return f"{name} cannot just be listed: {why}"
    if _ROW_TRACKING not in names:
        return None
    properties = context.log.metadata.configuration
    if missing := [each for each in (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN) if each not in properties]:
        return f"{_ROW_TRACKING} cannot just be listed: the metadata has no {' and no '.join(missing)}"
    adds = [file.add for _, file in context.log.iter_live()]
    without = sum(each.base_row_id is None or each.default_row_commit_version is None for each in adds)
    if without:
        return f"{_ROW_TRACKING} cannot just be listed: {without:,} of {len(adds):,} live files have no row ids"
    return None


def _has_no_reader_list(protocol: Protocol) -> bool:
    return protocol.min_reader_version >= MAX_READER_VERSION and protocol.reader_features is None


def _is_of_readers(name: str) -> bool:
    """Return whether readers must support a feature, too."""
    feature = FEATURES.get(name)
    return feature is not None and feature.kind == "reader-writer"


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
