"""Check the commit of a plan: it removes live files or describes them again, and completes metadata, nothing else."""

from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.protocol.actions import Add, CommitInfo, DomainMetadata, MetaData, Protocol, Remove
from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_features import get_unchecked_effect, strip_preview_suffix
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.repair.plan_format import RepairPlan, RowEffect
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_log import LogUnusable, TableLog
from deltaspec.report.report_types import Report
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import StorageError

_ROW_IDS = "delta.rowTracking"
"""Domain of the row id mark, which a repair may create."""
_UNCHANGED_METADATA = ("id", "name", "description", "format", "partition_columns", "created_time")


def check_features(protocol: Protocol) -> None:
    """Raise `PlanRefused` for a table that a catalog manages, or that has a feature the kit does not check."""
    for name in sorted({*get_supported_features(protocol), *(protocol.reader_features or ())}):
        if strip_preview_suffix(name) in (FEATURE, "catalogOwned"):
            raise PlanRefused("a catalog manages the table, so only the catalog may commit to it")
        if get_unchecked_effect(name) is not None:
            raise PlanRefused(f"the table needs the feature {name}, which deltaspec does not check")


def check_commit(plan: RepairPlan, data: bytes, state: TableLog, report: Report) -> None:
    """Check that a commit concerns the files and the metadata that the repairs name, and nothing else.

    Args:
        plan: the plan.
        data: content of its commit.
        state: the log before the commit.
        report: of the table as it is now.

    Raises:
        PlanRefused: it does more, or the live files cannot be read.
    """
    decoded = decode_lines(data)
    if decoded.faults or decoded.unread or None in decoded.kinds:
        raise PlanRefused("a line of the commit is not an action")
    actions: list[Any] = [*(action for _, action in decoded.actions), *decoded.files.actions]
    kinds = {repair.kind for repair in plan.repairs}
    for each in actions:
        match each:
            case CommitInfo():
                continue
            case Add() | Remove():
                continue
            case MetaData() if each == state.metadata:
                continue
            case Protocol() | MetaData() | DomainMetadata() if kinds & {"raise-mark", "list-feature"}:
                _check_metadata(each, state)
            case _:
                raise PlanRefused(f"no repair of the plan needs the action {type(each).__name__} of its commit")
    changed = [each for each in actions if isinstance(each, Add | Remove)]
    try:
        live = state.find_live({state.get_key(each.path) for each in changed})
    except (LogUnusable, StorageError) as fault:
        raise PlanRefused(f"the live files of the table cannot be read: {fault}") from fault
    kept = {state.get_key(each.path) for each in changed if isinstance(each, Add)}
    named = {path for repair in plan.repairs for path in repair.files}
    for each in changed:
        before = live.get(state.get_key(each.path))
        if each.path not in named:
            raise PlanRefused(f"the commit concerns {each.path}, which no repair names")
        if before is None:
            raise PlanRefused(f"the commit concerns {each.path}, which is not a live file of the table")
        _check_file_action(plan, each, before.add, is_kept=state.get_key(each.path) in kept, report=report)


def _check_file_action(plan: RepairPlan, action: Add | Remove, before: Add, *, is_kept: bool, report: Report) -> None:
    """Check that a commit removes a live file, or describes it again, and that the repairs state the effect."""
    same_vector = get_vector_id(action) == get_vector_id(before)
    if isinstance(action, Remove):
        if not same_vector:
            raise PlanRefused(f"the commit removes {action.path} with another deletion vector than the live file has")
        if not is_kept:
            _require_effect(plan, action.path, "lost", "removes")
            _require_finding(plan, action.path, report)
    elif not same_vector:
        _require_effect(plan, action.path, "returned", "changes the deletion vector of")
        if action.deletion_vector is not None:
            raise PlanRefused(f"the commit gives {action.path} another deletion vector")


def _require_effect(plan: RepairPlan, path: str, effect: RowEffect, verb: str) -> None:
    if not any(path in each.files and each.effect == effect for each in plan.repairs):
        raise PlanRefused(f"the commit {verb} {path}, but no repair states that rows are {effect}")


def _require_finding(plan: RepairPlan, path: str, report: Report) -> None:
    """Check that a file whose rows are lost has a finding: it may have been restored after the plan was made."""
    rules = {code for each in plan.repairs if path in each.files and each.effect == "lost" for code in each.rules}
    if not any(each.path == path and each.rule in rules for each in report.findings):
        raise PlanRefused(f"the commit removes {path}, but the table has no finding about it now; make a new plan")


def _check_metadata(action: Protocol | MetaData | DomainMetadata, state: TableLog) -> None:
    """Check that metadata is raised or completed, and that nothing else of it changes."""
    match action:
        case Protocol():
            before, after = get_supported_features(state.protocol), get_supported_features(action)
            is_lower = (action.min_reader_version, action.min_writer_version) < (
                state.protocol.min_reader_version,
                state.protocol.min_writer_version,
            )
            if is_lower or not before <= after:
                raise PlanRefused("the commit takes a feature from the protocol of the table")
            check_features(action)
        case MetaData():
            for name in _UNCHANGED_METADATA:
                if getattr(action, name) != getattr(state.metadata, name):
                    raise PlanRefused(f"the commit changes the field {name} of the metadata")
            if _describe_columns(action.schema_string) != _describe_columns(state.metadata.schema_string):
                raise PlanRefused("the commit changes columns of the schema")
            if not state.metadata.configuration.keys() <= action.configuration.keys():
                raise PlanRefused("the commit takes a property from the table")
        case DomainMetadata():
            if action.removed or action.domain not in {*state.snapshot.domains, _ROW_IDS}:
                raise PlanRefused(f"the commit creates or removes the domain {action.domain}")


def _describe_columns(schema: str) -> list[tuple[str, str, bool]]:
    """Return names, types and nullability of all columns, without their metadata."""
    try:
        found = msgspec.json.decode(schema, type=dict)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise PlanRefused(f"the commit has a schema that cannot be read: {fault}") from fault
    return list(_iter_columns(found, ""))


def _iter_columns(node: object, path: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the leaves of a schema without the objects under `metadata`."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name != "metadata":
                yield from _iter_columns(value, f"{path}/{name}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _iter_columns(value, f"{path}/{number}")
    else:
        yield path, repr(node), node is None
