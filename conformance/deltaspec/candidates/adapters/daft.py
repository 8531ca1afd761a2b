"""Daft, which reads the log with delta-rs and data files with its own reader."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import daft
import pyarrow as pa

from deltaspec.candidates.adapters.answers import (
    KERNEL_ERRORS,
    ErrorTable,
    refuse_operation,
    to_datetime,
    translate_errors,
)
from deltaspec.candidates.adapters.expressions import OPERATORS, build_predicate, parse_decimal_type, parse_literal
from deltaspec.candidates.adapters.sql_text import Path

ERRORS: ErrorTable = (
    (r"^TableNotFoundError", "not-found"),
    (r"Delta Lake deletion vectors are not yet supported", "unsupported"),
    (r"^DaftCoreException: .*(CorruptFile|No such file or directory|carries no parquet field IDs)", "corrupt"),
    (r"^DaftCoreException: .*Unsupported Arrow DataType", "unsupported"),
    *KERNEL_ERRORS,
)
_TYPES = {
    "byte": daft.DataType.int8(),
    "short": daft.DataType.int16(),
    "integer": daft.DataType.int32(),
    "long": daft.DataType.int64(),
    "float": daft.DataType.float32(),
    "double": daft.DataType.float64(),
    "boolean": daft.DataType.bool(),
    "string": daft.DataType.string(),
    "binary": daft.DataType.binary(),
    "date": daft.DataType.date(),
    "timestamp": daft.DataType.timestamp("us", "UTC"),
    "timestamp_ntz": daft.DataType.timestamp("us"),
}
_OPERATORS = {
    **OPERATORS,
    "<=>": daft.Expression.eq_null_safe,
    "in": lambda column, *literals: column.is_in(list(literals)),
    "starts_with": daft.Expression.startswith,
}


class Engine:
    """Daft."""

    def hello(self) -> dict[str, Any]:
        """Return the capabilities. There is no operation `snapshot` because Daft only returns rows."""
        return {
            "name": "daft",
            "version": daft.__version__,
            "language": "Rust",
            "at": ["version", "timestamp_ms"],
            "predicate": "exact",
            "predicate_forms": ["in", "starts_with"],
            # The features of delta-rs without deletion vectors, and further features whose tables Daft reads.
            "reader_features": [
                "columnMapping",
                "timestampNtz",
                "typeWidening",
                "typeWidening-preview",
                "v2Checkpoint",
                "vacuumProtocolCheck",
                "variantType",
                "variantType-preview",
            ],
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
            raise refuse_operation("read_deltalake does not return row ids", "scan")
        at = at or {}
        version = to_datetime(at["timestamp_ms"]) if at.get("timestamp_ms") is not None else at.get("version")
        with translate_errors(ERRORS, "snapshot"):
            frame = daft.read_deltalake(table, version=version)
        with translate_errors(ERRORS, "scan"):
            if predicate_tree is not None:
                frame = frame.where(build_predicate(predicate_tree, _build_column, _build_literal, _OPERATORS))
            elif predicate is not None:
                frame = frame.where(predicate)
            if columns is not None and not columns:
                return {"num_rows": frame.count_rows()}
            if columns is not None:
                frame = frame.select(*(_build_column(path).alias(".".join(path)) for path in columns))
            return frame.to_arrow()


def _build_column(path: Path) -> daft.Expression:
    return reduce(lambda column, name: column[name], path[1:], daft.col(path[0]))


def _build_literal(kind: str, text: str | None) -> daft.Expression:
    literal = daft.lit(parse_literal(kind, text))
    if kind.startswith("decimal"):
        return literal.cast(daft.DataType.decimal128(*parse_decimal_type(kind)))
    return literal.cast(_TYPES[kind])
