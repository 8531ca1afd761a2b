"""Wrong sizes, row counts and statistics of sound files: add the file again with true values."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from deltaspec.candidates.reference.log_reader import LoadedTable, build_state
from deltaspec.candidates.reference.row_reader import RowReader, read_table
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import Add
from deltaspec.protocol.files.statistics import parse_statistics
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.repair.changes import Change
from deltaspec.repair.context import Context, Proposal, list_rules, refuse_findings
from deltaspec.repair.kinds import lost_files
from deltaspec.repair.plan_format import Repair
from deltaspec.repair.table_log import LiveFile
from deltaspec.report.report_types import Finding
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches

_SIZE = frozenset({"DAT002", "FIL011"})
_COUNTS = frozenset({"PQT002", "FIL015", "FIL017", "DVX008"})
_STATISTICS = frozenset(
    {"FIL016", "FIL018", "STA001", "STA002", "STA003", "STA004", "STA005", "STA006", "STA007", "STA008", "STA018"}
    | {"STA014", "STA015", "STA017", "STA019", "STA030", "STA031", "STA032", "FIL023", "FIL054", "ICE007"}
)
RULES = _SIZE | _COUNTS | _STATISTICS
MAX_FILE_BYTES = 256 << 20
"""Larger files are not read: their columns are in memory while statistics are computed."""
_OVERWRITTEN = "size and statistics of the file differ from the log, so the file was probably overwritten; restore it"
_COLUMN_KEYS = ("minValues", "maxValues", "nullCount")


class _NotCorrected(ValueError):
    """Why the true values of a file are not known."""


def propose(context: Context) -> Proposal:
    """Propose to add files again with the values that the files themselves have."""
    wrong = context.group_by_file(RULES)
    lost = context.group_by_file(lost_files.RULES)
    live = context.log.find_live(wrong)
    proposal = Proposal()
    for key, findings in wrong.items():
        findings = [each for each in findings if each.severity == "violation"]
        if not findings or key in lost or key not in live:  # the file is removed
            continue
        rules = {each.rule for each in findings}
        if rules & _SIZE and rules - _SIZE:
            proposal.not_repaired += refuse_findings(findings, _OVERWRITTEN)
            continue
        try:
            change = _build_change(context, key, live[key], findings)
            proposal.changes += [] if change is None else [change]
        except _NotCorrected as fault:
            proposal.not_repaired += refuse_findings(findings, str(fault))
    return proposal


def _build_change(context: Context, key: str, file: LiveFile, findings: list[Finding]) -> Change | None:
    """Return the change that gives a file its true values; None if only an older commit has others."""
    rules = list_rules(findings)
    size = _read_size(context, key)
    values: dict[str, Any] = {"size": size}
    corrected = ["size"] if size != file.add.size else []
    if not _SIZE.issuperset(rules):
        if size > MAX_FILE_BYTES:
            raise _NotCorrected(f"the file has {size:,} bytes; statistics are computed up to {MAX_FILE_BYTES:,}")
        values["stats"] = _compute_statistics(context, key, file.add, findings)
        corrected.append("statistics")
    if not corrected:
        return None
    repair = Repair(
        kind="correct-statistics",
        rules=rules,
        summary=f"Add a readable data file again with the {' and '.join(corrected)} that it has itself.",
        files=[file.add.path],
        effect="none",
    )
    return Change(repair=repair, edits={key: lambda add: replace(add, **values)})


def _read_size(context: Context, key: str) -> int:
    """Return the size of a file whose footer can be read."""
    try:
        size = context.access.size(key)
        pq.read_metadata(context.access.open_seekable(key))
    except (DeltaspecError, OSError, ValueError) as fault:
        raise _NotCorrected(f"the file cannot be read: {fault}") from fault
    return size


def _compute_statistics(context: Context, key: str, add: Add, findings: list[Finding]) -> str:
    """Return statistics in which the columns of the findings, or all columns, have the values of the file."""
    state = build_state(context.log.snapshot)
    try:
        true = _parse(_compute_all(context, state, key, add)) or {}
    except (DeltaspecError, UnreadableRows, ValueError, OSError, pa.ArrowException) as fault:
        raise _NotCorrected(f"the rows of the file cannot be read: {fault}") from fault
    if add.deletion_vector is not None:
        true["tightBounds"] = False
    stated = _parse(add.stats) if add.stats else None
    wrong = [each for each in findings if each.rule in _STATISTICS]
    if stated is None or any(each.column is None for each in wrong):
        return _encode(true)
    stated["numRecords"] = true["numRecords"]
    for name in {_find_column(state, each.column or "") for each in wrong}:
        for group in _COLUMN_KEYS:
            values = stated.setdefault(group, {})
            values.pop(name, None)
            if name in true[group]:
                values[name] = true[group][name]
    return _encode(stated)


def _find_column(state: LoadedTable, path: str) -> str:
    """Return the physical name of the top-level column with a path."""
    names = [each for each in state.schema.fields if path == each.name or path.startswith(f"{each.name}.")]
    return physical_name(max(names, key=lambda each: len(each.name)), state.mapping) if names else path


def _parse(text: str) -> dict[str, Any] | None:
    """Return statistics with exact numbers; None if they are malformed."""
    try:
        parse_statistics(text)
        found = json.loads(text, parse_float=Decimal)
    except ValueError:
        return None
    groups_are_objects = all(isinstance(found.get(each, {}), dict) for each in _COLUMN_KEYS)
    return found if isinstance(found, dict) and groups_are_objects else None


def _encode(statistics: dict[str, Any]) -> str:
    return msgspec.json.Encoder(decimal_format="number").encode(statistics).decode()


def _compute_all(context: Context, state: LoadedTable, key: str, add: Add) -> str:
    """Return the statistics of all rows of a file."""
    with RowBatches(context.access, key) as source:
        columns = RowReader(context.access, state).build_columns(read_table(source), add.partition_values)
    names = [each.name for each in state.schema.fields]
    return FileWriter("", state).compute_statistics(pa.Table.from_arrays(columns, names=names))
