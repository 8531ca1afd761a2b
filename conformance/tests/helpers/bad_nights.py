"""Tables whose files fail during a run, the faults, and the judgement of what the run reports.

A run on Spark may read a file again, because an executor was lost that kept what was read of it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from deltaspec.errors import DeltaspecError
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, protocol_action, remove_action

FEATURES = ["deletionVectors", "v2Checkpoint"]
INPUTS = {
    "commit": ("_delta_log/*5.json", 0),
    "checkpoint": ("_delta_log/*.checkpoint*.parquet", 0),
    "compaction": ("_delta_log/*.compacted.json", 0),
    "sidecar": ("_delta_log/_sidecars/*", 1),
    "listing": ("", 2),
    "data file": ("b.parquet", 3),
    "rows": ("d.parquet", 3),
    "vector": ("deletion_vector_*.bin", 3),
}
"""Files of the table by what a run reads of them, with the number of the Spark job that reads them first."""
JOBS = 7
"""Number of Spark jobs of a run at level `rows`."""
Fault = Callable[[Path], None]


def build_night_table(*, is_sound: bool, with_sidecar: bool) -> TableFiles:
    """Build a table with every kind of file. Its log begins with a checkpoint of version 3.

    Args:
        is_sound: otherwise a file of the checkpoint and one of a commit are missing, and statistics are wrong.
        with_sidecar: the checkpoint keeps its file actions in a sidecar.
    """
    files = build_table_with_stored_vectors()
    files.commits[0][1] = protocol_action(3, 7, FEATURES, FEATURES)
    table_actions = files.commits[0][1:]
    adds = [row for row in files.commits[3] if isinstance(row, dict) and "add" in row]
    adds += [add_data_file(files, f"old-{number}.parquet", build_rows(100 + 10 * number)) for number in range(6)]
    head = [{"checkpointMetadata": {"version": 3}}, *table_actions]
    sidecar = SidecarFile("s.parquet", adds)
    files.checkpoints.append(
        CheckpointFiles(3, v2=True, rows=head, sidecars=[sidecar])
        if with_sidecar
        else CheckpointFiles(3, v2=True, rows=[*head, *adds])
    )
    for version in range(4):
        del files.commits[version]
    wrong = json.dumps({"numRecords": 10, "minValues": {"id": 31}, "maxValues": {"id": 39}, "nullCount": {"id": 0}})
    files.commits[4] = [
        commit_info_action(4),
        add_data_file(files, "d.parquet", build_rows(30), stats=None if is_sound else wrong),
        remove_action(adds[-1]),
    ]
    files.commits[5] = [commit_info_action(5), add_data_file(files, "e.parquet", build_rows(40))]
    if not is_sound:
        files.commits[5].append(add_action("g.parquet", rows=10))
        files.missing.add("old-0.parquet")
    files.compactions[4, 5] = [*files.commits[4][1:], *files.commits[5][1:]]
    return files


def truncate(path: Path) -> None:
    """Keep the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def make_unreadable(path: Path) -> None:
    """Replace a file by one that cannot be read, even by root."""
    path.unlink()
    os.mkfifo(path)


def change(path: Path) -> None:
    """Replace the content of a file by valid content that says something else."""
    if path.suffix == ".json":
        lines = path.read_text().splitlines()
        path.write_text("\n".join(line for line in lines if '"add"' not in line) + "\n")
    elif path.parent.name in ("_delta_log", "_sidecars"):
        table = pq.read_table(path)
        pq.write_table(table.slice(0, table.num_rows - 1), path)
    elif path.suffix == ".parquet":
        path.write_bytes(encode_data_file(build_rows(60)))
    else:
        data = bytearray(path.read_bytes())
        data[-8] ^= 1
        path.write_bytes(data)


FAULTS: dict[str, Fault] = {"truncated": truncate, "unreadable": make_unreadable, "changed": change}


def break_input(table: Path, name: str, fault: str) -> None:
    """Break one kind of input of a table. For the listing, the directory loses a file or its permission to be read."""
    if name == "listing":
        moved = table / "e.parquet"
        if fault == "changed":
            moved.rename(table / "elsewhere.parquet")
        elif fault == "truncated":
            moved.unlink()
        else:
            shutil.rmtree(table)
            table.write_text("not a directory")
        return
    for path in table.glob(INPUTS[name][0]):
        FAULTS[fault](path)


class Outcome(NamedTuple):
    """What a run reports."""

    verdict: str
    """`failed` if the run raises an error of the kit."""
    findings: frozenset[tuple[Any, ...]] = frozenset()
    """Rule, file and version of each finding."""
    unchecked: frozenset[str] = frozenset()
    """Rules that the report lists as not checked."""


def run_on(run: Callable[[], Report]) -> Outcome:
    """Return the outcome of a run."""
    try:
        report = run()
    except DeltaspecError:
        return Outcome("failed")
    findings = frozenset((each.rule, each.path, each.version) for each in report.findings)
    return Outcome(report.verdict, findings, frozenset(each.rule for each in report.checked.not_checked))


def find_silent_losses(found: Outcome, before: Outcome, after: Outcome, *, was_read: bool) -> set[tuple[Any, ...]]:
    """Return the findings that a run lost without saying so, or invented.

    Args:
        found: by the run.
        before: outcome of the embedded backend for the table without the fault.
        after: the same with the fault.
        was_read: the run had read the input when the fault came.
    """
    if found.verdict == "failed":
        return set()
    known = before.findings if was_read else before.findings & after.findings
    lost = {each for each in known - found.findings if each[0] not in found.unchecked}
    return lost | (found.findings - before.findings - after.findings)
