"""Questions of an imported case, independent of its format."""

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from deltaspec.golden.writers.form import Commit
from deltaspec_generators.histories.drawing import Step

Format: TypeAlias = Literal["acceptance", "dat", "tables"]


class ReadRows(msgspec.Struct, frozen=True):
    """Read a table, or a part of it, and compare the rows."""

    name: str
    version: int | None = None
    """Version to read; None for the newest."""
    columns: tuple[str, ...] | None = None
    """Top-level columns; None for all."""
    predicate: str | None = None
    """SQL condition."""
    rows: tuple[Path, ...] | None = None
    """Parquet files with the expected rows; None if the reference reader gives them."""
    num_rows: int | None = None


class ReadChanges(msgspec.Struct, frozen=True):
    """Read the changed rows of a range of versions."""

    name: str
    start: int
    end: int | None
    """Last version, inclusive; None for the newest."""
    columns: tuple[str, ...] | None
    rows: tuple[Path, ...]
    num_rows: int | None = None

    @property
    def version(self) -> int | None:
        """Version whose schema the changes have."""
        return self.end


class LoadSnapshot(msgspec.Struct, frozen=True):
    """Load a version and compare its state with the expected state; parts that are not listed are not compared."""

    name: str
    version: int | None = None
    expected_version: int | None = None
    protocol: dict[str, Any] = msgspec.field(default_factory=dict)
    """Expected fields of the action."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    transactions: dict[str, int] = msgspec.field(default_factory=dict)
    """Newest version by application."""
    domains: dict[str, str | None] = msgspec.field(default_factory=dict)
    """Configuration by domain; None for a domain that was removed."""


class Refuse(msgspec.Struct, frozen=True):
    """Fail to read a table or its changes, or to load its snapshot."""

    name: str
    version: int | None = None
    reads_rows: bool = False
    """Whether an error while rows are read is a refusal; otherwise the snapshot must fail."""
    changes: tuple[int, int | None] | None = None
    """First and last version of the changes that cannot be read."""
    code: str = ""
    """Error class in the words of the source, for people."""


class PerformCommits(msgspec.Struct, frozen=True):
    """Perform the commits of a write spec on a new table, and compare the table with the other specs of the case."""

    name: str
    commits: tuple[Commit, ...]
    data_files: dict[str, Path]
    """Files with the rows of commits, by path in the case."""
    expected: tuple["ReadRows | ReadChanges | LoadSnapshot", ...] = ()
    checkpoints: tuple[int, ...] = ()
    """Commits after which a checkpoint is written."""
    checksums: tuple[int, ...] = ()
    """Commits after which a version checksum is written."""


class PerformOperations(msgspec.Struct, frozen=True):
    """Perform the operations of a history of `deltaspec`, whose answers follow from its model."""

    name: str
    steps: tuple[Step, ...]


class CannotAsk(msgspec.Struct, frozen=True):
    """A question that this release cannot ask."""

    name: str
    reason: str


Question: TypeAlias = ReadRows | ReadChanges | LoadSnapshot | Refuse | PerformCommits | PerformOperations | CannotAsk


class ImportedCase(msgspec.Struct, frozen=True):
    """A table with its questions."""

    id: str
    """Path of the case below the imported directory."""
    format: Format
    table: Path
    questions: tuple[Question, ...]
    description: str = ""
