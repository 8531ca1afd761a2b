"""Columns that are null in some row of a data file although they must not be, as far as the log proves it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.files.file_replay import number_repeated_adds
from deltaspec.views.files.partition_facts import parse_partition_text
from deltaspec.views.table.row_requirements import RequiredLeaf, RequirementPeriods

if TYPE_CHECKING:
    from deltaspec.views.data.data_files import DataFile

null_columns = View(
    name="null_columns",
    decided_by=STATE_KINDS,
    grain="data file of any version, and column that must not be null in a version that has the file, whose partition "
    "value is null or whose null count shows null",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "version": Column(pl.Int64, "version of the file's action, or of the later change that made the file illegal"),
        "path": Column(pl.String, "path of the file, as written"),
        "last_legal_version": Column(
            pl.Int64, "version before that later change; null without one, or if its state is unknown", shown=True
        ),
        "column": Column(pl.String, "physical column path, segments joined by dots", shown=True),
        "source": Column(pl.String, "what shows null: partition value or null count", shown=True),
        "num_records": Column(pl.Int64, "numRecords of the file", shown=True),
        "deleted_rows": Column(pl.Int64, "cardinality of the deletion vector; null without one"),
    },
)

_FILES_AT_ONCE = 1_000
_NEVER = 2**63 - 1
PARTITION_VALUE, NULL_COUNT = "partition value", "null count"


def iter_null_columns(intervals: pl.DataFrame, leaves: RequirementPeriods[RequiredLeaf]) -> Iterator[pl.DataFrame]:
    """Yield the rows of `null_columns`. A file and column counts at the first version that forbids it.

    Args:
        intervals: adds and removes of a bucket, from `file_replay.build_intervals`.
        leaves: columns that must not be null.
    """
    if not leaves.subjects:
        return
    adds = intervals.filter(pl.col("kind") == "add")
    by_text = _find_required_columns(adds, leaves.subjects)
    if by_text.is_empty():
        return
    texts = by_text.select("kind_of_text", "text").unique()
    adds = adds.with_row_index("_add")
    shown = pl.concat(
        adds.select("_add", kind_of_text=pl.lit(kind), text=pl.col(column)).join(
            texts, on=["kind_of_text", "text"], how="semi"
        )
        for kind, column in ((PARTITION_VALUE, "partition_text"), (NULL_COUNT, "null_columns"))
    )
    adds = adds.join(shown.select("_add").unique(), on="_add", how="semi").drop("_add")
    adds = number_repeated_adds(adds, "partition_text", "null_columns", "num_records")
    adds = adds.with_columns(until=pl.col("until").last().over("_series"), path=pl.coalesce("path", "path_key"))
    adds = adds.filter(pl.col("version") == pl.col("since")).unique("_series", keep="first", maintain_order=True)
    periods = _build_periods(leaves)
    for part in adds.iter_slices(_FILES_AT_ONCE):
        yield _compare(part, by_text, periods)


def find_null_source(
    data_file: DataFile, path: tuple[str, ...], leaves: RequirementPeriods[RequiredLeaf]
) -> str | None:
    """Return the source of the row of `null_columns` that reports a column of a file; None without such a row."""
    is_partition_column = len(path) == 1 and path[0] in data_file.partition_values
    for leaf in (RequiredLeaf(path, False), RequiredLeaf(path, True))[: 1 + is_partition_column]:
        if leaves.find_first(leaf, data_file.first_version, data_file.until) is None:
            continue
        if not leaf.is_partition_column:
            if data_file.null_columns is not None and path in _parse_paths(data_file.null_columns):
                return NULL_COUNT
        elif not data_file.partition_values[path[0]] and _may_have_rows(data_file):
            return PARTITION_VALUE
    return None


@lru_cache(1_000)
def _parse_paths(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(path) for path in json.loads(text))


def _may_have_rows(data_file: DataFile) -> bool:
    deleted_rows = data_file.deletion_vector.cardinality if data_file.deletion_vector else 0
    return data_file.num_records is None or data_file.num_records > deleted_rows


def _find_required_columns(adds: pl.DataFrame, leaves: Sequence[RequiredLeaf]) -> pl.DataFrame:
    """Return the required columns, as numbers of `leaves`, that each distinct text shows to be null."""
    numbers = {leaf: number for number, leaf in enumerate(leaves)}
    names = {leaf.path[0] for leaf in leaves if leaf.is_partition_column}
    rows: list[tuple[str, str, int]] = []
    for text in adds["partition_text"].drop_nulls().unique() if names else ():
        values = parse_partition_text(text)
        found = [RequiredLeaf((name,), True) for name in values.keys() & names if not values[name]]
        rows += [(PARTITION_VALUE, text, numbers[leaf]) for leaf in found]
    for text in adds["null_columns"].drop_nulls().unique():
        found = [RequiredLeaf(path, False) for path in _parse_paths(text)]
        rows += [(NULL_COUNT, text, numbers[leaf]) for leaf in found if leaf in numbers]
    return pl.DataFrame(rows, schema={"kind_of_text": pl.String, "text": pl.String, "leaf": pl.Int64}, orient="row")


def _build_periods(leaves: RequirementPeriods[RequiredLeaf]) -> pl.DataFrame:
    rows = [
        (
            number,
            ".".join(leaf.path).encode("utf-8", "backslashreplace").decode(),
            each.first,
            _NEVER if each.until is None else each.until,
            each.file,
            each.line,
            each.last_legal_version,
        )
        for number, leaf in enumerate(leaves.subjects)
        for each in leaves.list_periods(leaf)
    ]
    schema = {
        "leaf": pl.Int64,
        "column": pl.String,
        "first": pl.Int64,
        "end": pl.Int64,
        "change_file": pl.String,
        "change_line": pl.Int64,
        "legal": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort("end")


def _compare(adds: pl.DataFrame, by_text: pl.DataFrame, periods: pl.DataFrame) -> pl.DataFrame:
    found = pl.concat(
        adds.join(
            by_text.filter(pl.col("kind_of_text") == kind).drop("kind_of_text"), left_on=column, right_on="text"
        ).with_columns(_source=pl.lit(kind))
        for kind, column in ((PARTITION_VALUE, "partition_text"), (NULL_COUNT, "null_columns"))
    )
    joined = found.sort("since").join_asof(
        periods,
        left_on="since",
        right_on="end",
        by="leaf",
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    joined = joined.filter(pl.col("first") < pl.col("until").fill_null(_NEVER))
    is_later = pl.col("first") > pl.col("since")
    return joined.select(
        **{
            name: pl.when(is_later).then(pl.col(change)).otherwise(pl.col(name))
            for name, change in (("file", "change_file"), ("line", "change_line"), ("version", "first"))
        },
        path=pl.col("path"),
        last_legal_version=pl.when(is_later).then(pl.col("legal")),
        column=pl.col("column"),
        source=pl.col("_source"),
        num_records=pl.col("num_records"),
        deleted_rows=pl.col("cardinality"),
    ).select(list(null_columns.columns))
