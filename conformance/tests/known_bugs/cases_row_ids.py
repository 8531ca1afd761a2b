"""Row ids: given twice, above their mark, or lost on the way."""

from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug

from deltaspec_generators.bases.data_files import FIELDS, add_data_file, build_rows
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, domain_action, metadata_action, protocol_action, remove_action

COLUMNS = {
    "delta.rowTracking.materializedRowIdColumnName": "_row-id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version",
}


@known_bug("rt-001", RID001=1)
def loser_of_a_race_keeps_its_row_ids(right: bool) -> TableFiles:
    """Appends of one and of five rows race for version 1; the loser commits again with the ids that it had at first."""
    base, mark = (1, 5) if right else (0, 4)
    return _raced(base, mark)


@known_bug("rt-001", RID002=1)
def mark_of_the_winner_kept(right: bool) -> TableFiles:
    """The loser of a race is given new ids, and commits the mark of before: later ids repeat them."""
    return _raced(1, 5 if right else 4)


@known_bug("rt-002", level="rows", RID011=1)
def optimize_gives_new_row_ids(right: bool) -> TableFiles:
    """A compaction writes rows to a new file without the ids that they had, so all of them change."""
    files, adds = _two_files()
    table = pa.concat_tables([build_rows(0, 1), build_rows(1, 5)])
    if right:
        table = table.append_column("_row-id", pa.array(range(6), pa.int64()))
        table = table.append_column("_row-commit-version", pa.array([1, 2, 2, 2, 2, 2], pa.int64()))
    whole = add_data_file(files, "c.parquet", table, dataChange=False, baseRowId=6, defaultRowCommitVersion=3)
    removes = [remove_action(add, dataChange=False) for add in adds]
    said = _said(3, "true" if right else "false", operation="OPTIMIZE")
    files.commits[3] = [said, whole, *removes, _mark(11)]
    return files


@known_bug("rt-002", FIL036=1)
def remove_forgets_the_row_ids(right: bool) -> TableFiles:
    """A remove does not say which row ids and row commit version its file had."""
    files, adds = _two_files()
    removed = remove_action(adds[1])
    if not right:
        del removed["remove"]["baseRowId"], removed["remove"]["defaultRowCommitVersion"]
    files.commits[3] = [_said(3, operation="DELETE"), removed]
    return files


def _raced(base: int, mark: int) -> TableFiles:
    files, _ = _two_files(base=base, mark=mark)
    return files


def _two_files(base: int = 1, mark: int = 5) -> tuple[TableFiles, list[dict[str, Any]]]:
    """A file of one row with id 0, and one of five rows that begin at `base`."""
    files = TableFiles()
    protocol = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])
    metadata = metadata_action(FIELDS, configuration={"delta.enableRowTracking": "true", **COLUMNS})
    files.commits[0] = [commit_info_action(0), protocol, metadata]
    first = add_data_file(files, "a.parquet", build_rows(0, 1), baseRowId=0, defaultRowCommitVersion=1)
    second = add_data_file(files, "b.parquet", build_rows(1, 5), baseRowId=base, defaultRowCommitVersion=2)
    files.commits[1] = [_said(1), first, _mark(0)]
    files.commits[2] = [_said(2), second, _mark(mark)]
    return files, [first, second]


def _mark(highest: int) -> dict[str, Any]:
    return domain_action("delta.rowTracking", f'{{"rowIdHighWaterMark":{highest}}}')


def _said(version: int, preserved: str = "true", **more: Any) -> dict[str, Any]:
    return commit_info_action(version, tags={"delta.rowTracking.preserved": preserved}, **more)
