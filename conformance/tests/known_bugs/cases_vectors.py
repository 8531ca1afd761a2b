"""Deletion vectors."""

from typing import Any

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    remove_action,
)
from planted_tables.bases import log_only

no_table("dv-016", "the delete fails with an exception and commits nothing")


@known_bug("dv-004", FIL033=1)
def second_delete_ignores_the_first_vector(is_sound: bool) -> TableFiles:
    """A second delete removes the file without its vector, so the file is live with both vectors and rows are
    duplicated."""
    files = _build_table_with_delete()
    first = get_action(files, 3, "add")
    removed = remove_action({"add": first})
    if not is_sound:
        del removed["remove"]["deletionVector"]
    files.commits[4] = [
        commit_info_action(4),
        removed,
        {"add": {**first, "deletionVector": inline_vector_descriptor([1, 3, 5])}},
    ]
    return files


@no_finding("dv-007", "the vector is valid, and the table does not record which rows the delete was meant to match")
def delete_marks_other_rows() -> TableFiles:
    """Rows are counted after pruning by a filter, so the vector marks other rows than the filter matched."""
    return _build_table_with_delete()


@no_finding("dv-013", "a version with operation RESTORE may change nothing")
def restore_keeps_the_vector() -> TableFiles:
    """A restore compares files only by path, so it does not restore a file with a vector."""
    files = _build_table_with_delete()
    files.commits[4] = [commit_info_action(4, operation="RESTORE")]
    return files


@known_bug("dv-011", LIN010=1)
def empty_vector_in_a_commit(is_sound: bool) -> TableFiles:
    """A missing deletion vector is written as an empty object, and strict readers fail."""
    files = log_only.build_table()
    get_action(files, 2, "add")["deletionVector"] = None if is_sound else {}
    return files


@known_bug("dv-011", DVX001=1, DVX005=1, DVX007=1, FIL014=1, CKP032=1)
def vector_of_empty_strings_in_a_checkpoint(is_sound: bool) -> TableFiles:
    """A null vector is converted to a struct of required fields and written to the checkpoint as empty strings."""
    files = log_only.build_table()
    rows = log_only.build_state_rows(files)
    empty = {"storageType": "", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0}
    rows[-1] = {"add": {**rows[-1]["add"], "deletionVector": None if is_sound else empty}}
    files.checkpoints.append(CheckpointFiles(1, rows=rows))
    return files


@known_bug("dv-012", FIL015=1)
def vector_on_a_file_without_statistics(is_sound: bool) -> TableFiles:
    """A delete marks rows of a file without statistics and does not record its row count."""
    files = _build_table_with_delete()
    if not is_sound:
        del get_action(files, 3, "add")["stats"]
    return files


def _build_table_with_delete() -> TableFiles:
    """A table where version 3 deletes two rows of a file."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    added: dict[str, Any] = add_action("c.parquet", rows=10)
    marked = {"add": {**added["add"], "deletionVector": inline_vector_descriptor([1, 3])}}
    files.commits[3] = [commit_info_action(3), remove_action(added), marked]
    return files
