"""Mutations of what a snapshot is, as checkpoints and compactions hold it."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.mutations import mutation, pick


@mutation("reconciliation.add-unique")
def path_live_twice(draw: st.DrawFn) -> TableFiles:
    if draw(st.booleans()):
        return _added_again_in_checkpoint(draw)
    files = bases.compacted()
    files.compactions[1, 2].append({"add": dict(action(files, 1, "add", 1))})
    return files


@mutation("reconciliation.adds-unique-by-file")
def logical_file_live_twice(draw: st.DrawFn) -> TableFiles:
    return _added_again_in_checkpoint(draw)


def _added_again_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed()
    files.checkpoints[0].rows.append({"add": dict(action(files, 1, "add", draw(st.integers(0, 1))))})
    return files


@mutation("reconciliation.removes-unique")
def tombstone_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    """Two tombstones of one logical file in a checkpoint of the last version."""
    files = bases.checkpointed()
    checkpoint = files.checkpoints[0]
    checkpoint.version = 2
    removed = action(files, 2, "remove")
    live = [{"add": action(files, 1, "add", 1)}, {"add": action(files, 2, "add")}]
    checkpoint.rows = [*files.commits[0][1:], *live, {"remove": removed}, {"remove": dict(removed)}]
    return files


def _marked(*marks: int) -> TableFiles:
    """A table whose row ids went up to 19 in version 1, and a checkpoint of that with these marks."""

    def mark(number: int) -> dict[str, Any]:
        return {"rowIdHighWaterMark": {"highWaterMark": number, "preservedRowIds": False}}

    files = bases.checkpointed()
    files.commits[1].append(mark(19))
    files.checkpoints[0].rows += [mark(number) for number in marks]
    return files


@mutation("reconciliation.one-high-water-mark")
def row_id_mark_twice_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _marked(19, 19)


@mutation("checkpoint.equals-replay", revisions=("r1", "r2"))
def row_id_mark_changed_in_checkpoint(draw: st.DrawFn) -> TableFiles:
    return _marked(*pick(draw, (), (18,), (20,)))
