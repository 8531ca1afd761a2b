"""Faults in the changes of a range of versions."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import FileRows, RowReader, UnreadableFile
from deltaspec.protocol.actions import Add, Cdc, Remove
from deltaspec.protocol.features.change_data import CHANGE_TYPE
from deltaspec.protocol.features.row_tracking import COLUMN_PROPERTIES
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.readers.parquet_footers import read_footer

ALONE, PREFERRED = "cdc.read-alone", "cdc.preferred"
Before = LoadedTable | None


@mutant(Engine.read_changes, ALONE, suites=("changes",))
def adds_read_besides_change_files(
    original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable
) -> pa.Table:
    """Reads adds and removes in addition to change data files."""
    found = original(engine, log, before, state)
    actions = log.read_commit(state.snapshot.version)
    if not any(isinstance(each, Cdc) for each in actions):
        return found
    parts = engine.compare_files(engine.row_reader(log.access, state), before, state, actions)
    return pa.concat_tables([found, *parts], promote_options="default")


@mutant(Engine.read_changes, PREFERRED, suites=("changes",))
def change_files_ignored(
    original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable
) -> pa.Table:
    """Derives changes from adds and removes even if there are change data files."""
    plain = type("LogReader", (type(log),), {})(log.store.root)
    plain.read_commit = lambda version: [each for each in log.read_commit(version) if not isinstance(each, Cdc)]
    return original(engine, plain, before, state)


@mutant(Engine.read_changes, ALONE, suites=("changes",))
def preimages_dropped(original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable) -> pa.Table:
    """Leaves out the rows before an update."""
    found = original(engine, log, before, state)
    return found.filter(pc.not_equal(found.column(CHANGE_TYPE), "update_preimage"))


@mutant(Engine.read_changes, ALONE, suites=("changes",))
def updates_split(original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable) -> pa.Table:
    """Returns updates as deletes and inserts."""
    found = original(engine, log, before, state)
    names = {"update_preimage": "delete", "update_postimage": "insert"}
    kinds = [names.get(each, each) for each in found.column(CHANGE_TYPE).to_pylist()]
    place = found.column_names.index(CHANGE_TYPE)
    return found.set_column(place, CHANGE_TYPE, pa.array(kinds, pa.string()))


@mutant(Engine.read_changes, "cdc.no-commit-columns", suites=("changes",))
def commit_columns_missing(
    original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable
) -> pa.Table:
    """Does not add the version and the timestamp of the commit."""
    return original(engine, log, before, state).drop_columns(["_commit_version", "_commit_timestamp"])


@mutant(Engine.read_changes, "cdc.timestamp-in-commit", suites=("changes",))
def timestamp_of_commit_file_used(
    original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable
) -> pa.Table:
    """Takes the timestamp of changes from the commit file even with in-commit timestamps."""
    return _set_timestamp(original(engine, log, before, state), _get_file_time(log, state))


@mutant(Engine.read_changes, "cdc.timestamp-of-file", suites=("changes",))
def timestamp_of_commit_info_used(
    original: Method, engine: Engine, log: LogReader, before: Before, state: LoadedTable
) -> pa.Table:
    """Takes the timestamp of changes from the field `timestamp` of commitInfo."""
    info = state.snapshot.commit_info
    stated = None if info is None else info.timestamp
    found = original(engine, log, before, state)
    return _set_timestamp(found, stated if isinstance(stated, int) else 0)


def _get_file_time(log: LogReader, state: LoadedTable) -> int:
    return log.entries[commit_name(state.snapshot.version)].modified_ms


def _set_timestamp(table: pa.Table, moment_ms: int) -> pa.Table:
    place = table.column_names.index("_commit_timestamp")
    moments = pa.array([moment_ms * 1000] * table.num_rows, pa.int64()).cast(pa.timestamp("us", "UTC"))
    return table.set_column(place, "_commit_timestamp", moments)


def _change_actions(
    original: Method, engine: Engine, reader: RowReader, before: Before, state: LoadedTable, actions: Sequence[Any]
) -> list[pa.Table]:
    found: list[pa.Table] = original(engine, reader, before, state, actions)
    return found


@mutant(Engine.compare_files, ALONE, suites=("changes",), origin="cdf-006")
def removes_cause_no_changes(
    original: Method, engine: Engine, reader: RowReader, before: Before, state: LoadedTable, actions: Sequence[Any]
) -> list[pa.Table]:
    """Returns the rows of adds as inserted, and no deleted rows."""
    kept = [each for each in actions if not isinstance(each, Remove)]
    return _change_actions(original, engine, reader, before, state, kept)


@mutant(Engine.compare_files, ALONE, suites=("changes",), origin="log-018")
def rearranged_rows_reported(
    original: Method, engine: Engine, reader: RowReader, before: Before, state: LoadedTable, actions: Sequence[Any]
) -> list[pa.Table]:
    """Returns rows of commits that only rearrange data."""
    changed = [
        msgspec.structs.replace(each, data_change=True) if isinstance(each, Add | Remove) else each for each in actions
    ]
    return _change_actions(original, engine, reader, before, state, changed)


@mutant(Engine.compare_files, ALONE, suites=("changes",))
def new_vectors_change_nothing(
    original: Method, engine: Engine, reader: RowReader, before: Before, state: LoadedTable, actions: Sequence[Any]
) -> list[pa.Table]:
    """Takes a file that only gets another deletion vector for unchanged."""
    removed = {each.path for each in actions if isinstance(each, Remove)}
    kept = [each for each in actions if not (isinstance(each, Add | Remove) and each.path in removed
            and any(isinstance(other, Add) and other.path == each.path for other in actions))]  # fmt: skip
    return _change_actions(original, engine, reader, before, state, kept)


@mutant(Engine.compare_files, ALONE, "deletion-vectors.honoured", suites=("changes",))
def all_rows_of_removed_files_reported(
    original: Method, engine: Engine, reader: RowReader, before: Before, state: LoadedTable, actions: Sequence[Any]
) -> list[pa.Table]:
    """Reports rows of removed files that a vector had deleted before."""
    if before is not None:
        files = {key: msgspec.structs.replace(add, deletion_vector=None) for key, add in before.snapshot.files.items()}
        before = replace(before, snapshot=replace(before.snapshot, files=files))
    return _change_actions(original, engine, reader, before, state, actions)


@mutant(RowReader.read, "column-mapping.read-by-physical-name", suites=("changes",), origin="cdf-007")
def change_files_read_by_display_name(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Looks for the display names of columns in change data files."""
    if isinstance(action, Cdc):
        other = type("RowReader", (RowReader,), {})(reader.access, replace(reader.state, mapping=None))
        return other.read(action, **options)  # type: ignore[no-any-return]
    rows: FileRows = original(reader, action, **options)
    return rows


@mutant(RowReader.read, "row-tracking.not-in-change-files", suites=("changes",))
def row_ids_required_in_change_files(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Refuses change data files without row ids in tables with row tracking."""
    configuration = reader.state.metadata.configuration
    wanted = {configuration[key] for key in COLUMN_PROPERTIES if key in configuration}
    if isinstance(action, Cdc) and wanted - set(read_footer(reader, action).schema.to_arrow_schema().names):
        raise UnreadableFile("the change data file has no row ids")
    rows: FileRows = original(reader, action, **options)
    return rows


@mutant(Engine.changes, ALONE, suites=("changes",))
def last_version_excluded(original: Method, engine: Engine, table: str, **request: Any) -> pa.Table:
    """Leaves out the last version of a range."""
    found = original(engine, table, **request)
    return found.filter(pc.less(found.column("_commit_version"), request["end"]))


@mutant(Engine.changes, ALONE, suites=("changes",))
def first_version_excluded(original: Method, engine: Engine, table: str, **request: Any) -> pa.Table:
    """Leaves out the first version of a range."""
    found = original(engine, table, **request)
    return found.filter(pc.greater(found.column("_commit_version"), request["start"]))
