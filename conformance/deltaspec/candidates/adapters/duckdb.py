"""DuckDB with its extension `delta`, which is built on kernel-rs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_delta
import pyarrow as pa

from deltaspec.candidates.adapters.answers import (
    KERNEL_ERRORS,
    KERNEL_READER_FEATURES,
    ErrorTable,
    refuse_operation,
    translate_errors,
)
from deltaspec.candidates.adapters.sql_text import COUNT_COLUMN, Dialect
from deltaspec.candidates.adapters.sql_text import Path as ColumnPath
from deltaspec.candidates.serve import EngineError

SQL = Dialect(literals={"timestamp": "CAST({quoted} AS TIMESTAMPTZ)", "binary": "from_hex({quoted})"})
ERRORS: ErrorTable = (
    (r"Unsupported (Arrow type|type in DuckDB -> Arrow)|encoding is only supported", "unsupported"),
    (r"Cannot open file|No magic bytes", "corrupt"),
    *KERNEL_ERRORS,
)


class Engine:
    """DuckDB with an in-memory database, which is opened again after an error that makes it unusable."""

    def __init__(self) -> None:
        self._connection = open_database()

    def hello(self) -> dict[str, Any]:
        """Return the capabilities. There is no operation `snapshot` because no function shows the version."""
        return {
            "name": "duckdb",
            "version": duckdb.__version__,
            "language": "C++",
            "at": ["version"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": KERNEL_READER_FEATURES,
            # variants are read, but cannot be converted to Arrow; the parser of schemas does not know void
            "types_not_supported": ["variant", "void"],
        }

    def scan(
        self,
        table: str,
        *,
        at: dict[str, int] | None,
        columns: Sequence[ColumnPath] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
        row_ids: bool,
    ) -> pa.Table | dict[str, Any]:
        """Return the rows of a query."""
        if row_ids:
            raise refuse_operation("delta_scan does not return row ids", "scan")
        arguments = [SQL.quote_text(table)]
        if at:
            if at.get("version") is None:
                raise refuse_operation("delta_scan does not read timestamps", "snapshot")
            arguments.append(f"version => {at['version']}")
        query = SQL.render_scan(f"delta_scan({', '.join(arguments)})", columns, predicate, predicate_tree)
        try:
            with translate_errors(ERRORS, "snapshot"):
                relation = self._connection.sql(query)
            with translate_errors(ERRORS, "scan"):
                rows = relation.to_arrow_table()
        except EngineError as error:
            if at and 'Invalid named parameter "version"' in error.message:
                message = f"delta_scan of DuckDB {duckdb.__version__} does not read versions; 1.5.5 does"
                raise refuse_operation(message, "snapshot") from error
            if isinstance(error.__cause__, duckdb.InternalException | duckdb.FatalException):
                self._connection = open_database()
            raise
        if columns is not None and not columns:
            return {"num_rows": rows[COUNT_COLUMN][0].as_py()}
        return rows


def open_database() -> duckdb.DuckDBPyConnection:
    """Return a connection with the extension, which reads times in UTC."""
    connection = duckdb.connect()
    connection.execute(f"LOAD {SQL.quote_text(str(_find_extension()))}")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _find_extension() -> Path:
    folder = Path(duckdb_extension_delta.__file__).parent / "extensions" / f"v{duckdb.__version__}"
    return folder / "delta.duckdb_extension"
