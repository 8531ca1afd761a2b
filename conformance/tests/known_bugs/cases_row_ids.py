"""Row ids: assigned twice, above the high-water mark, or lost."""

from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug

from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    metadata_action,
    protocol_action,
    remove_action,
)

COLUMNS = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version",
}


@known_bug("rt-001", RID001=1)
def loser_of_a_race_keeps_its_row_ids(is_sound: bool) -> TableFiles:
    """Appends of one and of five rows race for version 1; the loser commits again without assigning new row ids."""
    base, mark = (1, 5) if is_sound else (0, 4)
    return _build_race(base, mark)


@known_bug("rt-001", RID002=1)
def mark_of_the_winner_kept(is_sound: bool) -> TableFiles:
    """The loser of a race gets new row ids but commits the old high-water mark, so later ids repeat them."""
    return _build_race(1, 5 if is_sound else 4)


@known_bug("rt-002", level="rows", RID011=1)
def optimize_assigns_new_row_ids(is_sound: bool) -> TableFiles:
    """A compaction rewrites rows without their row ids, so all ids change."""
    files, adds = _build_two_files()
    table = pa.concat_tables([build_rows(0, 1), build_rows(1, 5)])
    if is_sound:
        table = table.append_column("_row-id", pa.array(range(6), pa.int64()))
        table = table.append_column("_row-commit-version", pa.array([1, 2, 2, 2, 2, 2], pa.int64()))
    compacted = add_data_file(files, "c.parquet", table, dataChange=False, baseRowId=6, defaultRowCommitVersion=3)
    removes = [remove_action(add, dataChange=False) for add in adds]
    commit_info = _commit_info(3, "true" if is_sound else "false", operation="OPTIMIZE")
    files.commits[3] = [commit_info, compacted, *removes, _row_id_mark(11)]
    return files


@known_bug("rt-002", FIL036=1)
def remove_without_row_ids(is_sound: bool) -> TableFiles:
    """A remove does not contain the base row id and the default row commit version of its file."""
    files, adds = _build_two_files()
    removed = remove_action(adds[1])
    if not is_sound:
        del removed["remove"]["baseRowId"], removed["remove"]["defaultRowCommitVersion"]
    files.commits[3] = [_commit_info(3, operation="DELETE"), removed]
    return files


def _build_race(base: int, mark: int) -> TableFiles:
    files, _ = _build_two_files(base=base, mark=mark)
    return files


def _build_two_files(base: int = 1, mark: int = 5) -> tuple[TableFiles, list[dict[str, Any]]]:
    """A file with one row of id 0, and one with five rows whose ids start at `base`."""
    files = TableFiles()
    protocol = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])
    metadata = metadata_action(FIELDS, configuration={"delta.enableRowTracking": "true", **COLUMNS})
    files.commits[0] = [commit_info_action(0), protocol, metadata]
    first = add_data_file(files, "a.parquet", build_rows(0, 1), baseRowId=0, defaultRowCommitVersion=1)
    second = add_data_file(files, "b.parquet", build_rows(1, 5), baseRowId=base, defaultRowCommitVersion=2)
    files.commits[1] = [_commit_info(1), first, _row_id_mark(0)]
    files.commits[2] = [_commit_info(2), second, _row_id_mark(mark)]
    return files, [first, second]


def _row_id_mark(highest: int) -> dict[str, Any]:
    return domain_action("delta.rowTracking", f'{{"rowIdHighWaterMark":{highest}}}')


def _commit_info(version: int, preserved: str = "true", **more: Any) -> dict[str, Any]:
    return commit_info_action(version, tags={"delta.rowTracking.preserved": preserved}, **more)
