"""The files of one commit, and the net rows that it adds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.data.change_row_reader import NetRows, Projection, read_net_rows
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.base import View
    from deltaspec.views.data.data_files import DataFile


class CommitFiles(msgspec.Struct):
    """What the log says about one commit. Its files are kept only while it is checked."""

    version: int
    changes: list[DataFile] = msgspec.field(default_factory=list)
    adds: list[DataFile] = msgspec.field(default_factory=list)
    removes: list[DataFile] = msgspec.field(default_factory=list)
    """Removes of live files."""
    readded: list[DataFile] = msgspec.field(default_factory=list)
    """The earlier state of live files that the commit adds again without removing them, as removes: it adds only the
    rows that the earlier vector deleted."""

    @property
    def file(self) -> str:
        """Path of the commit file, relative to the table root."""
        return f"{LOG_DIRECTORY}/{commit_name(self.version)}"

    @property
    def ended(self) -> list[DataFile]:
        """Earlier state of every live file that the commit removes or adds again, as removes."""
        return [*self.removes, *self.readded]


def read_commit_files(data: DataBucket, version: int, changes: list[DataFile]) -> CommitFiles:
    """Collect the files of a commit, given with its change data files."""
    commit = CommitFiles(version, changes)
    ended = {file.path_key: file.partition_values for file in data.commits.find_ended_files(version)}
    commit.readded = [replace(file, kind="remove") for file in data.commits.find_readded_files(version)]
    for file in data.commits.files(version):
        if file.kind == "add":
            commit.adds.append(file)
        elif file.path_key in ended:  # a file that is not live has no rows to remove
            # a remove need not have partition values
            values = ended[file.path_key] | file.partition_values
            commit.removes.append(replace(file, partition_values=values))
    return commit


def read_commit_rows(
    data: DataBucket, commit: CommitFiles, view: View, of_adds: Projection, of_removes: Projection | None = None
) -> NetRows | None:
    """Read the rows that a commit adds minus the rows that it removes.

    Args:
        data: the files.
        commit: the commit.
        view: the view whose rules are undecided if a file cannot be read.
        of_adds: columns of added files.
        of_removes: columns of removed files, if the commit changes how files are read.

    Returns:
        None if a file does not exist or cannot be read, which the report then says.
    """
    paths: dict[str, list[DataFile]] = defaultdict(list)
    for file in (*commit.adds, *commit.ended):
        paths[file.path_key].append(file)
    net = NetRows()
    for files in paths.values():
        try:
            net += read_net_rows(data, files, of_adds, of_removes)
        except FileGone:
            data.findings.rows_not_compared.add(commit.file)
            return None
        except (StorageError, UnreadableRows, DeletionVectorError) as fault:
            data.findings.mark_undecided((view,), describe_read_error(fault), files[0].path)
            return None
    return net
