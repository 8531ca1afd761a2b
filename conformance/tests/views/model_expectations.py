"""Model results that views are compared with, and commits of arbitrary actions."""

import json
from typing import Any

from helpers.recording_run import DecodedLog, RecordingRun
from hypothesis import strategies as st

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Add, Remove
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action

Row = dict[str, Any]
LOG = "_delta_log"


def project_rows(run: RecordingRun, view: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of a view, projected to columns and sorted."""
    return sort_rows(tuple(_hashable(row[name]) for name in columns) for row in run.recorded.rows(view))


def sort_rows(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def num_records(add: Add) -> int | None:
    return None if add.stats is None else json.loads(add.stats).get("numRecords")


def cardinality(action: Add | Remove) -> int | None:
    return action.deletion_vector.cardinality if action.deletion_vector else None


def compute_snapshots(run: RecordingRun, decoded: DecodedLog) -> dict[int, Snapshot]:
    return decoded.snapshots(run.plan.base, run.plan.version, run.facts.options.revision)


def list_actions(run: RecordingRun, decoded: DecodedLog) -> list[tuple[int, str, int, str, Any]]:
    """Return version, file, line, kind and body of the actions of the base and the commits after it, in order."""
    base = run.plan.base
    found = []
    if base is not None:
        found = [(base.version, f"{LOG}/{base.files[0]}", line, *row) for _, line, *row in decoded.checkpoint(base)]
    for version in run.plan.commits:
        found += [(version, f"{LOG}/{version:020}.json", *row) for row in decoded.commits[version]]
    return found


_PATHS = ("a", "b%20c", "b c", "%61", "x/../a", "./a", "%2E/d", "d", "s3://t/d", "S3://t/./d")
_VECTORS = (None, "one", "two")


@st.composite
def arbitrary_commits(draw: st.DrawFn) -> TableFiles:
    """Draw commits of arbitrary file actions: added twice, removed twice, both together, in unusual encodings."""
    files = TableFiles()
    files.commits[0] = [
        protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"]),
        metadata_action([("x", "long")]),
    ]
    for version in range(draw(st.integers(1, 6))):
        lines = files.commits.setdefault(version, [])
        for number in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(("add", "remove", "cdc")))
            body: Row = {"path": draw(st.sampled_from(_PATHS)), "dataChange": True, "size": 10 * version + number}
            if kind != "cdc" and (name := draw(st.sampled_from(_VECTORS))):
                body["deletionVector"] = {
                    "storageType": "p",
                    "pathOrInlineDv": f"file:///{name}.bin",
                    "offset": 1,
                    "sizeInBytes": 40,
                    "cardinality": number + 1,
                }
            if kind != "remove":
                body["partitionValues"] = {}
            if kind == "add":
                body["modificationTime"] = 1
                body["stats"] = json.dumps({"numRecords": 100 * version + number})
            lines.append({kind: body})
        if not lines:
            lines.append({"commitInfo": {}})
    return files
