"""Messages between the host and a candidate: one JSON object per line (candidate protocol, version 1).

The host sends requests to the candidate's stdin and reads answers from its stdout:

    {"seq": 7, "op": "scan", "table": "/tmp/t", "out": "/tmp/rows.arrow"}
    {"seq": 7, "ok": {"path": "/tmp/rows.arrow", "num_rows": 3}}

Unknown fields are ignored on both sides, so that later versions can add fields. Rows travel as Arrow IPC files.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from deltaspec.candidates.write_operations import CommitOptions, WriteOperation
from deltaspec.protocol.features.catalog_managed import CatalogAnswer

PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Longest line of a message, with its line break."""

Operation: TypeAlias = Literal["hello", "snapshot", "scan", "changes", "apply", "bye"]
ErrorCategory: TypeAlias = Literal[
    "unsupported", "corrupt", "not-found", "conflict", "constraint", "invalid-request", "io", "internal"
]
Phase: TypeAlias = Literal["snapshot", "scan", "changes", "commit"]
AcceptedErrors: TypeAlias = tuple[tuple[ErrorCategory, Phase], ...]
"""Categories of an error, each with the phase in which it may occur at the latest."""
UNSUPPORTED: AcceptedErrors = (("unsupported", "scan"),)
DAMAGED: AcceptedErrors = (("corrupt", "scan"), ("not-found", "scan"), ("io", "scan"))
"""Engines have one error for a damaged and for a missing file, and some find out only when they read it."""
DAMAGED_LOG: AcceptedErrors = tuple((category, "snapshot") for category, _ in DAMAGED)
ACCEPTED_ERRORS: dict[str, AcceptedErrors] = {
    "unsupported": UNSUPPORTED,
    "damaged": DAMAGED,
    "damaged or unsupported": (*DAMAGED, *UNSUPPORTED),
}
"""Errors with which an engine must refuse a faulty table, by the reason that the table states."""
PredicateSupport: TypeAlias = Literal["exact", "prunes", "none"]
Wanted: TypeAlias = Literal["files", "transactions", "domains"]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""Number of things, or a version of a table."""
Timestamp: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Milliseconds since the epoch."""


class At(msgspec.Struct, omit_defaults=True, frozen=True):
    """Version or timestamp to read; exactly one is set."""

    version: int | None = None
    timestamp_ms: int | None = None
    """Milliseconds since the epoch."""


class Hello(msgspec.Struct, tag_field="op", tag="hello", frozen=True):
    """First request."""

    protocol: tuple[int, ...] = (PROTOCOL_VERSION,)
    """Versions that the host speaks."""
    host: str = "deltaspec"
    tmp: str = ""
    """Directory for files of the candidate; removed after the run."""


class Snapshot(msgspec.Struct, tag_field="op", tag="snapshot", frozen=True, omit_defaults=True):
    """Request for the state of a table."""

    table: str
    at: At | None = None
    want: tuple[Wanted, ...] = ()
    app_ids: tuple[str, ...] = ()
    """Applications of the wanted transactions, for engines that cannot list them."""
    catalog: CatalogAnswer | None = None
    """What the catalog of the table knows; None for a table that is named by its path alone."""


class Scan(msgspec.Struct, tag_field="op", tag="scan", frozen=True, omit_defaults=True):
    """Request for the rows of a table."""

    table: str
    out: str
    """Path of the Arrow IPC file to write."""
    at: At | None = None
    columns: tuple[tuple[str, ...], ...] | None = None
    """Paths of logical names; None for all columns, empty for no column (count). A nested field is returned as a
    column of its own with its names joined by dots."""
    predicate: str | None = None
    """SQL condition."""
    predicate_tree: list[Any] | None = None
    """The same condition, as in `predicates`."""
    row_ids: bool = False
    """Whether to add the columns `__row_id` and `__row_commit_version`."""
    catalog: CatalogAnswer | None = None


class Changes(msgspec.Struct, tag_field="op", tag="changes", frozen=True, omit_defaults=True):
    """Request for the changed rows of a range of versions."""

    table: str
    out: str
    start: int
    end: int | None = None
    """Last version, inclusive; None for the newest."""
    columns: tuple[tuple[str, ...], ...] | None = None
    predicate: str | None = None
    predicate_tree: list[Any] | None = None
    catalog: CatalogAnswer | None = None


class Apply(msgspec.Struct, tag_field="op", tag="apply", frozen=True, omit_defaults=True):
    """Request to write to a table."""

    table: str
    operation: WriteOperation
    commit: CommitOptions | None = None
    catalog: CatalogAnswer | None = None
    """With it, a commit is staged and the answer names the file; the host decides as the catalog."""


class Bye(msgspec.Struct, tag_field="op", tag="bye", frozen=True):
    """Last request; the candidate exits with code 0."""


Request: TypeAlias = Hello | Snapshot | Scan | Changes | Apply | Bye


class Capabilities(msgspec.Struct, frozen=True):
    """Answer to `hello`: the engine and what it claims to support."""

    name: str
    version: str
    protocol: int = PROTOCOL_VERSION
    language: str = ""
    ops: tuple[Operation, ...] = ("snapshot", "scan")
    kinds: tuple[str, ...] = ()
    """Kinds of `apply`."""
    kinds_not_drawn: tuple[str, ...] = ()
    """Kinds of `apply` that drawn histories leave out, such as slow ones; written histories use them."""
    want: tuple[Wanted, ...] = ()
    """What `snapshot` can list."""
    at: tuple[Literal["version", "timestamp_ms"], ...] = ()
    row_ids: bool = False
    predicate: PredicateSupport = "none"
    predicate_forms: tuple[Literal["in", "starts_with"], ...] = ()
    """Further forms of `predicate_tree` that the engine takes; without them it gets comparisons."""
    reader_features: tuple[str, ...] = ()
    """Table features with which the engine reads tables; a table with another one must be refused."""
    writer_features: tuple[str, ...] = ()
    max_reader_version: int = 3
    max_writer_version: int = 7
    types_not_supported: tuple[str, ...] = ()
    """Names of Delta types; a table with such a column may be refused."""
    checkpoints_not_supported: tuple[Literal["classic", "multipart", "v2"], ...] = ()
    """Kinds of checkpoints that the engine does not read; a table with one may be refused as unsupported. `v2` is the
    content: a V2 checkpoint may have a classic name."""
    catalog: tuple[Literal["staged", "inline"], ...] = ()
    """Kinds of ratified commits that requests may give to the engine as `catalog`. Without any, the engine must refuse
    catalog-managed tables."""
    stores: tuple[Literal["s3"], ...] = ()
    """Object stores to which the engine writes, for URIs such as `s3://bucket/table`; it reads the `AWS_` variables."""

    @property
    def drawn_kinds(self) -> tuple[str, ...]:
        """Kinds of `apply` for drawn histories."""
        return tuple(each for each in self.kinds if each not in self.kinds_not_drawn)


class FileEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A logical file of a snapshot."""

    path: str
    """As in the log, or decoded, or absolute."""
    size: Count | None = None
    deletion_vector_id: str | None = None


class SnapshotAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `snapshot`; protocol and metadata as in the log. None stands for what the engine does not show."""

    version: Count
    timestamp_ms: Timestamp | None = None
    in_commit_timestamp: Timestamp | None = None
    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    files: tuple[FileEntry, ...] | None = None
    transactions: dict[str, int] | None = None
    domains: dict[str, str] | None = None


class RowsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `scan` and `changes`."""

    path: str
    num_rows: Count
    predicate: PredicateSupport | None = None
    """How the predicate was used, if it differs from the capabilities."""
    files_read: Count | None = None
    files_skipped: Count | None = None


class ApplyAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to `apply`."""

    committed: bool
    version: Count | None = None
    """New version; None if there was nothing to do."""
    files: tuple[str, ...] | None = None
    staged: str | None = None
    """Name of the file in `_delta_log/_staged_commits` that the catalog has to ratify; `committed` is then false."""


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Error answer."""

    category: ErrorCategory
    message: str = ""
    code: str = ""
    """The engine's own error class."""
    phase: Phase | None = None
    features: tuple[str, ...] = ()
    native: str = ""
    """Name of the exception."""
    retryable: bool = False


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sign of life during a long operation; it renews the deadline."""

    note: str = ""
    done: Count | None = None
    total: Count | None = None


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the candidate: progress, or the answer, which has either `ok` or `error`."""

    seq: int
    ok: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Refusal | msgspec.UnsetType = msgspec.UNSET
    progress: Progress | msgspec.UnsetType = msgspec.UNSET
