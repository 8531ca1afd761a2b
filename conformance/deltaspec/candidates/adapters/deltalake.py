"""delta-rs through its Python package `deltalake`."""

from collections.abc import Sequence
from typing import Any

import deltalake
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from deltaspec.candidates.adapters.answers import (
    KERNEL_ERRORS,
    ErrorTable,
    refuse_operation,
    to_datetime,
    translate_errors,
)
from deltaspec.candidates.adapters.deltalake_writes import DeltalakeWriter
from deltaspec.candidates.adapters.sql_text import COUNT_COLUMN, Dialect, Path

DATAFUSION = Dialect(
    access="{}[{}]".format,
    names_fields_by_text=True,
    literals={
        # TIMESTAMP of DataFusion has nanoseconds, which end in 2262.
        "timestamp": "arrow_cast({quoted}, 'Timestamp(Microsecond, Some(\"UTC\"))')",
        "timestamp_ntz": "arrow_cast({quoted}, 'Timestamp(Microsecond, None)')",
    },
)
ERRORS: ErrorTable = (
    (r"^TableNotFoundError", "not-found"),
    (r"Unsupported table features required|is not supported for read operation", "unsupported"),
    (r"Unsupported reader features required", "unsupported"),  # before deltalake 1.5
    (r"Invalid table version", "not-found"),
    *KERNEL_ERRORS,
)
WRITE_ERRORS: ErrorTable = (
    (r"^PanicException", "internal"),
    (r"Permission denied|No space left|File too large|Disk quota", "io"),
    (r"[Cc]oncurrent|Transaction failed|[Cc]onflict|Failed to commit transaction|already exists", "conflict"),
    (r"Error parsing property 'delta\.parquet\.compression\.codec'", "unsupported"),
    (r"^SchemaMismatchError|failed validation check|[Ii]nvariant|[Cc]onstraint", "constraint"),
    (r"violat|append.only|not.null|non-nullable|Generated", "constraint"),
    (r"nsupported|not supported|not yet implemented|NotImplemented", "unsupported"),
    *ERRORS,
)
_CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


class Engine:
    """delta-rs."""

    def __init__(self) -> None:
        self._writer = DeltalakeWriter(DATAFUSION)

    def hello(self) -> dict[str, Any]:
        """Return the capabilities."""
        return {
            "name": "deltalake",
            "version": deltalake.__version__,
            "language": "Rust",
            "want": ["files", "transactions"],
            "at": ["version", "timestamp_ms"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "kinds": list(self._writer.kinds),
            "stores": ["s3"],
            "reader_features": [
                "columnMapping",
                "deletionVectors",
                "timestampNtz",
                "v2Checkpoint",
                "variantType",
                "variantType-preview",
            ],
            "writer_features": [
                "appendOnly",
                "changeDataFeed",
                "checkConstraints",
                "columnMapping",
                "deletionVectors",
                "generatedColumns",
                "invariants",
                "timestampNtz",
                "v2Checkpoint",
                "variantType",
                "variantType-preview",
            ],
        }

    def snapshot(
        self, table: str, *, at: dict[str, int] | None, want: Sequence[str], app_ids: Sequence[str]
    ) -> dict[str, Any]:
        """Return version, protocol and metadata, files and transactions."""
        with translate_errors(ERRORS, "snapshot"):
            opened = _open(table, at)
            answer: dict[str, Any] = {
                "version": opened.version(),
                "protocol": _describe_protocol(opened),
                "metadata": _describe_metadata(opened),
            }
            if "files" in want:
                answer["files"] = [
                    {"path": file["path"], "size": file["size_bytes"]}
                    for file in pa.table(opened.get_add_actions()).select(["path", "size_bytes"]).to_pylist()
                ]
            if "transactions" in want:
                versions = {app_id: opened.transaction_version(app_id) for app_id in app_ids}
                answer["transactions"] = {app_id: each for app_id, each in versions.items() if each is not None}
            return answer

    def scan(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        columns: Sequence[Path] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
        row_ids: bool,
    ) -> pa.Table | dict[str, Any]:
        """Return the rows of a query."""
        if row_ids:
            raise refuse_operation("delta-rs does not return row ids", "scan")
        with translate_errors(ERRORS, "snapshot"):
            opened = _open(table, at)
        query = DATAFUSION.render_scan("delta", columns, predicate, predicate_tree)
        with translate_errors(ERRORS, "scan"):
            rows = pa.table(QueryBuilder().register("delta", opened).execute(query).read_all())
        if columns is not None and not columns:
            return {"num_rows": rows[COUNT_COLUMN][0].as_py()}
        return rows

    def changes(
        self,
        table: str,
        *,
        start: int,
        end: int | None,
        columns: Sequence[Path] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
    ) -> pa.Table:
        """Return changed rows."""
        if any(len(path) > 1 for path in columns or ()):
            raise refuse_operation("load_cdf does not select nested fields", "changes")
        with translate_errors(ERRORS, "snapshot"):
            opened = _open(table, None)
        condition = predicate if predicate_tree is None else DATAFUSION.render_predicate(predicate_tree)
        names = None if columns is None else [*(name for (name,) in columns), *_CHANGE_COLUMNS]
        with translate_errors(ERRORS, "changes"):
            found = opened.load_cdf(starting_version=start, ending_version=end, columns=names, predicate=condition)
            return pa.table(found.read_all())

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        """Perform an operation."""
        with translate_errors(WRITE_ERRORS, "commit"):
            return self._writer.apply(table, operation, commit or {})


def _open(table: str, at: dict[str, int] | None) -> DeltaTable:
    at = at or {}
    opened = DeltaTable(table, version=at.get("version"))
    if at.get("timestamp_ms") is not None:
        opened.load_as_version(to_datetime(at["timestamp_ms"]))
    return opened


def _describe_protocol(opened: DeltaTable) -> dict[str, Any]:
    found = opened.protocol()
    answer: dict[str, Any] = {
        "minReaderVersion": found.min_reader_version,
        "minWriterVersion": found.min_writer_version,
    }
    if found.reader_features is not None:
        answer["readerFeatures"] = found.reader_features
    if found.writer_features is not None:
        answer["writerFeatures"] = found.writer_features
    return answer


def _describe_metadata(opened: DeltaTable) -> dict[str, Any]:
    found = opened.metadata()
    answer = {
        "id": str(found.id),
        "name": found.name,
        "description": found.description,
        "schemaString": opened.schema().to_json(),
        "partitionColumns": found.partition_columns,
        "configuration": found.configuration,
        "createdTime": found.created_time,
    }
    return {name: value for name, value in answer.items() if value is not None}
