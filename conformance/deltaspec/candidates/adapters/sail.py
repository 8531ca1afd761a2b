"""Sail: a Spark Connect server in this process, with its own implementation of Delta."""

import atexit
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pysail
from pysail.spark import SparkConnectServer

from deltaspec.candidates.adapters.answers import ErrorTable, refuse_operation, translate_errors
from deltaspec.candidates.adapters.sail_spark_writes import SailWriter
from deltaspec.candidates.adapters.spark_frames import connect, load_table, read_frame
from deltaspec.candidates.adapters.sql_text import Path

ERRORS: ErrorTable = (
    (r"^UnsupportedOperationException|did not match any variant of untagged enum DataType", "unsupported"),
    (r"No commit files found|expected final version|No version of the Delta table exists", "not-found"),
    (r"Missing commit file|Invalid Delta protocol|Invalid JSON in log record|Cannot load table state", "corrupt"),
    (r"Parquet error|deletion vector|No such file or directory", "corrupt"),
)
WRITE_ERRORS: ErrorTable = (
    (r"DELTA_NOT_NULL_CONSTRAINT_VIOLATED|DELTA_IDENTITY_COLUMN_|CHECK constraint|table is append-only", "constraint"),
    (r"Unsupported table features? required|Table features must be specified", "unsupported"),
    (r"column not found for INSERT by name", "unsupported"),  # it fills in no defaults
    (r"Failed to commit transaction: \d+", "conflict"),
    (r"os error (13|27|28)\b", "io"),  # no permission, file too large, no space
    *ERRORS,
)


class Engine:
    """Sail with one server and one session."""

    def __init__(self) -> None:
        self._server = SparkConnectServer("127.0.0.1", 0)
        self._server.start(background=True)
        _, port = self._server.listening_address
        self._session = connect(f"sc://127.0.0.1:{port}")
        self._writer = SailWriter(self._session)
        atexit.register(self._stop)

    def _stop(self) -> None:
        """Close the client before the server; otherwise the process may never exit."""
        self._session.stop()
        self._server.stop()

    def hello(self) -> dict[str, Any]:
        """Return the capabilities. There is no operation `snapshot` because no command shows the version."""
        return {
            "name": "sail",
            "version": pysail.__version__,
            "language": "Rust",
            "at": ["version", "timestamp_ms"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": [
                "columnMapping",
                "deletionVectors",
                "timestampNtz",
                "typeWidening",
                "typeWidening-preview",
                "v2Checkpoint",
                "vacuumProtocolCheck",
                "variantShredding",
                "variantShredding-preview",
                "variantType",
                "variantType-preview",
            ],
            "kinds": list(self._writer.operations),
            "writer_features": [
                "appendOnly",
                "checkConstraints",
                "columnMapping",
                "deletionVectors",
                "inCommitTimestamp",
                "invariants",
                "timestampNtz",
                "v2Checkpoint",
            ],
            # the parser of schemas does not know it
            "types_not_supported": ["void"],
        }

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
        """Return the rows of a data frame."""
        if row_ids:
            raise refuse_operation("Sail does not return row ids", "scan")
        with translate_errors(ERRORS, "snapshot"):
            frame = load_table(self._session, table, at)
            frame.schema  # noqa: B018 - asks the server
        with translate_errors(ERRORS, "scan"):
            return read_frame(frame, columns, predicate, predicate_tree)

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        """Perform an operation."""
        with translate_errors(WRITE_ERRORS, "commit"):
            return self._writer.apply(table, operation, commit or {})
