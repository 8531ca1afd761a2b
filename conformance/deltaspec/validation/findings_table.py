"""All findings of a run as rows of a table. A report has only the first findings of each rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import msgspec
import polars as pl

from deltaspec.output_files import replace_file, translate_write_errors
from deltaspec.report.report_types import Finding
from deltaspec.rules.registry import Rule
from deltaspec.validation.kept_findings import describe_rule
from deltaspec.views.base import LOCATION

FINDING_SCHEMA: dict[str, Any] = {
    "rule": pl.String,
    "name": pl.String,
    "severity": pl.String,
    "requirement": pl.String,
    "level": pl.String,
    "version": pl.Int64,
    "file": pl.String,
    "line": pl.Int64,
    "path": pl.String,
    "column": pl.String,
    "message": pl.String,
    "evidence": pl.String,
}
"""Columns of the table: the fields of `report_types.Finding`, with the evidence as a JSON object."""
_BATCH_ROWS = 100_000


def build_finding_rows(rule: Rule, revision: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Build the findings of a rule as rows of `FINDING_SCHEMA`.

    Args:
        rule: the rule.
        revision: protocol revision of the run.
        rows: rows of its view for which the rule is true.
    """
    evidence_columns = [
        name for name in rule.reads if name not in LOCATION and rule.view.columns[name].dtype != pl.Binary
    ]
    known = describe_rule(rule, revision)
    columns: list[pl.Expr] = []
    for name, dtype in FINDING_SCHEMA.items():
        if name in known:
            columns.append(pl.lit(known[name], dtype).alias(name))
        elif name == "evidence":
            evidence = pl.struct(evidence_columns).struct.json_encode() if evidence_columns else pl.lit("{}")
            columns.append(evidence.alias(name))
        else:
            columns.append(pl.col(name) if name in rows.columns else pl.lit(None, dtype).alias(name))
    return rows.select(columns)


class Sink(Protocol):
    """Receives rows of `FINDING_SCHEMA`."""

    def take(self, rows: pl.DataFrame) -> None:
        """Add rows."""
        ...

    def retain_rules(self, codes: list[str]) -> None:
        """Drop the rows of all other rules."""
        ...


class InMemorySink:
    """Keeps rows in memory."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []

    def take(self, rows: pl.DataFrame) -> None:
        self.frames.append(rows)

    def retain_rules(self, codes: list[str]) -> None:
        self.frames = [frame.filter(pl.col("rule").is_in(codes)) for frame in self.frames]

    def all(self) -> pl.DataFrame:
        """Return all rows, and remove them from the sink."""
        frames, self.frames = self.frames, []
        return pl.concat(frames) if frames else pl.DataFrame(schema=FINDING_SCHEMA)


class ParquetSink:
    """Writes rows to one Parquet file in batches.

    Args:
        path: the file, which is created.
        name: the file in messages.

    Raises:
        InvalidUsage: it cannot be written. Later calls raise that, too.
    """

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._name = name
        self._schema = pl.DataFrame(schema=FINDING_SCHEMA).to_arrow().schema
        self._writer = self._open_writer()
        self._pending = InMemorySink()
        self._rows = 0

    def take(self, rows: pl.DataFrame) -> None:
        self._pending.take(rows)
        self._rows += len(rows)
        if self._rows > _BATCH_ROWS:
            self._flush()

    def retain_rules(self, codes: list[str]) -> None:
        import pyarrow.parquet as pq

        self.close()
        with open(self._path, "rb") as file:
            written = pl.DataFrame(pl.from_arrow(pq.read_table(file)))
        self._writer = self._open_writer()
        self.take(written.filter(pl.col("rule").is_in(codes)))

    def _open_writer(self) -> Any:
        import pyarrow.parquet as pq  # takes long to import, and few runs write this table

        with translate_write_errors(self._name):
            self._file = open(self._path, "wb")  # noqa: SIM115 - `close` closes it
            return pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def _flush(self) -> None:
        with translate_write_errors(self._name):
            self._writer.write_table(self._pending.all().to_arrow().cast(self._schema))
        self._rows = 0

    def close(self) -> None:
        """Write the remaining rows and the footer."""
        self._flush()
        with translate_write_errors(self._name), self._file:
            self._writer.close()

    def abandon(self) -> None:
        """Close the file without its remaining rows, if it is open."""
        with suppress(OSError, ValueError):  # the disk may be full
            self._writer.close()
        with suppress(OSError):
            self._file.close()


@contextmanager
def open_parquet_sink(path: str) -> Iterator[ParquetSink]:
    """Yield a sink that writes to a temporary file, which replaces `path` when the block ends without an exception.

    Raises:
        InvalidUsage: the file cannot be written.
    """
    with replace_file(path) as temporary:
        sink = ParquetSink(temporary, path)
        try:
            yield sink
            sink.close()
        finally:
            sink.abandon()


def findings_to_tuples(findings: list[Finding]) -> list[tuple[Any, ...]]:
    """Convert findings of a report to rows of `FINDING_SCHEMA`."""
    return [
        tuple(
            msgspec.json.encode(each.evidence).decode() if name == "evidence" else getattr(each, name)
            for name in FINDING_SCHEMA
        )
        for each in findings
    ]
