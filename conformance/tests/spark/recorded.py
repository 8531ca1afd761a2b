"""Tables that Delta Spark wrote once, kept as an archive, to validate them without starting Spark.

`nox -s record_spark_tables` writes the archive again, after an update of Spark or a change of the corpus.
Tables whose logs contain absolute paths (shallow clones) cannot be recorded: Spark writes more of them in a run.
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

from spark.corpus import TABLES

ARCHIVE = Path(__file__).with_name("recorded_tables.tar.xz")

NOT_RECORDED = frozenset(
    {
        "deletion_vectors_of_a_clone",
        "row_tracking_across_restore_and_clone",
        "row_tracking_cloned",
        "shallow_clone",
        "shallow_clone_of_mapped_columns",
    }
)
"""Their logs contain absolute paths."""

RECORDED = tuple(name for name in TABLES if name not in NOT_RECORDED)


def extract_recorded_tables(directory: Path) -> None:
    """Extract every recorded table below a directory, with its modification times."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")


def record_tables(directory: Path) -> None:
    """Pack the tables below a directory, which `python -m spark.corpus DIRECTORY` wrote.

    Raises:
        ValueError: the log of a table contains the path of the directory.
    """
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name in RECORDED:
            for path in sorted((directory / name).rglob("*")):
                if str(directory).encode() in (path.read_bytes() if path.is_file() else b""):
                    raise ValueError(f"{path} contains the path {directory}; list the table in NOT_RECORDED")
            archive.add(directory / name, name, filter=_hide_owner)


def _hide_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    record_tables(Path(sys.argv[1]).resolve())
