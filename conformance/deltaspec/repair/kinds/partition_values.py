"""Missing or malformed partition values: take them from the directory or a stored column, if every file agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import build_state
from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import Add
from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    find_deviation,
    parse_partition_value,
    serialize_partition_value,
)
from deltaspec.protocol.schema.column_mapping import get_partition_types
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.repair.changes import Change
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.kinds import lost_files
from deltaspec.repair.plan_format import Repair
from deltaspec.report.report_types import Finding

RULES = frozenset({"FIL007", "FIL009", "FIL064"})
_NULL = "__HIVE_DEFAULT_PARTITION__"


class _NotKnown(ValueError):
    """Why the value of a partition column is not known."""


def propose(context: Context) -> Proposal:
    """Propose partition values that directories and files agree on."""
    wrong = context.group_by_file(RULES)
    proposal = Proposal()
    if not wrong:
        return proposal
    lost = context.group_by_file(lost_files.RULES)
    live = context.log.find_live(wrong)
    state = build_state(context.log.snapshot)
    types = get_partition_types(state.schema, state.partition_columns, state.mapping)
    disagreeing = _find_disagreeing_columns(context, types)
    for key, findings in wrong.items():
        if key in lost or key not in live:
            continue
        add = live[key].add
        try:
            values = {
                name: _find_value(context, key, name, kind, disagreeing)
                for name, kind in types.items()
                if not _is_defined(add.partition_values, name, kind)
            }
        except _NotKnown as fault:
            proposal.not_repaired += refuse_findings(findings, str(fault))
            continue
        if values:
            proposal.changes.append(_build_change(key, add, values, findings))
    return proposal


def _build_change(key: str, add: Add, values: Mapping[str, str | None], findings: list[Finding]) -> Change:
    shown = ", ".join(f"{name}={value}" for name, value in values.items())
    repair = Repair(
        kind="set-partition-value",
        rules=list_rules(findings),
        summary=f"Add a file again with the partition values that its directory or its rows have: {shown}.",
        files=[add.path],
        effect="none",
    )
    return Change(
        repair=repair,
        edits={key: lambda each: replace(each, partition_values={**each.partition_values, **values})},
    )


def _is_defined(values: Mapping[str, str | None], name: str, kind: DataType) -> bool:
    """Return whether a partition value exists and has a form that the protocol defines."""
    try:
        parse_partition_value(values.get(name), kind)
    except PartitionValueError:
        return False
    return name in values and find_deviation(values[name], kind) != "undefined"


def _find_disagreeing_columns(context: Context, types: Mapping[str, DataType]) -> set[str]:
    """Return the partition columns for which a live file has another value in the log than in its directory."""
    found: set[str] = set()
    for _, action in context.log.iter_file_actions():
        if not isinstance(action, Add):
            continue
        directories = _parse_directories(context.log.get_key(action.path))
        for name in types.keys() & directories.keys() - found:
            if _is_defined(action.partition_values, name, types[name]) and not _are_equal(
                action.partition_values[name], directories[name], types[name]
            ):
                found.add(name)
    return found


def _find_value(context: Context, key: str, name: str, kind: DataType, disagreeing: set[str]) -> str | None:
    """Return the text of a partition value.

    Raises:
        _NotKnown: neither the directory nor the file has it, or they disagree.
    """
    candidates: list[str | None] = []
    directories = _parse_directories(key)
    if name in directories and name not in disagreeing:
        candidates.append(directories[name])
    candidates += _read_stored(context, key, name)
    valid = [each for each in candidates if _is_defined({name: each}, name, kind)]
    if not candidates or len(valid) != len(candidates):
        raise _NotKnown(f"neither the directory nor a stored column has a value of {name} in a defined form")
    if any(not _are_equal(valid[0], each, kind) for each in valid):
        raise _NotKnown(f"the directory and the rows of the file disagree on {name}")
    return serialize_partition_value(parse_partition_value(valid[0], kind), kind)


def _parse_directories(key: str) -> dict[str, str | None]:
    """Return the values in directory names such as `day=2026-01-01`."""
    found: dict[str, str | None] = {}
    for segment in key.split("/")[:-1]:
        name, equals, text = segment.partition("=")
        if equals:
            value = unquote(text)
            found[unquote(name)] = None if value == _NULL else value
    return found


def _read_stored(context: Context, key: str, name: str) -> list[str | None]:
    """Return the only value of a column that the file stores; empty if it does not store the column."""
    try:
        file = pq.ParquetFile(context.access.open_seekable(key))
        if name not in file.schema_arrow.names:
            return []
        values: set[Any] = set()
        for batch in file.iter_batches(columns=[name]):
            values.update(batch.column(0).unique().to_pylist())
            if len(values) > 1:
                raise _NotKnown(f"the rows of the file have several values of {name}")
    except (DeltaspecError, OSError) as fault:
        raise _NotKnown(f"the file cannot be read: {fault}") from fault
    if any(isinstance(each, bytes) for each in values):
        raise _NotKnown(f"binary values of {name} have no text form that all engines share")
    return [None if each is None else str(each).lower() if isinstance(each, bool) else str(each) for each in values]


def _are_equal(first: str | None, second: str | None, kind: DataType) -> bool:
    try:
        left: Any = parse_partition_value(first, kind)
        right: Any = parse_partition_value(second, kind)
    except PartitionValueError:
        return False
    return bool(left == right)
