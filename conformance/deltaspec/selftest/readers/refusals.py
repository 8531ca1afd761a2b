"""Faults in refusing tables that a reader cannot read, and in refusing others."""

from typing import Any

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.reference.engine import Engine, list_unsupported_type_changes
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.row_reader import FileRows, RowReader, arrow_schema
from deltaspec.candidates.serve import EngineError
from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.parquet.file_opener import UnreadableRows

FEATURES, VERSIONS = "table-features.reader-supports-all", "protocol.versions-supported"


@mutant(Engine.check_supported, FEATURES, suites=("refuse",), origin="dv-010")
def unknown_features_ignored(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Reads tables with features that it does not know."""


@mutant(Engine.check_supported, VERSIONS, suites=("refuse",), origin="proto-006")
def reader_version_not_checked(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Checks features, but not the reader version."""
    protocol = msgspec.structs.replace(state.protocol, min_reader_version=min(state.protocol.min_reader_version, 3))
    original(engine, replace(state, protocol=protocol))


@mutant(Engine.check_supported, FEATURES, "protocol.latest-holds", suites=("refuse",), origin="log-007")
def only_first_protocol_checked(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Checks the protocol of a new table, but not one that replaces it."""
    if state.snapshot.version in (0, 2):
        original(engine, state)


@mutant(Engine.check_supported, FEATURES, suites=("refuse",), origin="proto-005")
def unknown_features_reported_as_damage(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Reports an unknown feature as damage of the table."""
    try:
        original(engine, state)
    except EngineError as error:
        raise EngineError("corrupt", str(error), phase="snapshot") from None


@mutant(Engine.check_supported, "type-widening.refused-by-readers", suites=("refuse",))
def unsupported_type_changes_accepted(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Reads tables with recorded type changes that type widening does not allow."""
    if not list_unsupported_type_changes(state):
        original(engine, state)


def _refuse(features: set[str]) -> None:
    if features:
        raise EngineError("unsupported", f"unknown features {sorted(features)}", phase="snapshot")


@mutant(Engine.check_supported, FEATURES, suites=("snapshot", "read"), origin="proto-005")
def features_of_writers_checked(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Refuses features that only writers need to know."""
    original(engine, state)
    _refuse(set(state.protocol.writer_features or ()) & {"rowTracking", "clustering", "domainMetadata"})


@mutant(Engine.check_supported, "vacuum-protocol-check.readers-acknowledge", suites=("snapshot", "read"))
def vacuum_check_refused(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Refuses the feature vacuumProtocolCheck, which asks nothing of readers."""
    original(engine, state)
    _refuse(set(state.protocol.reader_features or ()) & {"vacuumProtocolCheck"})


@mutant(Engine.check_supported, "variant.tolerated", suites=("snapshot", "read"))
def features_without_use_refused(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Refuses variant in the protocol, whether or not a column has the type."""
    original(engine, state)
    _refuse(set(state.protocol.reader_features or ()) & {"variantType", "variantType-preview"})


@mutant(Engine.check_supported, "protocol.reader-versions", suites=("snapshot", "read"), origin="proto-002")
def reader_version_2_refused(original: Method, engine: Engine, state: LoadedTable) -> None:
    """Refuses reader version 2."""
    original(engine, state)
    if state.protocol.min_reader_version == 2:
        raise EngineError("unsupported", "minReaderVersion is 2", phase="snapshot")


@mutant(RowReader.read, "add.file-exists", suites=("refuse",))
def missing_data_files_skipped(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Returns no rows for a data file that is missing."""
    try:
        rows: FileRows = original(reader, action, **options)
    except DeltaspecError:
        return _no_rows(reader)
    return rows


@mutant(RowReader.read, "add.file-exists", suites=("refuse",))
def damaged_data_files_skipped(original: Method, reader: RowReader, action: Any, **options: Any) -> FileRows:
    """Returns no rows for a data file that it cannot read."""
    try:
        rows: FileRows = original(reader, action, **options)
    except UnreadableRows:
        return _no_rows(reader)
    return rows


def _no_rows(reader: RowReader) -> FileRows:
    return FileRows(arrow_schema(reader.state.schema).empty_table(), [], None, None, {})


@mutant(LogReader.read_state, "protocol.latest-holds", suites=("snapshot",))
def protocol_of_first_commit_shown(original: Method, log: LogReader, version: int | None = None) -> LoadedTable:
    """Shows the protocol of the first commit."""
    state: LoadedTable = original(log, version)
    if commit_name(0) not in log.entries:
        return state
    protocol = next((each for each in log.read_commit(0) if isinstance(each, Protocol)), state.protocol)
    return replace(state, protocol=protocol)
