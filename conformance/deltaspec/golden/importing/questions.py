"""What an imported case asks, independent of the format it came from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Format: TypeAlias = Literal["acceptance", "dat", "tables"]


@dataclass(frozen=True)
class ReadRows:
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


@dataclass(frozen=True)
class LoadSnapshot:
    """Load a version and compare its protocol and metadata."""

    name: str
    version: int | None = None
    expected_version: int | None = None
    protocol: dict[str, Any] = field(default_factory=dict)
    """Expected fields of the action; fields that are not listed are not compared."""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refuse:
    """Fail to read a table, or to load its snapshot."""

    name: str
    version: int | None = None
    reads_rows: bool = False
    """Whether an error while rows are read is a refusal; otherwise the snapshot must fail."""
    code: str = ""
    """Error class in the words of the source, for people."""


@dataclass(frozen=True)
class CannotAsk:
    """A question that this release cannot ask."""

    name: str
    reason: str


Question: TypeAlias = ReadRows | LoadSnapshot | Refuse | CannotAsk


@dataclass(frozen=True)
class ImportedCase:
    """A table with its questions."""

    id: str
    """Path of the case below the imported directory."""
    format: Format
    table: Path
    questions: tuple[Question, ...]
    description: str = ""
