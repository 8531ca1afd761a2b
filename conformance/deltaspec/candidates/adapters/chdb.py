"""ClickHouse through its Python package `chdb`, which reads Delta tables with kernel-rs."""

import os
from collections.abc import Sequence
from typing import Any

import chdb
import pyarrow as pa

from deltaspec.candidates.adapters.answers import (
    KERNEL_ERRORS,
    KERNEL_READER_FEATURES,
    ErrorTable,
    refuse_operation,
    translate_errors,
)
from deltaspec.candidates.adapters.sql_text import COUNT_COLUMN, Dialect, Path

SQL = Dialect(
    has_backslash_escapes=True,
    literals={
        "boolean": "{text}",
        "float": "CAST({quoted} AS Float32)",
        "double": "CAST({quoted} AS Float64)",
        "date": "CAST({quoted} AS Date32)",
        "timestamp": "parseDateTime64BestEffort({quoted}, 6, 'UTC')",
        "timestamp_ntz": "parseDateTime64BestEffort({quoted}, 6, 'UTC')",
        "binary": "unhex({quoted})",
    },
)
ERRORS: ErrorTable = (
    (r"Unsupported Variant data type", "unsupported"),
    (r"FILE_DOESNT_EXIST|Not a Parquet file", "corrupt"),
    *KERNEL_ERRORS,
)


class Engine:
    """ClickHouse with one connection in memory."""

    def __init__(self) -> None:
        os.chdir("/")  # `deltaLakeLocal` reads only below the current directory
        self._connection = chdb.connect(":memory:")
        self._connection.query("SET session_timezone = 'UTC'")

    def hello(self) -> dict[str, Any]:
        """Return the capabilities. There is no operation `snapshot` because no function shows the version."""
        return {
            "name": "chdb",
            "version": chdb.__version__,
            "language": "C++",
            "at": ["version"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": KERNEL_READER_FEATURES,
            # ClickHouse has one type for strings and bytes, and none for timestamps without a time zone: its answer
            # does not show which of them a column is.
            "types_not_supported": ["variant", "void", "binary", "timestamp_ntz"],
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
        """Return the rows of a query."""
        if row_ids:
            raise refuse_operation("deltaLakeLocal does not return row ids", "scan")
        source, settings = f"deltaLakeLocal({SQL.quote_text(table)})", ""
        if at:
            if at.get("version") is None:
                raise refuse_operation("deltaLakeLocal does not read timestamps", "snapshot")
            settings = f" SETTINGS delta_lake_snapshot_version = {at['version']}"
        with translate_errors(ERRORS, "snapshot"):
            self._connection.query(f"DESCRIBE {source}{settings}")
        query = SQL.render_scan(source, columns, predicate, predicate_tree) + settings
        with translate_errors(ERRORS, "scan"):
            # The format "ArrowTable" returns a view of memory that chdb has released.
            found = self._connection.query(query, "Arrow").bytes()
            rows = pa.ipc.open_file(found).read_all()
        if columns is not None and not columns:
            return {"num_rows": rows[COUNT_COLUMN][0].as_py()}
        return rows
