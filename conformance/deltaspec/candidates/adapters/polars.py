"""Polars, which reads the log with delta-rs and data files with its own reader."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.candidates.adapters.answers import (
    KERNEL_ERRORS,
    ErrorTable,
    refuse_operation,
    to_datetime,
    translate_errors,
)
from deltaspec.candidates.adapters.expressions import OPERATORS, build_predicate, parse_decimal_type, parse_literal
from deltaspec.candidates.adapters.sql_text import COUNT_COLUMN, Path

ERRORS: ErrorTable = (
    (r"requires reader features (?P<features>\[.*?\]), which polars does not support", "unsupported"),
    (r"which polars does not support|parquet: Not yet supported", "unsupported"),
    (r"^FileNotFoundError: \[Errno 2\]", "not-found"),
    (r"^FileNotFoundError|^ComputeError: parquet", "corrupt"),
    *KERNEL_ERRORS,
)
_TYPES = {
    "byte": pl.Int8(),
    "short": pl.Int16(),
    "integer": pl.Int32(),
    "long": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "string": pl.String(),
    "binary": pl.Binary(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
}
_OPERATORS = {
    **OPERATORS,
    "<=>": pl.Expr.eq_missing,
    "in": lambda column, *literals: column.is_in(pl.concat_list(literals)),
    "starts_with": lambda column, prefix: column.str.starts_with(prefix),
}


class Engine:
    """Polars."""

    def hello(self) -> dict[str, Any]:
        """Return the capabilities. There is no operation `snapshot` because Polars only returns rows."""
        return {
            "name": "polars",
            "version": pl.__version__,
            "language": "Rust",
            "at": ["version", "timestamp_ms"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            "reader_features": ["deletionVectors", "timestampNtz", "variantType", "variantType-preview"],
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
        """Return the rows of a lazy frame."""
        if row_ids:
            raise refuse_operation("scan_delta does not return row ids", "scan")
        at = at or {}
        version = to_datetime(at["timestamp_ms"]) if at.get("timestamp_ms") is not None else at.get("version")
        with translate_errors(ERRORS, "snapshot"):
            frame = pl.scan_delta(table, version=version)
            frame.collect_schema()
        with translate_errors(ERRORS, "scan"):
            if predicate_tree is not None:
                frame = frame.filter(build_predicate(predicate_tree, _build_column, _build_literal, _OPERATORS))
            elif predicate is not None:
                frame = frame.filter(pl.sql_expr(predicate))
            if columns is not None and not columns:
                return {"num_rows": frame.select(pl.len().alias(COUNT_COLUMN)).collect().item()}
            if columns is not None:
                frame = frame.select(_build_column(path).alias(".".join(path)) for path in columns)
            return frame.collect().to_arrow()


def _build_column(path: Path) -> pl.Expr:
    return reduce(lambda column, name: column.struct.field(name), path[1:], pl.col(path[0]))


def _build_literal(kind: str, text: str | None) -> pl.Expr:
    if kind.startswith("decimal"):
        return pl.lit(parse_literal(kind, text), pl.Decimal(*parse_decimal_type(kind)))
    return pl.lit(parse_literal(kind, text), _TYPES[kind])
