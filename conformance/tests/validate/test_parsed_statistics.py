"""Statistics that a checkpoint has as columns only are held against the rows as well."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaspec.validate import validate_table
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.checkpoint_files import CheckpointFiles, SidecarFile
from deltaspec_generators.data_bases import with_data

_BOUNDS = pa.struct([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())])
_COUNTS = pa.struct([("id", pa.int64()), ("name", pa.int64()), ("price", pa.int64())])
_PARSED = pa.struct(
    [("numRecords", pa.int64()), ("minValues", _BOUNDS), ("maxValues", _BOUNDS), ("nullCount", _COUNTS)]
)


def cleaned_up(*, sidecar: bool = False, statistics: Any = None) -> TableFiles:
    """Files b and c, known from a checkpoint alone; `statistics` are changes to those of c."""
    files = with_data()
    adds = [action(files, 1, "add", 1), action(files, 2, "add")]
    rows = []
    for body in adds:
        parsed = json.loads(body.pop("stats"))
        if body is adds[1]:
            parsed |= statistics or {}
        rows.append({"add": {**body, "stats_parsed": parsed}})
    table = [{kind: action(files, 0, kind)} for kind in ("protocol", "metaData")]
    checkpoint = CheckpointFiles(2, rows=[*table, *([] if sidecar else rows)], parsed={"stats_parsed": _PARSED})
    if sidecar:
        action(files, 0, "protocol").update(
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


def totals(files: TableFiles, directory: Path) -> dict[str, int]:
    write_table(files, directory / "table")
    report = validate_table(str(directory / "table"), level="rows", select=["STA"])
    assert report.checked.not_checked == []
    return dict(report.totals)


@pytest.mark.parametrize("sidecar", [False, True])
def test_true_columns_are_silent(tmp_path: Path, sidecar: bool) -> None:
    assert totals(cleaned_up(sidecar=sidecar), tmp_path) == {}


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize(
    ("statistics", "rule"),
    [
        ({"minValues": {"id": 21}}, "STA001"),
        ({"maxValues": {"price": 0.5}}, "STA002"),
        ({"nullCount": {"name": 3}}, "STA005"),
    ],
)
def test_columns_that_lie_are_found(tmp_path: Path, sidecar: bool, statistics: Any, rule: str) -> None:
    assert totals(cleaned_up(sidecar=sidecar, statistics=statistics), tmp_path) == {rule: 1}
