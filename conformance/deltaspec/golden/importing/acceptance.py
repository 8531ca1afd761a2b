"""Cases of the acceptance workloads of delta-kernel-rs and DAT 0.0.4.

<case>/delta/                            the table
<case>/specs/<spec>.json                 the questions; specs that write or describe files are listed as not asked
<case>/expected/<spec>/expected_data/*.parquet     rows of a read
"""

from pathlib import Path
from typing import Any

import msgspec

from deltaspec.golden.importing.folder import ImportFolder, build_name
from deltaspec.golden.importing.questions import (
    CannotAsk,
    ImportedCase,
    LoadSnapshot,
    Question,
    ReadChanges,
    ReadRows,
    Refuse,
)

SPECS, DATA = "specs", "expected_data"
_SNAPSHOTS = ("snapshot", "snapshotConstruction", "snapshot_construction")
_TRANSACTIONS, _DOMAINS = ("appTxn", "txn"), ("domain_metadata", "domainMetadata")
_KINDS = ("read", "cdf", *_SNAPSHOTS, *_TRANSACTIONS, *_DOMAINS)


class Failure(msgspec.Struct, frozen=True, rename="camel"):
    """Expected error of a spec."""

    error_code: str = ""


class Expected(msgspec.Struct, frozen=True, rename="camel"):
    """Expected answer of a spec; each type of spec has some of the fields."""

    row_count: int | None = None
    protocol: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    app_id: str = ""
    txn_version: int = -1
    domain: str = ""
    configuration: str = ""
    removed: bool = False


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """Content of a file in `specs`. Unknown fields are ignored, as the harness of delta-kernel-rs does."""

    type: str
    version: int | None = None
    timestamp: str | None = None
    start_version: int | None = None
    end_version: int | None = None
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    predicate: str | None = None
    columns: tuple[str, ...] | None = None
    expected: Expected | None = None
    error: Failure | None = None
    expected_error: Failure | None = None
    """Name of `error` in later releases."""


def is_case(folder: ImportFolder, directory: Path) -> bool:
    """Return whether a directory is an acceptance workload."""
    return any(name.endswith(".json") for name in folder.list_names(directory / SPECS))


def read_case(folder: ImportFolder, directory: Path, identity: str) -> ImportedCase:
    """Read a case. Raises `InvalidUsage`."""
    names = [name for name in folder.list_names(directory / SPECS) if name.endswith(".json")]
    questions = tuple(_read_spec(folder, directory, name.removesuffix(".json")) for name in names)
    return ImportedCase(identity, "acceptance", directory / "delta", questions)


def _read_spec(folder: ImportFolder, directory: Path, stem: str) -> Question:
    path = directory / SPECS / f"{stem}.json"
    name = build_name(stem)
    kind = folder.read_document(path, _Kind).type
    if kind not in _KINDS:
        return CannotAsk(name, f"specs of type {kind} are not imported")
    spec = folder.read_document(path, Spec)
    if spec.timestamp or spec.start_timestamp or spec.end_timestamp:
        return CannotAsk(name, "the answer depends on the modification times of files, which copies do not keep")
    if min(spec.version or 0, spec.start_version or 0, spec.end_version or 0) < 0:
        return CannotAsk(name, "a candidate cannot be asked for a negative version")
    if spec.expected is None:
        failure = spec.error or spec.expected_error
        changes = (spec.start_version or 0, spec.end_version) if kind == "cdf" else None
        if failure is None:
            return CannotAsk(name, "the spec has no expected answer")
        return Refuse(name, spec.version, kind == "read", changes, failure.error_code)
    if kind not in ("read", "cdf"):
        return _build_snapshot_question(name, kind, spec.version, spec.expected)
    rows = folder.list_rows(directory / "expected" / stem / DATA)
    if not rows:
        return CannotAsk(name, "the spec has no file with expected rows")
    if kind == "read":
        return ReadRows(name, spec.version, spec.columns, spec.predicate, rows, spec.expected.row_count)
    if spec.predicate is not None:
        return CannotAsk(name, "predicates over changes are not asked")
    return ReadChanges(name, spec.start_version or 0, spec.end_version, spec.columns, rows, spec.expected.row_count)


def _build_snapshot_question(name: str, kind: str, version: int | None, expected: Expected) -> LoadSnapshot:
    if kind in _TRANSACTIONS:
        return LoadSnapshot(name, version, version, transactions={expected.app_id: expected.txn_version})
    if kind in _DOMAINS:
        configuration = None if expected.removed else expected.configuration
        return LoadSnapshot(name, version, version, domains={expected.domain: configuration})
    return LoadSnapshot(name, version, version, expected.protocol, expected.metadata)


class _Kind(msgspec.Struct, frozen=True):
    type: str
