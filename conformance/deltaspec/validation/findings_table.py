"""Every finding of a run as rows of a table, where a report holds the first of each rule."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

import msgspec
import polars as pl
import pyarrow.parquet as pq

from deltaspec.errors import InvalidUsage
from deltaspec.report.report_types import Finding
from deltaspec.rules.registry import Rule
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
"""Columns of the table: those of `report.values.Finding`, its evidence as a JSON object."""
_ROWS_AT_ONCE = 100_000


def build_finding_rows(rule: Rule, revision: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The findings of a rule as rows of `FINDING_SCHEMA`.

    Args:
        rule: the rule.
        revision: the text judged by.
        rows: of its view, those for which it is true.
    """
    told = [name for name in rule.reads if name not in LOCATION and rule.view.columns[name].dtype != pl.Binary]
    known = {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity_in(revision),
        "requirement": rule.requirement_in(revision).id,
        "level": rule.level,
        "message": rule.message,
    }
    columns: list[pl.Expr] = []
    for name, dtype in FINDING_SCHEMA.items():
        if name in known:
            columns.append(pl.lit(known[name], dtype).alias(name))
        elif name == "evidence":
            evidence = pl.struct(told).struct.json_encode() if told else pl.lit("{}")
            columns.append(evidence.alias(name))
        else:
            columns.append(pl.col(name) if name in rows.columns else pl.lit(None, dtype).alias(name))
    return rows.select(columns)


class Sink(Protocol):
    """Takes rows of `FINDING_SCHEMA`."""

    def take(self, rows: pl.DataFrame) -> None:
        """Keep them, or pass them on."""
        ...

    def retain_rules(self, codes: list[str]) -> None:
        """Drop those of all other rules."""
        ...


class InMemorySink:
    """Keeps them in memory, for whoever passes them on."""

    def __init__(self) -> None:
        self.frames: list[pl.DataFrame] = []

    def take(self, rows: pl.DataFrame) -> None:
        self.frames.append(rows)

    def retain_rules(self, codes: list[str]) -> None:
        self.frames = [frame.filter(pl.col("rule").is_in(codes)) for frame in self.frames]

    def all(self) -> pl.DataFrame:
        """What was taken so far, and is then forgotten."""
        frames, self.frames = self.frames, []
        return pl.concat(frames) if frames else pl.DataFrame(schema=FINDING_SCHEMA)


class ParquetSink:
    """Writes them to one Parquet file, some at a time."""

    def __init__(self, path: str) -> None:
        """Begin the file.

        Raises:
            InvalidUsage: it cannot be written.
        """
        self._path = path
        self._schema = pl.DataFrame(schema=FINDING_SCHEMA).to_arrow().schema
        self._writer = self._begin()
        self._held = InMemorySink()
        self._rows = 0

    def take(self, rows: pl.DataFrame) -> None:
        self._held.take(rows)
        self._rows += len(rows)
        if self._rows > _ROWS_AT_ONCE:
            self._flush()

    def retain_rules(self, codes: list[str]) -> None:
        self._flush()
        self._writer.close()
        written = pl.DataFrame(pl.from_arrow(pq.read_table(self._path)))
        self._writer = self._begin()
        self.take(written.filter(pl.col("rule").is_in(codes)))

    def _begin(self) -> pq.ParquetWriter:
        try:
            return pq.ParquetWriter(self._path, self._schema, compression="zstd")
        except OSError as fault:
            raise InvalidUsage(f"{self._path}: cannot be written: {fault.strerror or fault}") from fault

    def _flush(self) -> None:
        self._writer.write_table(self._held.all().to_arrow().cast(self._schema))
        self._rows = 0

    def __enter__(self) -> ParquetSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._writer.close()


def findings_to_tuples(findings: list[Finding]) -> list[tuple[Any, ...]]:
    """Findings of a report as rows of `FINDING_SCHEMA`."""
    return [
        tuple(
            msgspec.json.encode(each.evidence).decode() if name == "evidence" else getattr(each, name)
            for name in FINDING_SCHEMA
        )
        for each in findings
    ]
