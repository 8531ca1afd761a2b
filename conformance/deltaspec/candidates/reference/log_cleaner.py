"""Delete expired files of the log, by the steps of the protocol. Source: Metadata Cleanup."""

from collections.abc import Mapping
from pathlib import Path

from deltaspec.candidates.reference.log_reader import ENABLE_IN_COMMIT_TIMESTAMPS, LoadedTable, LogReader
from deltaspec.candidates.reference.written_files import get_clock_ms
from deltaspec.model.log import cleanup
from deltaspec.protocol.actions import CommitInfo
from deltaspec.protocol.features.table_properties import get_log_retention_ms, is_property_true
from deltaspec.protocol.log.file_names import CommitName, SidecarName, parse_log_file_name
from deltaspec.wire.storage.interface import LOG_DIRECTORY


class LogCleaner:
    """Deletes files of a log. The public methods can be replaced, to build faulty writers.

    It writes no checkpoint and deletes only checkpoints before the cutoff, so that it may clean up tables with
    protected checkpoints.
    """

    def __init__(self, table: str, log: LogReader, state: LoadedTable) -> None:
        self.table, self.folder = table, Path(table) / LOG_DIRECTORY
        self.log, self.state, self.clock_ms = log, state, get_clock_ms()

    def clean_up(self) -> None:
        """Delete the files that no version after the cutoff needs."""
        checkpoint = self.find_checkpoint(self.compute_cutoff())
        if checkpoint is None:
            return
        self.delete(self.list_removable(checkpoint))
        remaining = self.log.list_entries()
        written = {
            name: entry.modified_ms
            for name, entry in remaining.items()
            if isinstance(parse_log_file_name(name), SidecarName)
        }
        self.delete(self.list_removable_sidecars(written, self.log.list_sidecars(remaining)))

    def compute_cutoff(self) -> int:
        """Return the time up to which history expires, in milliseconds since the epoch."""
        return cleanup.compute_cutoff(self.clock_ms, get_log_retention_ms(self.state.metadata.configuration))

    def find_checkpoint(self, cutoff_ms: int) -> int | None:
        """Return the version from which on everything stays; None if nothing may be deleted."""
        commit = cleanup.find_cutoff_commit(self.read_times(), cutoff_ms)
        return cleanup.find_cutoff_checkpoint(self.log.entries, commit)

    def read_times(self) -> dict[int, int]:
        """Return the time of each commit: its in-commit timestamp if the table enables them, else its file time."""
        is_stated = is_property_true(self.state.metadata.configuration, ENABLE_IN_COMMIT_TIMESTAMPS)
        found = {}
        for name, entry in self.log.entries.items():
            if isinstance(commit := parse_log_file_name(name), CommitName):
                actions = self.log.read_commit(commit.version) if is_stated else ()
                stated = [each.in_commit_timestamp for each in actions if isinstance(each, CommitInfo)]
                found[commit.version] = next((each for each in stated if each is not None), entry.modified_ms)
        return found

    def list_removable(self, checkpoint: int) -> set[str]:
        """Return the files to delete if everything from a checkpoint on stays."""
        return cleanup.find_removable_files(self.log.entries, checkpoint)

    def list_removable_sidecars(self, written: Mapping[str, int], named: set[str]) -> set[str]:
        """Return the sidecars to delete.

        Args:
            written: modification time of each sidecar, in milliseconds since the epoch.
            named: sidecars to which a checkpoint refers.
        """
        return cleanup.find_removable_sidecars(written, named, self.clock_ms)

    def delete(self, names: set[str]) -> None:
        """Delete files of the log, the oldest first."""
        for name in sorted(names):
            (self.folder / name).unlink(missing_ok=True)
