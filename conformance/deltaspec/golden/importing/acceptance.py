"""Cases of the acceptance workloads of delta-kernel-rs and DAT 0.0.4.

<case>/delta/                            the table
<case>/specs/<spec>.json                 what is asked; specs other than `read` and `snapshot` are listed as not asked
<case>/expected/<spec>/expected_data/*.parquet     rows of a read
"""

from pathlib import Path
from typing import Any

import msgspec

from deltaspec.golden.importing.folder import ImportFolder
from deltaspec.golden.importing.questions import CannotAsk, ImportedCase, LoadSnapshot, Question, ReadRows, Refuse

SPECS, DATA = "specs", "expected_data"
_SNAPSHOTS = ("snapshot", "snapshotConstruction", "snapshot_construction")


class Failure(msgspec.Struct, frozen=True, rename="camel"):
    """Expected error of a spec."""

    error_code: str = ""


class Expected(msgspec.Struct, frozen=True, rename="camel"):
    """Expected answer of a spec: rows of a read, or protocol and metadata of a snapshot."""

    row_count: int | None = None
    protocol: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """Content of a file in `specs`. Unknown fields are ignored, as the harness of delta-kernel-rs does."""

    type: str
    version: int | None = None
    timestamp: str | None = None
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


def _read_spec(folder: ImportFolder, directory: Path, name: str) -> Question:
    path = directory / SPECS / f"{name}.json"
    kind = folder.read_document(path, _Kind).type
    if kind != "read" and kind not in _SNAPSHOTS:
        return CannotAsk(name, f"specs of type {kind} are not imported")
    spec = folder.read_document(path, Spec)
    failure = spec.error or spec.expected_error
    if spec.timestamp is not None:
        return CannotAsk(name, "the answer depends on the modification times of files, which copies do not keep")
    if spec.version is not None and spec.version < 0:
        return CannotAsk(name, "a candidate cannot be asked for a negative version")
    if failure is not None:
        return Refuse(name, spec.version, kind == "read", failure.error_code)
    if spec.expected is None:
        return CannotAsk(name, "the spec has no expected answer")
    if kind != "read":
        return LoadSnapshot(name, spec.version, spec.version, spec.expected.protocol, spec.expected.metadata)
    rows = folder.list_rows(directory / "expected" / name / DATA)
    if not rows:
        return CannotAsk(name, "the spec has no file with expected rows")
    return ReadRows(name, spec.version, spec.columns, spec.predicate, rows, spec.expected.row_count)


class _Kind(msgspec.Struct, frozen=True):
    type: str
