"""Faults in deleting expired files of the log."""

from collections.abc import Mapping

from deltaspec.candidates.reference.checkpoint_writer import CheckpointWriter
from deltaspec.candidates.reference.log_cleaner import LogCleaner
from deltaspec.model.log.cleanup import find_cutoff_commit
from deltaspec.protocol.log.file_names import CommitName, parse_log_file_name
from deltaspec.protocol.log.segment import find_complete_checkpoints
from deltaspec.selftest.mutants import Method, mutant


@mutant(LogCleaner.find_checkpoint, "cleanup.nothing-without-checkpoint", suites=("write",))
def checkpoint_of_cutoff_not_needed(original: Method, cleaner: LogCleaner, cutoff_ms: int) -> int | None:
    """Deletes expired commits even if only a younger checkpoint covers them."""
    is_covered = bool(find_complete_checkpoints(cleaner.log.entries))
    found: int | None = original(cleaner, cutoff_ms)
    return find_cutoff_commit(cleaner.read_times(), cutoff_ms) if found is None and is_covered else found


@mutant(LogCleaner.compute_cutoff, "cleanup.cutoff-at-midnight", suites=("write",))
def cutoff_not_at_midnight(original: Method, cleaner: LogCleaner) -> int:
    """Deletes what is older than the retention, without going back to the midnight before."""
    return cleaner.clock_ms - (cleaner.clock_ms - int(original(cleaner))) // 86_400_000 * 86_400_000


@mutant(LogCleaner.list_removable, "cleanup.deletes-older", suites=("write",))
def old_commits_left(original: Method, cleaner: LogCleaner, checkpoint: int) -> set[str]:
    """Deletes old checkpoints, but not the commits before them."""
    return {name for name in original(cleaner, checkpoint) if not isinstance(parse_log_file_name(name), CommitName)}


@mutant(LogCleaner.list_removable, "cleanup.deletes-older", suites=("write",))
def old_checkpoints_left(original: Method, cleaner: LogCleaner, checkpoint: int) -> set[str]:
    """Deletes old commits, but not the checkpoints before the last one that is needed."""
    return {name for name in original(cleaner, checkpoint) if ".checkpoint." not in name}


@mutant(LogCleaner.list_removable_sidecars, "cleanup.young-sidecars", suites=("write",))
def young_sidecars_deleted(
    original: Method, cleaner: LogCleaner, written: Mapping[str, int], named: set[str]
) -> set[str]:
    """Deletes all sidecars to which no checkpoint refers, even sidecars of a checkpoint that is being written."""
    return {name for name in written if name.rpartition("/")[2] not in named}


@mutant(LogCleaner.list_removable_sidecars, "cleanup.young-sidecars", suites=("write",))
def old_sidecars_left(original: Method, cleaner: LogCleaner, written: Mapping[str, int], named: set[str]) -> set[str]:
    """Never deletes sidecars."""
    return set()


@mutant(LogCleaner.list_removable, "cleanup.keeps-cutoff-commit", suites=("write",))
def checkpoints_deleted(original: Method, cleaner: LogCleaner, checkpoint: int) -> set[str]:
    """Deletes all checkpoints but the newest one."""
    *older, _ = find_complete_checkpoints(cleaner.log.entries)
    return {*original(cleaner, checkpoint), *(name for each in older for name in each.files)}


@mutant(LogCleaner.clean_up, "checkpoint-protection.cleanup", suites=("write",))
def protected_checkpoint_written(original: Method, cleaner: LogCleaner) -> None:
    """Writes a checkpoint of the commit at the cutoff first, even with features that it does not support."""
    commit = find_cutoff_commit(cleaner.read_times(), cleaner.compute_cutoff())
    if commit is not None:
        snapshot = cleaner.log.read_state(commit).snapshot
        CheckpointWriter(cleaner.table).write_checkpoint(snapshot, "v1")
        cleaner.log.entries = cleaner.log.list_entries()
    original(cleaner)
