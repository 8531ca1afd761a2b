"""Faults of tables with features: deletion vectors, change data, row ids, timestamps, clones."""

import json
from typing import Any

from lake.registry import fault
from lake.table import LakeTable, flip_bit

VECTORS = "spark/deletion_vectors_of_two_files"


@fault(18, VECTORS, "violations", "DVX013", says=("others delete the wrong rows",))
def bit_flipped_in_a_deletion_vector(table: LakeTable) -> None:
    """One bit of a deletion vector is wrong."""
    (file,) = table.path.glob("deletion_vector_*.bin")
    flip_bit(file, 20)


@fault(19, VECTORS, "violations", "DVX010", says=("deletion vector of a live file does not exist",))
def deletion_vector_deleted(table: LakeTable) -> None:
    """The file of the deletion vectors does not exist."""
    (file,) = table.path.glob("deletion_vector_*.bin")
    file.unlink()


def _upper_case_keys(values: dict[str, Any]) -> dict[str, Any]:
    return {key.upper(): value for key, value in values.items()}


@fault(
    22, "spark/checkpoint_classic", "violations", "CRC007", "FIL007", "FIL008", says=("Readers fail or return null",)
)
@fault(22, "delta_rs/orders", "violations", "FIL007", "FIL008", says=("Readers fail or return null",))
def partition_key_in_another_case(table: LakeTable) -> None:
    """A file names its partition column in upper case."""
    table.edit("add", lambda add: add.update(partitionValues=_upper_case_keys(add["partitionValues"])))


@fault(
    23,
    "spark/checkpoint_classic",
    "violations",
    "CRC007",
    says=("stats expected",),
    gap="Only the list of files in the version checksum shows it.",
)
@fault(
    23,
    "delta_rs/orders",
    "conforms",
    says=("CONFORMS nothing found",),
    gap="Entries of unknown columns are ignored (S13). No rule says that readers skip fewer files.",
)
def statistics_key_in_another_case(table: LakeTable) -> None:
    """The bounds of a file name a column in upper case."""
    table.edit_statistics(lambda statistics: statistics.update(minValues=_upper_case_keys(statistics["minValues"])))


def _add_column(metadata: dict[str, Any]) -> None:
    schema = json.loads(metadata["schemaString"])
    schema["fields"].append(schema["fields"][0] | {"name": "Id", "nullable": True})
    metadata["schemaString"] = json.dumps(schema)


@fault(
    24,
    "spark/plain",
    "violations",
    "CRC010",
    "MET008",
    says=("Case-insensitive engines fail, or return one column for the other",),
)
@fault(
    24,
    "delta_rs/orders",
    "violations",
    "MET008",
    says=("Case-insensitive engines fail, or return one column for the other",),
)
def columns_that_differ_in_case(table: LakeTable) -> None:
    """The schema has columns `id` and `Id`."""
    table.edit("metaData", _add_column)


@fault(
    25,
    "delta_rs/orders",
    "conforms",
    says=("4 need --clock",),
    gap="The report counts the rules that need a clock. It does not say that a removed file is missing.",
)
@fault(
    25,
    "delta_rs/orders",
    "conforms",
    "VAC001",
    says=("deleted before its retention period ended", "removed files or change data no longer exist"),
    options=("--history", "all", "--clock", "now"),
)
def removed_file_vacuumed_early(table: LakeTable) -> None:
    """A file that the last version does not need, but earlier ones do, was deleted before its retention ended."""
    (removed,) = [each["remove"] for each in table.read_commit(4) if "remove" in each]
    (table.path / removed["path"]).unlink()


@fault(
    28,
    "delta_rs/orders_absolute",
    "incomplete",
    says=(
        "leads out of the table; --allow-outside allows reading it",
        "the table has files of the same names, such as part-00000.parquet. It looks like a copy of that place",
    ),
)
def copied_with_absolute_paths(table: LakeTable) -> None:
    """A table with absolute paths was moved; the paths lead to its former directory, which does not exist."""
    table.move()


@fault(
    29,
    "delta_rs/shallow_clone",
    "incomplete",
    says=("leads out of the table; --allow-outside allows reading it (", "part-00002.parquet and 9 more)"),
    base_options=("--allow-outside",),
)
def shallow_clone_moved(table: LakeTable) -> None:
    """A shallow clone was moved; its files are in the table that it was cloned from."""
    table.move()


@fault(
    35,
    "spark/change_data_feed",
    "conforms",
    "DAT004",
    says=(
        "Consumers of the change data feed whose range includes that version fail",
        "`VACUUM` deletes it with removed data files",
    ),
)
def change_data_file_deleted(table: LakeTable) -> None:
    """A change data file was deleted."""
    sorted((table.path / "_change_data").glob("*.parquet"))[-1].unlink()


@fault(
    37,
    "spark/rewritten_with_row_tracking_and_vectors",
    "violations",
    "CKP032",
    "CRC007",
    "RID001",
    "RID032",
    says=("VIOLATION RID001 default-row-ids-overlap",),
)
def row_ids_overlap(table: LakeTable) -> None:
    """A file has row ids of another one."""
    table.edit("add", lambda add: add.update(baseRowId=add["baseRowId"] - 3))


def _set_back(commit_info: dict[str, Any]) -> None:
    commit_info["inCommitTimestamp"] -= 3_600_000


@fault(38, "spark/in_commit_timestamps", "violations", "COM007", "CRC005", says=("returns the wrong version",))
def in_commit_timestamp_goes_back(table: LakeTable) -> None:
    """The last commit has an earlier in-commit timestamp than the one before it."""
    table.edit("commitInfo", _set_back)


def _add_feature(protocol: dict[str, Any]) -> None:
    for key in ("readerFeatures", "writerFeatures"):
        protocol[key].append("rowColumnStore")


@fault(40, "delta_rs/features_added", "incomplete", says=("feature rowColumnStore is not checked",))
def unknown_feature(table: LakeTable) -> None:
    """The table needs a feature that deltaspec does not know."""
    table.edit("protocol", _add_feature)
