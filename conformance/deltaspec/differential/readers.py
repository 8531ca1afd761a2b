"""Compare how a candidate and the reference reader read the same table: here nothing is left to the engine."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaspec.candidates.host import Candidate, Refused
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import At, Changes, Scan, Snapshot
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.row_comparison import WrongType, find_row_difference
from deltaspec.protocol.property_names import CHANGE_DATA_FEED, ROW_TRACKING
from deltaspec.suites.changes import sign_versions
from deltaspec.suites.checks import Mismatch
from deltaspec.suites.snapshot import METADATA_FIELDS, compare_metadata, compare_protocol, compare_value
from deltaspec.suites.write_judging import list_versions


def compare_newest(candidate: Candidate, table: Path, counts: Counter[str]) -> Iterator[str]:
    """Yield differences in the rows, row ids and row commit versions of the newest version."""
    reference = InProcess(Engine())
    state = reference.snapshot(Snapshot(str(table)))
    yield from _compare_rows(candidate, reference, table, state, None, counts)


def compare_past(candidate: Candidate, table: Path, counts: Counter[str]) -> Iterator[str]:
    """Yield differences in the newest snapshot, the rows of a version in the middle and all changes."""
    reference = InProcess(Engine())
    versions = list_versions(table)
    yield from _compare_snapshots(candidate, reference, table, counts)
    middle = versions[len(versions) // 2]
    state = reference.snapshot(Snapshot(str(table), At(middle)))
    yield from _compare_rows(candidate, reference, table, state, At(middle), counts)
    for start, end in _list_recorded(reference, table, versions, counts):
        what = f"changes of versions {start} to {end}"
        request = Changes(str(table), "", start, end)
        yield from _compare_answers(what, partial(_ask_changes, request), candidate, reference, counts, "changes")


def _compare_snapshots(candidate: Candidate, reference: InProcess, table: Path, counts: Counter[str]) -> Iterator[str]:
    request = Snapshot(str(table), want=("transactions", "domains"))
    wanted = reference.snapshot(request)
    try:
        found = candidate.snapshot(request)
    except Refused as refused:
        yield f"snapshot: refused by {candidate.capabilities.name}: {refused}"
        return
    counts["snapshots read by both readers"] += 1
    try:
        compare_value("version", wanted.version, found.version)
        compare_protocol(wanted.protocol or {}, found.protocol or {})
        # a snapshot of Kernel or Spark has the metadata of the log, with `None` left out
        compare_metadata(_drop_nulls(wanted.metadata), _drop_nulls(found.metadata), METADATA_FIELDS)
        compare_value("transactions", wanted.transactions, found.transactions)
        compare_value("domains", wanted.domains, found.domains)
    except Mismatch as mismatch:
        yield f"snapshot: {mismatch}"


def _drop_nulls(metadata: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (metadata or {}).items() if value is not None}


def _compare_rows(
    candidate: Candidate, reference: InProcess, table: Path, state: Any, at: At | None, counts: Counter[str]
) -> Iterator[str]:
    configuration = (state.metadata or {}).get("configuration", {})
    has_ids = candidate.capabilities.row_ids and configuration.get(ROW_TRACKING) == "true"
    request = Scan(str(table), "", at, row_ids=has_ids)
    what = f"rows of version {state.version}"
    yield from _compare_answers(what, lambda engine: engine.scan(request).table, candidate, reference, counts, "rows")


def _ask_changes(request: Changes, engine: Candidate) -> pa.Table:
    return sign_versions(engine.changes(request).table)


def _compare_answers(
    what: str,
    ask: Callable[[Candidate], pa.Table],
    candidate: Candidate,
    reference: Candidate,
    counts: Counter[str],
    counted: str,
) -> Iterator[str]:
    wanted = ask(reference)
    try:
        difference = find_row_difference(wanted, _drop_later_columns(ask(candidate), wanted))
    except WrongType as error:
        yield f"{what}: wrong columns or types: {error}"
        return
    except Refused as refused:
        yield f"{what}: refused by {candidate.capabilities.name}: {refused}"
        return
    counts[f"{counted} read by both readers"] += wanted.num_rows
    if difference is not None:
        yield f"{what}: {difference}"


def _drop_later_columns(found: pa.Table, wanted: pa.Table) -> pa.Table:
    """Leave out null columns that are not expected: an engine may show changes with the newest schema.

    The protocol does not say whether changes have the schema of their version or the newest.
    """
    later = [name for name in found.column_names if name not in wanted.column_names]
    return found.drop_columns([name for name in later if found.column(name).null_count == found.num_rows])


def _list_recorded(
    reference: Candidate, table: Path, versions: list[int], counts: Counter[str]
) -> list[tuple[int, int]]:
    """List the longest ranges of versions with the change data feed and one schema.

    Versions with a column that the newest schema does not have are left out (see `_drop_later_columns`).
    """
    states = [reference.snapshot(Snapshot(str(table), At(version))).metadata or {} for version in versions]
    newest = {each["name"]: each["type"] for each in json.loads(states[-1]["schemaString"])["fields"]}
    found: list[tuple[int, int]] = []
    last = None
    for version, metadata in zip(versions, states, strict=True):
        schema = None
        if metadata.get("configuration", {}).get(CHANGE_DATA_FEED) == "true":
            schema = metadata["schemaString"]
            if any(newest.get(each["name"]) != each["type"] for each in json.loads(schema)["fields"]):
                counts["changes not compared: the newest schema does not have a column of theirs"] += 1
                schema = None
        if schema is not None and schema == last:
            found[-1] = (found[-1][0], version)
        elif schema is not None:
            found.append((version, version))
        last = schema
    return found
