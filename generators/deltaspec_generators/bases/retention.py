"""Known tables whose data files are there, to judge what a vacuum may take."""

from uuid import UUID

from deltaspec.model.rows.deletion_vectors import build_file, build_file_descriptor, build_relative_path, encode_bitmap
from deltaspec_generators.action_lines import Line
from deltaspec_generators.bases import log_only
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, remove_action

REMOVED_MS = 1_700_000_000_000
"""When files of `bases.plain` are removed."""
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
_VECTOR = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


def add_live_files(files: TableFiles, *gone: str) -> TableFiles:
    """The table with bytes for every data file that its commits add, but for some."""
    lines = [line for lines in files.commits.values() for line in lines if isinstance(line, dict)]
    adds = [line["add"]["path"] for line in lines if "add" in line]
    files.extra.update({path: bytes(1000) for path in adds if path not in gone})
    return files


def build_table_with_replaced_vector() -> tuple[TableFiles, str, bytes]:
    """A table whose last version takes other rows of a file away, and the file of the vector that it had before.

    That vector is stored, the one that the file has now is inline.
    """
    files = log_only.build_table_with_features(
        "deletionVectors", configuration={"delta.enableDeletionVectors": "true"}, last_remove=False
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
    after = add_action("d.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor((0, 2, 3)))
    files.commits[2] += [remove_action(before, REMOVED_MS), after]
    return add_live_files(files), build_relative_path(found), data


def build_state_rows_at_2(files: TableFiles) -> list[Line]:
    """What a checkpoint of version 2 of `bases.plain` without a remove holds."""
    return [
        *log_only.build_state_rows(files),
        *(row for row in files.commits[2] if isinstance(row, dict) and "add" in row),
    ]


def build_table_cleaned_up_at_2(files: TableFiles) -> TableFiles:
    """A table of three commits without a remove, cleaned up as the newest text says: commit and checkpoint 2 remain."""
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows_at_2(files)))
    del files.commits[0], files.commits[1]
    return files
