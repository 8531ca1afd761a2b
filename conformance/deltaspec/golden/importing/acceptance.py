"""Cases of the acceptance workloads of delta-kernel-rs and of the generator of DAT.

<case>/delta/                            the table; a case for writers may have none
<case>/specs/<spec>.json                 the questions
<case>/expected/<spec>/expected_data/*.parquet     rows of a read
<case>/data/                             rows that the commits of a spec of type `write` add
<case>/specs-x/operations.json           a history in the form of deltaspec, for what a write spec cannot express

The other specs of a case with a write spec are asked about the table that the candidate writes.
"""

from pathlib import Path
from typing import Any

import msgspec

from deltaspec.golden.importing.folder import ImportFolder, build_name
from deltaspec.golden.importing.questions import (
    CannotAsk,
    ImportedCase,
    LoadSnapshot,
    PerformCommits,
    Question,
    ReadChanges,
    ReadRows,
    Refuse,
)
from deltaspec.golden.importing.write_specs import OPERATIONS, read_commits, read_operations
from deltaspec.golden.writers.form import Domain, Transaction

SPECS, DATA = "specs", "expected_data"
_SNAPSHOTS = ("snapshot", "snapshotConstruction", "snapshot_construction")
_WRITE = "write"
_DERIVED = ("checkpoint", "crc")
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
    set_transactions: tuple[Transaction, ...] = ()
    domain_metadata: tuple[Domain, ...] = ()


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
    commits: tuple[dict[str, Any], ...] = ()


def is_case(folder: ImportFolder, directory: Path) -> bool:
    """Return whether a directory is an acceptance workload."""
    has_specs = any(name.endswith(".json") for name in folder.list_names(directory / SPECS))
    return has_specs or _has_operations(folder, directory)


def _has_operations(folder: ImportFolder, directory: Path) -> bool:
    path = directory / OPERATIONS
    return path.name in folder.list_names(path.parent)


def read_case(folder: ImportFolder, directory: Path, identity: str) -> ImportedCase:
    """Read a case. Raises `InvalidUsage`."""
    names = [name for name in folder.list_names(directory / SPECS) if name.endswith(".json")]
    specs = {name.removesuffix(".json"): folder.read_document(directory / SPECS / name, _Kind).type for name in names}
    written = [stem for stem, kind in specs.items() if kind == _WRITE]
    found = [_read_write_spec(folder, directory, stem, specs) for stem in written]
    for stem, kind in specs.items():
        question = _read_spec(folder, directory, stem, kind)
        if not written or (kind in _KINDS and (folder.has(directory / "delta") or isinstance(question, CannotAsk))):
            found.append(question)
    if _has_operations(folder, directory):
        found.append(read_operations(folder, directory))
    return ImportedCase(identity, "acceptance", directory / "delta", tuple(found))


def _read_write_spec(folder: ImportFolder, directory: Path, stem: str, specs: dict[str, str]) -> Question:
    """Read a write spec with the specs that its table must satisfy."""
    others = [stem for stem, kind in specs.items() if kind in ("read", "cdf", *_SNAPSHOTS)]
    asked = [_read_spec(folder, directory, each, specs[each]) for each in others]
    expected = tuple(each for each in asked if isinstance(each, ReadRows | ReadChanges | LoadSnapshot))
    derived: dict[str, list[int]] = {kind: [] for kind in _DERIVED}
    for each, kind in specs.items():
        if kind in _DERIVED:
            version = folder.read_document(directory / SPECS / f"{each}.json", Spec).version
            derived[kind] += [] if version is None else [version]
    document = folder.read_document(directory / SPECS / f"{stem}.json", Spec)
    found = read_commits(folder, directory, build_name(stem), document.commits)
    if isinstance(found, CannotAsk):
        return found
    commits, data_files = found
    return PerformCommits(build_name(stem), commits, data_files, expected, *map(tuple, derived.values()))


def _read_spec(folder: ImportFolder, directory: Path, stem: str, kind: str) -> Question:
    path = directory / SPECS / f"{stem}.json"
    name = build_name(stem)
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
    transactions: dict[str, int] = {each.app_id: each.version for each in expected.set_transactions}
    domains: dict[str, str | None] = {each.domain: each.configuration for each in expected.domain_metadata}
    return LoadSnapshot(name, version, version, expected.protocol, expected.metadata, transactions, domains)


class _Kind(msgspec.Struct, frozen=True):
    type: str
