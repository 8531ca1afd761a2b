"""Tables for retention: data files present for VACUUM, and logs after metadata cleanup."""

from uuid import UUID

from deltaspec.protocol.files.deletion_vectors import (
    build_file,
    build_file_descriptor,
    build_relative_path,
    encode_bitmap,
)
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec_generators.action_lines import Line
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, inline_vector_descriptor, remove_action
from planted_tables.bases import log_only

REMOVED_MS = 1_700_000_000_000
"""Deletion timestamp of removes in `log_only`."""
_VECTOR = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def add_live_files(files: TableFiles, *missing: str) -> TableFiles:
    """Add bytes for every data file that the commits add, except `missing`."""
    lines = [line for lines in files.commits.values() for line in lines if isinstance(line, dict)]
    adds = [line["add"]["path"] for line in lines if "add" in line]
    files.extra.update({path: bytes(1000) for path in adds if path not in missing})
    return files


def build_table_with_replaced_vector() -> tuple[TableFiles, str, bytes]:
    """Build a table whose last version replaces a stored deletion vector by an inline one.

    Also return path and content of the deletion-vector file that is no longer referenced.
    """
    files = log_only.build_table_with_features(
        "deletionVectors", configuration={DELETION_VECTORS: "true"}, last_remove=False
    )
    bitmap = encode_bitmap([0, 2])
    data, offsets = build_file([bitmap])
    found = build_file_descriptor(_VECTOR, offsets[0], bitmap, 2)
    stored = {
        "storageType": found.storage_type,
        "pathOrInlineDv": found.path_or_inline_dv,
        "offset": found.offset,
        "sizeInBytes": found.size_in_bytes,
        "cardinality": found.cardinality,
    }
    before = add_action("d.parquet", rows=10, deletionVector=stored)
    files.commits[1].append(before)
    after = add_action("d.parquet", rows=10, deletionVector=inline_vector_descriptor((0, 2, 3)))
    files.commits[2] += [remove_action(before, REMOVED_MS), after]
    return add_live_files(files), build_relative_path(found), data


def build_state_rows_at_2(files: TableFiles) -> list[Line]:
    """Build the checkpoint rows of version 2 of `log_only.build_table(last_remove=False)`."""
    return [
        *log_only.build_state_rows(files),
        *(row for row in files.commits[2] if isinstance(row, dict) and "add" in row),
    ]


def build_table_cleaned_up_at_2(files: TableFiles) -> TableFiles:
    """Clean up a table of three commits as the current protocol requires: keep commit 2 and its checkpoint."""
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows_at_2(files)))
    del files.commits[0], files.commits[1]
    return files
