"""What `deltaspec show` answers: the state of a table as plain values."""

from msgspec import Struct


class FeatureState(Struct, frozen=True, kw_only=True):
    """A feature that the table supports."""

    name: str
    known: bool
    """The judged text defines it."""
    active: bool | None = None
    """The metadata asks for it; None where the schema cannot be read or the feature is not known."""


class LogFiles(Struct, frozen=True, kw_only=True):
    """Versions of the files in the log directory."""

    commits: list[int]
    checkpoints: list[tuple[int, str]]
    """Version and naming of each complete checkpoint."""
    compactions: list[tuple[int, int]]
    """First and last version of each."""
    checksums: list[int]
    hint: int | None
    """Version that `_last_checkpoint` names."""


class TableDescription(Struct, frozen=True, kw_only=True):
    """State of a table at a version, by replay."""

    table: str
    version: int
    earliest_version: int | None = None
    """The first version that can still be read."""
    latest_version: int | None = None
    min_reader_version: int | None
    min_writer_version: int | None
    features: list[FeatureState]
    id: str | None
    name: str | None
    schema_tree: str
    """One line a node; empty where the schema cannot be read."""
    partition_columns: list[str]
    configuration: dict[str, str]
    files: int
    bytes: int
    records: int | None
    """Rows that the statistics claim, deleted ones taken off; None where a file has none."""
    files_with_deletion_vector: int
    deleted_records: int
    tombstones: int
    domains: dict[str, str]
    transactions: dict[str, int]
    log: LogFiles
