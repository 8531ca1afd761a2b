"""Tombstones of checkpoints that leave out fields of the remove action (E10), and those that contradict it."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile
from deltaspec_generators.table_files import TableFiles, get_action, write_table
from planted_tables.bases import log_only

NAMINGS = ["classic", "multipart", "uuid-parquet", "uuid-json"]
HASHED = "CKP070"
"""Divergence of any checkpoint whose parts are not in hash order."""


def build_checkpointed_table(naming: Any, remove: dict[str, Any], changed: dict[str, Any]) -> TableFiles:
    """Build a table whose checkpoint of version 2 has a changed tombstone; None drops a field.

    Args:
        naming: of the checkpoint.
        remove: changed fields of the remove action.
        changed: changed fields of the tombstone.
    """
    is_v2 = naming.startswith("uuid")
    files = log_only.build_table_with_features("v2Checkpoint") if is_v2 else log_only.build_table()
    action = get_action(files, 2, "remove")
    action.update(remove)
    tombstone = {name: value for name, value in {**action, **changed}.items() if value is not None}
    state = [*files.commits[0][1:], files.commits[1][2], files.commits[2][1], {"remove": tombstone}]
    if not is_v2:
        files.checkpoints.append(CheckpointFiles(2, naming, rows=state, parts=2 if naming == "multipart" else 1))
        return files
    head: dict[str, Any] = {"checkpointMetadata": {"version": 2}}
    checkpoint = CheckpointFiles(2, naming, rows=[head, *state[:2]])
    checkpoint.sidecars.append(SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=state[2:]))
    files.checkpoints.append(checkpoint)
    return files


def find_rules(files: TableFiles, root: Path) -> dict[str, int]:
    write_table(files, root)
    totals = deltaspec.validate(str(root), level="log", history="all").totals
    return {rule: number for rule, number in totals.items() if rule != HASHED}


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"extendedFileMetadata": False, "size": None, "partitionValues": None}, 2),  # delta-rs 0.12 to 0.25
        ({"extendedFileMetadata": False, "size": None}, 2),
        ({"extendedFileMetadata": None, "size": None, "partitionValues": None}, 2),
        ({"extendedFileMetadata": False, "size": 0}, 2),  # Delta Spark 0.8 to 1.x
        ({"extendedFileMetadata": None}, 1),
    ],
)
def test_fields_left_out_are_a_divergence(tmp_path: Path, naming: str, changed: dict[str, Any], fields: int) -> None:
    assert find_rules(build_checkpointed_table(naming, {}, changed), tmp_path) == {"CKP067": fields}


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize(
    "changed",
    [
        {"extendedFileMetadata": False},
        {"size": 7},
        {"extendedFileMetadata": True, "size": 0},
        {"deletionTimestamp": 7},
    ],
)
def test_fields_that_contradict_the_remove_are_a_violation(
    tmp_path: Path, naming: str, changed: dict[str, Any]
) -> None:
    assert find_rules(build_checkpointed_table(naming, {}, changed), tmp_path) == {"CKP034": 1}


@pytest.mark.parametrize("naming", NAMINGS)
def test_false_is_the_same_as_absent(tmp_path: Path, naming: str) -> None:
    files = build_checkpointed_table(naming, {"extendedFileMetadata": False}, {"extendedFileMetadata": None})
    assert find_rules(files, tmp_path) == {}
