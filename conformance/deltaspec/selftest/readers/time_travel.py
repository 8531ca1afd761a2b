"""Faults in reading earlier versions."""

from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.model.log.reconciliation import replay_commit
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant

ISOLATION, IN_COMMIT = "table.snapshot-isolation", "in-commit-timestamp.used-for-time-travel"


@mutant(LogReader.read_state, ISOLATION, "log.replay-in-order", suites=("time-travel",))
def version_after_returned(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Returns the version after the one that was asked for."""
    state: LoadedTable = original(log, version)
    if version is None or version == log.find_versions()[1]:
        return state
    return log.build_state(replay_commit(state.snapshot, version, log.read_commit(version + 1)))


@mutant(LogReader.read_state, ISOLATION, suites=("time-travel",))
def newest_version_always_returned(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Ignores the version that was asked for."""
    state: LoadedTable = original(log, None)
    return state


@mutant(LogReader.read_state, ISOLATION, "metadata.replaces-whole", suites=("time-travel",))
def newest_schema_used_for_older_versions(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Reads earlier versions with the newest schema."""
    state: LoadedTable = original(log, version)
    newest: LoadedTable = original(log, None)
    return replace(state, metadata=newest.metadata, schema=newest.schema, mapping=newest.mapping)


@mutant(LogReader.find_version_at, "log.replay-in-order", suites=("time-travel",))
def versions_sorted_by_file_time(original: Method, log: LogReader, timestamp_ms: int) -> int | None:
    """Chooses the newest file time that is not later, although file times may run backwards."""
    if original(log, timestamp_ms) is None:
        return None
    times = [
        (log.get_timestamp_ms(state), state.snapshot.version)
        for state in log.iter_states(*log.find_versions())
        if commit_name(state.snapshot.version) in log.entries
    ]
    return max((each for each in times if each[0] <= timestamp_ms), default=(0, None))[1]


@mutant(LogReader.get_timestamp_ms, IN_COMMIT, suites=("time-travel",))
def in_commit_timestamps_ignored(original: Method, log: LogReader, state: LoadedTable) -> int:
    """Travels by the modification times of commit files, even with in-commit timestamps."""
    return log.entries[commit_name(state.snapshot.version)].modified_ms


@mutant(LogReader.get_timestamp_ms, IN_COMMIT, suites=("time-travel",))
def in_commit_timestamps_used_when_disabled(original: Method, log: LogReader, state: LoadedTable) -> int:
    """Believes an in-commit timestamp in any commit, also before the property was set."""
    stated = log.read_in_commit_timestamp(state.snapshot)
    return int(original(log, state)) if stated is None else stated


@mutant(LogReader.find_version_at, ISOLATION, suites=("time-travel",))
def next_version_chosen(original: Method, log: LogReader, timestamp_ms: int) -> int | None:
    """Chooses the first version at or after a timestamp."""
    first, last = log.find_versions()
    for state in log.iter_states(first, last):
        if log.get_timestamp_ms(state) >= timestamp_ms:
            return state.snapshot.version
    return last


@mutant(LogReader.find_version_at, ISOLATION, suites=("time-travel",))
def version_of_exact_timestamp_excluded(original: Method, log: LogReader, timestamp_ms: int) -> int | None:
    """Chooses the version before a timestamp that equals the timestamp of a commit."""
    found: int | None = original(log, timestamp_ms - 1)
    return found


@mutant(LogReader.find_version_at, ISOLATION, suites=("time-travel",))
def timestamps_compared_in_seconds(original: Method, log: LogReader, timestamp_ms: int) -> int | None:
    """Rounds timestamps to seconds."""
    found: int | None = original(log, timestamp_ms // 1000 * 1000 + 999)
    return found


@mutant(Engine.load, ISOLATION, suites=("time-travel",))
def timestamps_answered_with_newest(
    original: Method, engine: Engine, log: LogReader, at: dict[str, int] | None
) -> LoadedTable:
    """Ignores a timestamp and returns the newest version."""
    state: LoadedTable = original(engine, log, None if at is not None and "version" not in at else at)
    return state
