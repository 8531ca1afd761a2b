"""Damaged tables of Delta Spark and delta-rs for each kind of repair, and the rows that they must have afterwards."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from lake.bases import BASES
from lake.table import LakeTable, truncate

Rows = list[str]
"""Each row as text, sorted."""


@dataclass(frozen=True)
class RepairCase:
    """A damaged table, and the repair of it."""

    damage: Callable[[LakeTable], None]
    base: str
    kinds: frozenset[str]
    """Kinds of the repairs of the plan."""
    choose: tuple[str, ...]
    rows: Callable[[LakeTable, Rows], Rows]
    """Compute the rows after the repair, from the sound table and its rows."""

    @property
    def name(self) -> str:
        """Unique name of the case."""
        return f"{self.damage.__name__}-{self.base}"

    def build(self, path: Path) -> LakeTable:
        """Write the sound table."""
        BASES[self.base](path)
        return LakeTable(path)


CASES: list[RepairCase] = []


def keep_rows(_: LakeTable, rows: Rows) -> Rows:
    """Return all rows."""
    return rows


def lose_last_file(table: LakeTable, rows: Rows) -> Rows:
    """Return the rows without those of the last file, as a partition column of the file name tells them."""
    lost = table.live_adds()[-1]
    count = json.loads(lost["stats"])["numRecords"]
    stored = pq.ParquetFile(table.path / lost["path"]).read().to_pylist()
    gone = [_format_row({**row, **lost["partitionValues"]}) for row in stored]
    assert len(gone) == count
    left = list(rows)
    for each in gone:
        left.remove(each)
    return left


def return_deleted_rows(table: LakeTable, _: Rows) -> Rows:
    """Return the rows of all live files, also those that a vector deletes."""
    found: Rows = []
    for add in table.live_adds():
        stored = pq.ParquetFile(table.path / add["path"]).read().to_pylist()
        found += [_format_row({**row, **_parse_values(add["partitionValues"])}) for row in stored]
    return sorted(found)


def _parse_values(values: dict[str, str]) -> dict[str, Any]:
    return {name: int(value) if value.isdecimal() else value for name, value in values.items()}


def lose_files_with_vectors(table: LakeTable, _: Rows) -> Rows:
    """Return the rows of the files without a vector."""
    found: Rows = []
    for add in table.live_adds():
        if "deletionVector" not in add:
            stored = pq.ParquetFile(table.path / add["path"]).read().to_pylist()
            found += [_format_row({**row, **_parse_values(add["partitionValues"])}) for row in stored]
    return sorted(found)


def _format_row(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def format_rows(rows: list[dict[str, Any]]) -> Rows:
    """Return rows as sorted texts."""
    return sorted(map(_format_row, rows))


def repair_case(
    base: str, *kinds: str, choose: tuple[str, ...] = (), rows: Callable[[LakeTable, Rows], Rows] = keep_rows
) -> Callable[[Callable[[LakeTable], None]], Callable[[LakeTable], None]]:
    """Register a function as damage of a table."""

    def register(damage: Callable[[LakeTable], None]) -> Callable[[LakeTable], None]:
        CASES.append(RepairCase(damage, base, frozenset(kinds), choose, rows))
        return damage

    return register


HISTORY = ("history=set-aside",)


@repair_case("delta_rs/orders", "remove-file", rows=lose_last_file)
@repair_case("spark/checkpoint_classic", "remove-file", rows=lose_last_file)
def data_file_deleted(table: LakeTable) -> None:
    """A live data file was deleted."""
    table.live_files()[-1].unlink()


@repair_case("spark/in_commit_timestamps", "remove-file", rows=lose_last_file)
def data_file_truncated(table: LakeTable) -> None:
    """A live data file is no Parquet file any more; commits need in-commit timestamps."""
    truncate(table.live_files()[-1])


@repair_case(
    "spark/deletion_vectors_of_two_files", "remove-file", choose=("vector=remove-file",), rows=lose_files_with_vectors
)
@repair_case(
    "spark/deletion_vectors_of_two_files", "remove-vector", choose=("vector=drop-vector",), rows=return_deleted_rows
)
def vectors_deleted(table: LakeTable) -> None:
    """The files of all deletion vectors were deleted."""
    for file in table.path.rglob("*.bin"):
        file.unlink()


@repair_case("delta_rs/orders_checkpointed", "set-aside-derived-file", "write-checkpoint")
@repair_case("spark/checkpoint_classic", "set-aside-derived-file")  # Hadoop keeps a checksum of the damaged file
def checkpoint_truncated(table: LakeTable) -> None:
    """A checkpoint is no Parquet file any more."""
    truncate(table.find_in_log("*.checkpoint.parquet"))


@repair_case("spark/checkpoint_v2_sidecars", "set-aside-derived-file", "write-checkpoint")
def sidecar_truncated(table: LakeTable) -> None:
    """A sidecar is no Parquet file any more."""
    truncate(table.find_in_log("_sidecars/*.parquet"))


@repair_case("spark/log_cleaned_up", "set-aside-derived-file")
def checkpoint_truncated_after_cleanup(table: LakeTable) -> None:
    """The newest checkpoint is damaged, and the first commits are gone; an earlier checkpoint is complete."""
    truncate(table.find_in_log("*.checkpoint.parquet"))


@repair_case("spark/plain", "set-aside-derived-file")
def compaction_incomplete(table: LakeTable) -> None:
    """A log compaction has no add action of a file."""
    actions = [each for version in range(3) for each in table.read_commit(version) if "commitInfo" not in each]
    lines = "".join(f"{json.dumps(each)}\n" for each in actions[:-1])
    (table.log / f"{0:020}.{2:020}.compacted.json").write_text(lines)


@repair_case("spark/plain", "set-aside-derived-file")
def checksum_wrong(table: LakeTable) -> None:
    """A version checksum counts a file too many."""
    file = table.checksum(table.latest)
    content = json.loads(file.read_text())
    content["numFiles"] += 1
    file.write_text(json.dumps(content))


@repair_case("spark/checkpoint_classic", "set-aside-derived-file")
def hint_beyond_the_log(table: LakeTable) -> None:
    """The hint names a checkpoint that does not exist."""
    (table.log / "_last_checkpoint").write_text('{"version":99,"size":1}')


@repair_case("delta_rs/orders", "correct-statistics")
def row_count_wrong(table: LakeTable) -> None:
    """The statistics of a file count one row too many."""
    table.edit_statistics(lambda statistics: statistics.update(numRecords=statistics["numRecords"] + 1))


@repair_case("delta_rs/orders", "correct-statistics")
def minimum_too_large(table: LakeTable) -> None:
    """The minimum of a column is larger than a value of the file."""
    table.edit_statistics(lambda statistics: statistics["minValues"].update(id=1000))


@repair_case("spark/plain", "correct-statistics", "set-aside-derived-file", "set-aside-history", choose=HISTORY)
def size_wrong(table: LakeTable) -> None:
    """The log has the wrong size of a file."""
    table.edit("add", lambda add: add.update(size=add["size"] + 1))


@repair_case("delta_rs/orders", "remove-duplicate", "set-aside-history", choose=HISTORY)
def file_live_twice(table: LakeTable) -> None:
    """A commit adds a file under two spellings, so that engines read its rows twice."""
    actions = table.read_commit(table.latest)
    again = copy.deepcopy(table.live_adds()[-1])
    again["path"] = again["path"].replace("day=", "day%3D")
    table.write_commit(table.latest, [*actions, {"add": again}])


@repair_case("spark/row_tracking", "raise-mark", "set-aside-derived-file", "set-aside-history", choose=HISTORY)
def row_id_mark_too_low(table: LakeTable) -> None:
    """The high-water mark of row ids is below row ids in use."""
    table.edit("domainMetadata", lambda domain: domain.update(configuration='{"rowIdHighWaterMark":0}'))


@repair_case("spark/column_mapping_name", "raise-mark", "set-aside-derived-file", "set-aside-history", choose=HISTORY)
def column_id_mark_too_low(table: LakeTable) -> None:
    """The largest column id is above delta.columnMapping.maxColumnId."""
    mark = {"delta.columnMapping.maxColumnId": "1"}
    table.edit("metaData", lambda metadata: metadata["configuration"].update(mark))


@repair_case("spark/identity_columns", "raise-mark", "set-aside-derived-file")
def identity_mark_too_low(table: LakeTable) -> None:
    """The high-water mark of an identity column is below a value."""

    def change(metadata: dict[str, Any]) -> None:
        schema = json.loads(metadata["schemaString"])
        schema["fields"][0]["metadata"]["delta.identity.highWaterMark"] = 1
        metadata["schemaString"] = json.dumps(schema)

    table.edit("metaData", change)


@repair_case(
    "spark/deletion_vectors_of_two_files",
    *("list-feature", "set-aside-derived-file", "set-aside-history"),
    choose=HISTORY,
)
def feature_not_listed(table: LakeTable) -> None:
    """Files have deletion vectors, and the protocol does not list the feature."""

    def change(protocol: dict[str, Any]) -> None:
        for features in (protocol["readerFeatures"], protocol["writerFeatures"]):
            features.remove("deletionVectors")

    table.edit("protocol", change)


@repair_case("delta_rs/orders", "set-partition-value", "set-aside-history", choose=HISTORY)
def partition_value_missing(table: LakeTable) -> None:
    """A file has no partition value; its directory has it."""
    table.edit("add", lambda add: add["partitionValues"].clear())
