"""Statistics that exist only as columns of a checkpoint are compared with the rows."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import TableFiles, get_action, write_table

_BOUNDS = pa.struct([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())])
_COUNTS = pa.struct([("id", pa.int64()), ("name", pa.int64()), ("price", pa.int64())])
_PARSED = pa.struct(
    [("numRecords", pa.int64()), ("minValues", _BOUNDS), ("maxValues", _BOUNDS), ("nullCount", _COUNTS)]
)


def build_cleaned_up_table(*, sidecar: bool = False, statistics: Any = None) -> TableFiles:
    """Build a table whose files b and c appear only in a checkpoint; `statistics` updates those of c."""
    files = build_table_with_data()
    adds = [get_action(files, 1, "add", 1), get_action(files, 2, "add")]
    rows = []
    for body in adds:
        parsed = json.loads(body.pop("stats"))
        if body is adds[1]:
            parsed |= statistics or {}
        rows.append({"add": {**body, "stats_parsed": parsed}})
    table = [{kind: get_action(files, 0, kind)} for kind in ("protocol", "metaData")]
    checkpoint = CheckpointFiles(2, rows=[*table, *([] if sidecar else rows)], parsed={"stats_parsed": _PARSED})
    if sidecar:
        get_action(files, 0, "protocol").update(
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["v2Checkpoint"],
                "writerFeatures": ["v2Checkpoint"],
            }
        )
        checkpoint.naming, checkpoint.v2 = "uuid-parquet", True
        checkpoint.rows.append({"checkpointMetadata": {"version": 2}})
        checkpoint.sidecars = [SidecarFile("side.parquet", list(rows))]
    files.checkpoints = [checkpoint]
    files.commits = {3: [{"commitInfo": {"timestamp": 1_704_164_645_123}}]}
    return files


def count_findings(files: TableFiles, directory: Path) -> dict[str, int]:
    write_table(files, directory / "table")
    report = deltaspec.validate(str(directory / "table"), level="rows", select=["STA"])
    assert report.checked.not_checked == []
    return dict(report.totals)


@pytest.mark.parametrize("sidecar", [False, True])
def test_correct_columns_have_no_finding(tmp_path: Path, sidecar: bool) -> None:
    assert count_findings(build_cleaned_up_table(sidecar=sidecar), tmp_path) == {}


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize(
    ("statistics", "rule"),
    [
        ({"minValues": {"id": 21}}, "STA001"),
        ({"maxValues": {"price": 0.5}}, "STA002"),
        ({"nullCount": {"name": 3}}, "STA005"),
    ],
)
def test_wrong_columns_are_found(tmp_path: Path, sidecar: bool, statistics: Any, rule: str) -> None:
    assert count_findings(build_cleaned_up_table(sidecar=sidecar, statistics=statistics), tmp_path) == {rule: 1}
