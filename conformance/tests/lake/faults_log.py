"""Faults of commits, checkpoints, checksums and other files of the log."""

import json
import shutil

import pyarrow.parquet as pq
from lake.registry import fault
from lake.table import LakeTable, flip_bit, flip_bit_of_column, truncate

SPARK = "spark/checkpoint_classic"
DELTA_RS = "delta_rs/orders_checkpointed"


@fault(9, SPARK, "violations", "CKP001", says=("CRC checksum verification failed", "may return wrong files"))
@fault(
    9,
    "spark/log_cleaned_up",
    "violations",
    "CKP001",
    says=("CRC checksum verification failed", "may return wrong files"),
)
def bit_flipped_in_a_checkpoint_with_checksums(table: LakeTable) -> None:
    """One bit in a data page of the newest checkpoint is wrong; Delta Spark writes page checksums."""
    flip_bit_of_column(table.find_in_log("*.checkpoint.parquet"), "add.path")


@fault(
    9, DELTA_RS, "violations", "CKP030", "CKP031", says=("Readers that start from the checkpoint lose the file's rows",)
)
def bit_flipped_in_a_path_of_a_checkpoint(table: LakeTable) -> None:
    """One bit of a path in the newest checkpoint is wrong; delta-rs writes no page checksums."""
    file = table.find_in_log("*.checkpoint.parquet")
    flip_bit(file, file.read_bytes().index(b"day=2026"))


@fault(10, SPARK, "violations", "CKP001", says=("Readers that start from the checkpoint fail",))
@fault(10, DELTA_RS, "violations", "CKP001", says=("Readers that start from the checkpoint fail",))
def checkpoint_truncated(table: LakeTable) -> None:
    """The newest checkpoint was copied half-way."""
    truncate(table.find_in_log("*.checkpoint.parquet"))


@fault(11, SPARK, "violations", "LCP001", says=("Readers fail on it, or list the complete log",))
@fault(11, DELTA_RS, "violations", "LCP001", says=("Readers fail on it, or list the complete log",))
def last_checkpoint_overwritten(table: LakeTable) -> None:
    """The file _last_checkpoint is no JSON."""
    table.find_in_log("_last_checkpoint").write_bytes(b"\x00\xffgarbage")


@fault(
    12, "spark/checkpoint_v2_sidecars", "violations", "CKP022", says=("see a table without the files of the sidecar",)
)
def sidecar_deleted(table: LakeTable) -> None:
    """A sidecar of the newest checkpoint does not exist."""
    table.find_in_log("_sidecars/*.parquet").unlink()


@fault(
    13,
    SPARK,
    "violations",
    "CRC002",
    "CRC003",
    says=("table_size_bytes = 4607, replayed_table_size_bytes = 4507", "num_files = 6, replayed_num_files = 5"),
)
def checksum_wrong(table: LakeTable) -> None:
    """The newest version checksum counts one file and 100 bytes too many."""
    file = table.checksum(table.latest)
    content = json.loads(file.read_bytes())
    content["numFiles"] += 1
    content["tableSizeBytes"] += 100
    file.write_text(json.dumps(content))


@fault(
    14,
    "spark/plain",
    "violations",
    "LOG001",
    says=("commit 3 is missing (2 and 4 exist)", "Readers cannot reconstruct the table"),
)
@fault(
    14,
    "delta_rs/orders",
    "violations",
    "LOG001",
    says=("commit 3 is missing (2 and 4 exist)", "Readers cannot reconstruct the table"),
)
@fault(
    14,
    SPARK,
    "conforms",
    "LOG010",
    says=("commit 3 is missing (2 and 4 exist)", "so something else deleted these"),
    gap="A divergence (E04): readers start from the checkpoint after the gap, so only older versions are lost.",
)
def commit_in_the_middle_deleted(table: LakeTable) -> None:
    """A commit between others was deleted; in a table with a checkpoint, a commit before it."""
    table.commit(3).unlink()


@fault(
    15,
    SPARK,
    "violations",
    "LOG005",
    says=(
        "Either the commit was deleted or lost, and readers return the table without its changes",
        "1 not referenced by the validated history (909 B)",
    ),
)
def last_commit_deleted(table: LakeTable) -> None:
    """The last commit was deleted, and its version checksum still exists."""
    table.commit(table.latest).unlink()


@fault(
    16,
    "spark/plain",
    "violations",
    "LOG001",
    says=("commit 0 is missing (1 exists)", "Readers cannot reconstruct the table"),
)
@fault(
    16,
    "delta_rs/orders",
    "violations",
    "LOG001",
    says=("commit 0 is missing (1 exists)", "Readers cannot reconstruct the table"),
)
def first_commit_deleted(table: LakeTable) -> None:
    """The first commit was deleted, and there is no checkpoint."""
    table.commit(0).unlink()


@fault(17, SPARK, "conforms", says=("2 not referenced by the validated history (14 B)",))
@fault(17, DELTA_RS, "conforms", says=("2 not referenced by the validated history (14 B)",))
def unreferenced_files(table: LakeTable) -> None:
    """A failed job left two files that no commit names."""
    for number in range(2):
        table.live_files()[-1].with_name(f"part-0000{number}-failed.parquet").write_bytes(b"content")


@fault(26, SPARK, "violations", "DAT001", says=("A live data file does not exist", "VIOLATIONS 2 violations"))
@fault(
    26, "delta_rs/orders", "violations", "DAT001", says=("A live data file does not exist", "VIOLATIONS 2 violations")
)
def data_of_an_older_backup(table: LakeTable) -> None:
    """A backup was restored whose data files are older than its log: those of the last two versions are missing."""
    for version in (table.latest - 1, table.latest):
        for add in (each["add"] for each in table.read_commit(version) if "add" in each):
            (table.path / add["path"]).unlink()


@fault(
    27,
    SPARK,
    "violations",
    "LOG004",
    "LOG005",
    says=("A checkpoint has a later version than the latest commit", "Restore the missing commits from backup"),
)
@fault(
    27,
    DELTA_RS,
    "violations",
    "LOG004",
    says=("A checkpoint has a later version than the latest commit", "Restore the missing commits from backup"),
)
def commits_of_an_older_backup(table: LakeTable) -> None:
    """A backup was restored whose commits are older than its data files, its checkpoint and its checksums."""
    checkpoint = int(table.find_in_log("*.checkpoint.parquet").name[:20])
    for version in range(checkpoint, table.latest + 1):
        table.commit(version).unlink()


@fault(
    30,
    SPARK,
    "conforms",
    says=("not read: _delta_log/00000000000000000005 (1).json", "readers ignore files with such names"),
)
@fault(
    30,
    DELTA_RS,
    "conforms",
    says=("not read: _delta_log/00000000000000000006 (1).json", "readers ignore files with such names"),
)
def conflict_copy_of_a_commit(table: LakeTable) -> None:
    """A tool that synchronizes directories left its conflict copies next to a commit."""
    commit = table.commit(table.latest)
    for name in (f"{commit.stem} (1).json", f"{commit.stem}.sync-conflict-20260101-120000-ABCDEFG.json"):
        shutil.copy(commit, commit.with_name(name))


@fault(
    31,
    SPARK,
    "violations",
    "COM013",
    "CRC002",
    "CRC003",
    "CRC007",
    "CRC009",
    says=("an interrupted upload looks the same",),
)
@fault(
    31,
    DELTA_RS,
    "conforms",
    "COM013",
    says=("an interrupted upload looks the same",),
    gap="A divergence (S21): the protocol does not forbid an empty commit. A version checksum makes it a violation.",
)
def last_commit_emptied(table: LakeTable) -> None:
    """The last commit has no bytes."""
    table.commit(table.latest).write_bytes(b"")


@fault(32, SPARK, "violations", "LIN001", says=("Readers fail on the version, or skip the line and lose its action",))
@fault(
    32, DELTA_RS, "violations", "LIN001", says=("Readers fail on the version, or skip the line and lose its action",)
)
def last_commit_truncated(table: LakeTable) -> None:
    """The last commit ends in the middle of an action."""
    truncate(table.commit(table.latest))


@fault(34, SPARK, "violations", "CKP030", "LCP013", "LCP007", "LCP008", says=("lose the file's rows",))
@fault(34, DELTA_RS, "violations", "CKP030", "LCP013", "LCP007", "LCP008", says=("lose the file's rows",))
def checkpoint_without_some_adds(table: LakeTable) -> None:
    """The newest checkpoint does not have all live files."""
    file = table.find_in_log("*.checkpoint.parquet")
    rows = pq.ParquetFile(file).read()
    adds = [number for number, add in enumerate(rows["add"].to_pylist()) if add is not None]
    pq.write_table(rows.take([each for each in range(len(rows)) if each != adds[0]]), file)
