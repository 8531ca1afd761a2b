"""Mutations of what a snapshot is, as checkpoints and compactions hold it."""

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.mutations import mutation


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
