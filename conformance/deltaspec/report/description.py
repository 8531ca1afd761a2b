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


class SizeBin(Struct, frozen=True, kw_only=True):
    """Files of a range of sizes."""

    at_least: int
    below: int
    files: int
    bytes: int


class FileFacts(Struct, frozen=True, kw_only=True):
    """One data file, as the log has it."""

    path: str
    """As written: URI-encoded."""
    bytes: int


class PartitionFacts(Struct, frozen=True, kw_only=True):
    """Live files of one partition."""

    values: dict[str, str | None]
    """By column (logical name), as serialized; a null and the empty string are both null."""
    files: int
    bytes: int


class Partitions(Struct, frozen=True, kw_only=True):
    """How files and bytes spread over partitions."""

    columns: list[str]
    count: int
    median_files: float
    median_bytes: float
    by_bytes: list[PartitionFacts]
    """Those with the most bytes, descending."""
    by_files: list[PartitionFacts]
    """Those with the most files, descending."""


class RowsPerFile(Struct, frozen=True, kw_only=True):
    """Rows that statistics claim, deleted ones counted in; over the files whose statistics say."""

    least: int
    median: float
    most: int
    total: int


class FilesDescription(Struct, frozen=True, kw_only=True):
    """Live data files of a table at a version, by the log alone."""

    table: str
    version: int
    files: int
    bytes: int
    files_without_size: int
    """Files whose size is absent or negative; they count in `files` and nowhere in bytes and sizes."""
    median_bytes: float | None
    sizes: list[SizeBin]
    """Adjoining ranges from the smallest to the largest file; empty without files."""
    small_below: int
    """Bytes under which a file counts as small."""
    small_files: int
    small_bytes: int
    largest: list[FileFacts]
    smallest: list[FileFacts]
    partitions: Partitions | None
    """None where the table is not partitioned."""
    files_with_deletion_vector: int
    deleted_records: int
    rows_under_vectors: int | None
    """Rows of the files that have a deletion vector, deleted ones counted in; None where one does not say."""
    rows: RowsPerFile | None
    """None where no file says."""
    files_without_row_count: int
    """Files whose statistics lack numRecords, or that have no statistics."""
    files_without_statistics: int
