"""Planted faults of reconciled state in checkpoints and compactions."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, get_action, remove_action
from planted_tables.bases import log_only
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("reconciliation.add-unique")
def path_live_twice(draw: st.DrawFn) -> TableFiles:
    if draw(st.booleans()):
        return _build_checkpoint_with_repeated_add(draw)
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2].append({"add": dict(get_action(files, 1, "add", 1))})
    return files


@planted_fault("reconciliation.adds-unique-by-file")
def logical_file_live_twice(draw: st.DrawFn) -> TableFiles:
    return _build_checkpoint_with_repeated_add(draw)


def _build_checkpoint_with_repeated_add(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows.append({"add": dict(get_action(files, 1, "add", draw(st.integers(0, 1))))})
    return files


@planted_fault("reconciliation.removes-unique")
def tombstone_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    """Two tombstones of one logical file in a checkpoint of the last version."""
    files = log_only.build_checkpointed_table()
    checkpoint = files.checkpoints[0]
    checkpoint.version = 2
    removed = get_action(files, 2, "remove")
    live = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    checkpoint.rows = [*files.commits[0][1:], *live, {"remove": removed}, {"remove": dict(removed)}]
    return files


def _build_table_with_marks(*marks: int) -> TableFiles:
    """Build a table with row id mark 19 in version 1, and a checkpoint of version 1 with these marks."""

    def mark(number: int) -> dict[str, Any]:
        return {"rowIdHighWaterMark": {"highWaterMark": number, "preservedRowIds": False}}

    files = log_only.build_checkpointed_table()
    files.commits[1].append(mark(19))
    files.checkpoints[0].rows += [mark(number) for number in marks]
    return files


@planted_fault("reconciliation.one-high-water-mark")
def row_id_mark_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_marks(19, 19)


@planted_fault("checkpoint.equals-replay", revisions=("r1", "r2"))
def row_id_mark_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_marks(*draw_one(draw, (), (18,), (20,)))


@planted_fault("remove.ends-live-file")
def remove_of_no_live_file(draw: st.DrawFn) -> TableFiles:
    """A commit removes a file that an earlier commit removed, that no commit added, or that is spelled otherwise."""
    files = log_only.build_table()  # removes a.parquet in version 2
    path = draw_one(draw, "a.parquet", "never.parquet", "/b.parquet", "b%252eparquet")
    removed = remove_action(add_action(path, rows=10), dataChange=draw(st.booleans()))
    files.commits[3] = [commit_info_action(3), removed]
    return files
