"""Marks that are too low: row ids, column ids, identity values."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import build_state
from deltaspec.protocol.actions import Add, DomainMetadata, MetaData
from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.features.identity_columns import read_identity
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.files.statistics import count_records
from deltaspec.protocol.property_names import IDENTITY_HIGH_WATER_MARK, MAX_COLUMN_ID
from deltaspec.protocol.schema.column_mapping import find_max_column_id
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema, serialize_schema
from deltaspec.repair.changes import Change
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.plan_format import Repair
from deltaspec.report.report_types import Finding

_ROW_IDS = frozenset({"RID002", "RID003", "RID027"})
_COLUMN_IDS = frozenset({"CMP005"})
_IDENTITY = frozenset({"IDN003"})
RULES = _ROW_IDS | _COLUMN_IDS | _IDENTITY


def propose(context: Context) -> Proposal:
    """Propose to raise marks to the largest value in use."""
    proposal = Proposal()
    if findings := context.select(_ROW_IDS):
        _raise_row_id_mark(context, findings, proposal)
    if findings := context.select(_COLUMN_IDS):
        _raise_column_id(context, findings, proposal)
    columns: dict[str, list[Finding]] = {}
    for each in context.select(_IDENTITY):
        columns.setdefault(each.column or "", []).append(each)
    for column, findings in columns.items():
        _raise_identity_mark(context, column, findings, proposal)
    return proposal


def _build_repair(rules: Iterable[Finding], summary: str) -> Repair:
    return Repair(kind="raise-mark", rules=list_rules(rules), summary=summary, files=[], effect="none")


def _raise_row_id_mark(context: Context, findings: list[Finding], proposal: Proposal) -> None:
    if not supports(context.log.protocol, "domainMetadata"):
        proposal.not_repaired += refuse_findings(findings, "the mark is a domain, and domainMetadata is not supported")
        return
    domain = context.log.snapshot.domains.get(row_tracking.DOMAIN)
    stated = None if domain is None else row_tracking.parse_high_water_mark(domain.configuration)
    mark = -1 if stated is None else stated
    for _, action in context.log.iter_file_actions():
        if isinstance(action, Add) and action.base_row_id is not None:
            records = count_records(action)
            if records is None:
                reason = f"{action.path} has row ids, and the log does not say how many rows it has"
                proposal.not_repaired += refuse_findings(findings, reason)
                return
            mark = max(mark, action.base_row_id + records - 1)
    if mark == stated:  # only an older commit had a lower one
        return
    text = msgspec.json.encode({row_tracking.MARK_KEY: mark}).decode()
    raised = DomainMetadata(domain=row_tracking.DOMAIN, configuration=text, removed=False)
    repair = _build_repair(findings, f"Raise the high-water mark of row ids from {stated} to {mark}.")
    proposal.changes.append(Change(repair=repair, domains=(raised,)))


def _raise_column_id(context: Context, findings: list[Finding], proposal: Proposal) -> None:
    highest = find_max_column_id(build_state(context.log.snapshot).schema)
    if highest is None:
        proposal.not_repaired += refuse_findings(findings, "no column of the latest version has an id")
        return
    stated = context.log.metadata.configuration.get(MAX_COLUMN_ID)
    if stated is not None and stated.isdecimal() and int(stated) >= highest:  # only an older commit had a lower one
        return

    def edit(metadata: MetaData) -> MetaData:
        return replace(metadata, configuration={**metadata.configuration, MAX_COLUMN_ID: str(highest)})

    repair = _build_repair(findings, f"Raise {MAX_COLUMN_ID} from {stated} to {highest}.")
    proposal.changes.append(Change(repair=repair, edit_metadata=edit))


def _raise_identity_mark(context: Context, column: str, findings: list[Finding], proposal: Proposal) -> None:
    """Set the mark of an identity column to the last value in a file, which the evidence has."""
    values = [each.evidence.get("last_value") for each in findings]
    numbers = [each for each in values if isinstance(each, int)]
    field = next((each for each in build_state(context.log.snapshot).schema.fields if each.name == column), None)
    identity = None if field is None else read_identity(field.metadata)
    if identity is None or not identity.step or not numbers or len(numbers) != len(values):
        proposal.not_repaired += refuse_findings(findings, "the last value of the column is not known")
        return
    mark = max(numbers) if identity.step > 0 else min(numbers)

    def edit(metadata: MetaData) -> MetaData:
        fields = [
            replace(each, metadata={**each.metadata, IDENTITY_HIGH_WATER_MARK: mark}) if each.name == column else each
            for each in parse_schema(metadata.schema_string).fields
        ]
        return replace(metadata, schema_string=serialize_schema(Struct(tuple(fields))))

    repair = _build_repair(findings, f"Raise the mark of the identity column {json.dumps(column)} to {mark}.")
    proposal.changes.append(Change(repair=repair, edit_metadata=edit))
