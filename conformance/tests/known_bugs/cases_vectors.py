"""Deletion vectors."""

from typing import Any

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, remove_action

no_table("dv-016", "the delete fails with an exception and commits nothing")


@known_bug("dv-004", FIL033=1)
def second_delete_forgets_the_first_vector(right: bool) -> TableFiles:
    """A second delete removes the file as it was before the first, so it is live under both vectors and rows double."""
    files = _deleted_once()
    first = get_action(files, 3, "add")
    removed = remove_action({"add": first})
    if not right:
        del removed["remove"]["deletionVector"]
    files.commits[4] = [
        commit_info_action(4),
        removed,
        {"add": {**first, "deletionVector": log_only.inline_vector_descriptor([1, 3, 5])}},
    ]
    return files


@no_finding("dv-007", "the vector is sound, and which rows the delete was asked for is not in the table")
def delete_hits_other_rows() -> TableFiles:
    """Rows are counted after pruning by a filter, so the vector marks other rows than the filter matched."""
    return _deleted_once()


@no_finding("dv-013", "a version may say that it is a restore and change nothing")
def restore_leaves_the_vector() -> TableFiles:
    """A restore compares files by path alone, so that a file with a vector stays as it is."""
    files = _deleted_once()
    files.commits[4] = [commit_info_action(4, operation="RESTORE")]
    return files


@known_bug("dv-011", LIN010=1)
def empty_vector_in_a_commit(right: bool) -> TableFiles:
    """An add without deletion vector is written with an empty object for it, and strict readers fail."""
    files = log_only.build_table()
    get_action(files, 2, "add")["deletionVector"] = None if right else {}
    return files


@known_bug("dv-011", DVX001=1, DVX005=1, DVX007=1, FIL014=1, CKP032=1)
def vector_of_empty_strings_in_a_checkpoint(right: bool) -> TableFiles:
    """A null vector passes through a struct of required fields and reaches the checkpoint as empty strings."""
    files = log_only.build_table()
    rows = log_only.build_state_rows(files)
    nothing = {"storageType": "", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}
    rows[-1] = {"add": {**rows[-1]["add"], "deletionVector": None if right else nothing}}
    files.checkpoints.append(CheckpointFiles(1, rows=rows))
    return files


@known_bug("dv-012", FIL015=1)
def vector_on_a_file_without_statistics(right: bool) -> TableFiles:
    """A delete marks rows of a file that never had statistics, and does not count its records."""
    files = _deleted_once()
    if not right:
        del get_action(files, 3, "add")["stats"]
    return files


def _deleted_once() -> TableFiles:
    """A file loses two rows in version 3."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    added: dict[str, Any] = add_action("c.parquet", rows=10)
    marked = {"add": {**added["add"], "deletionVector": log_only.inline_vector_descriptor([1, 3])}}
    files.commits[3] = [commit_info_action(3), remove_action(added), marked]
    return files
