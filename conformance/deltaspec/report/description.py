"""Results of `deltaspec show`: the state of a table as plain values."""

import msgspec
from msgspec import field


class FeatureState(msgspec.Struct, frozen=True, kw_only=True):
    """A feature that the table supports."""

    name: str
    known: bool
    """Whether the revision defines it."""
    active: bool | None = None
    """Whether the metadata uses it; None if the schema cannot be read or the feature is unknown."""


class LogFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Versions of the files in the log directory."""

    commits: list[int]
    checkpoints: list[tuple[int, str]]
    """Version and naming scheme of each complete checkpoint."""
    compactions: list[tuple[int, int]]
    """First and last version of each compaction."""
    checksums: list[int]
    hint: int | None
    """Version that `_last_checkpoint` names."""
    staged: list[int] = field(default_factory=list)
    """Unpublished versions with staged commits, if a catalog manages the table."""


class TableDescription(msgspec.Struct, frozen=True, kw_only=True):
    """State of a table at a version, computed by replay."""

    table: str
    version: int
    earliest_version: int | None = None
    """First version that can still be read."""
    latest_version: int | None = None
    """Last version that can be read."""
    readable_versions: list[tuple[int, int]] = field(default_factory=list)
    """First and last version of each range of versions that can be read, ascending."""
    min_reader_version: int | None
    min_writer_version: int | None
    features: list[FeatureState]
    id: str | None
    name: str | None
    schema_tree: str
    """One line for each node; empty if the schema cannot be read."""
    partition_columns: list[str]
    configuration: dict[str, str]
    files: int
    bytes: int
    records: int | None
    """Rows by statistics, without deleted rows; None if a file has no row count."""
    files_with_deletion_vector: int
    deleted_records: int
    tombstones: int
    domains: dict[str, str]
    transactions: dict[str, int]
    log: LogFiles
    catalog: str | None = None
    """What only the catalog knows, if it manages the table."""
    unread_checkpoints: dict[str, str] = field(default_factory=dict)
    """Checkpoints that cannot be read, newest first, with the reason; the log was replayed without them."""


class SizeBin(msgspec.Struct, frozen=True, kw_only=True):
    """Files in a range of sizes."""

    at_least: int
    below: int
    files: int
    bytes: int


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One data file, from the log."""

    path: str
    """URI-encoded, as written in the log."""
    bytes: int


class PartitionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Live files of one partition."""

    values: dict[str, str | None]
    """Serialized value by column (logical name); null and the empty string are both None."""
    files: int
    bytes: int


class Partitions(msgspec.Struct, frozen=True, kw_only=True):
    """Distribution of files and bytes over partitions."""

    columns: list[str]
    count: int
    median_files: float
    median_bytes: float
    by_bytes: list[PartitionFacts]
    """Partitions with the most bytes, descending."""
    by_files: list[PartitionFacts]
    """Partitions with the most files, descending."""


class RowsPerFile(msgspec.Struct, frozen=True, kw_only=True):
    """Row counts by statistics, including deleted rows, over the files that have a row count."""

    least: int
    median: float
    most: int
    total: int


class FilesDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Live data files of a table at a version, from the log alone."""

    table: str
    version: int
    files: int
    bytes: int
    files_without_size: int
    """Files with a missing or negative size; counted in `files`, but not in bytes and sizes."""
    median_bytes: float | None
    sizes: list[SizeBin]
    """Adjacent ranges from the smallest to the largest file; empty if there are no files."""
    small_below: int
    """Size in bytes below which a file counts as small."""
    small_files: int
    small_bytes: int
    largest: list[FileFacts]
    smallest: list[FileFacts]
    partitions: Partitions | None
    """None if the table is not partitioned."""
    files_with_deletion_vector: int
    deleted_records: int
    rows_under_vectors: int | None
    """Rows of the files with a deletion vector, including deleted rows; None if one has no row count."""
    rows: RowsPerFile | None
    """None if no file has a row count."""
    files_without_row_count: int
    """Files without numRecords or without statistics."""
    files_without_statistics: int
    unread_checkpoints: dict[str, str] = field(default_factory=dict)
    """Checkpoints that cannot be read, newest first, with the reason; the log was replayed without them."""
