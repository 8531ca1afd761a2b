"""The view over adds whose statistics leave out what the table asks of them, and its rows."""

from collections.abc import Mapping

import polars as pl

from deltaspec.model.operations import takes_over
from deltaspec.views.base import Column, View

LEFT_OUT = "clustering_columns_without_statistics"

bare_adds = View(
    name="bare_adds",
    grain="add in a commit whose statistics have no number of records, where compatibility with Iceberg is enabled, or "
    "nothing of a clustering column",
    key=(),
    columns={
        "version": Column(pl.Int64, "version of the commit"),
        "file": Column(pl.String, "name of the log file, relative to the table"),
        "line": Column(pl.Int64, "line, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "iceberg_compatibility": Column(
            pl.String, "V1 or V2, which is enabled at that version; null where neither is, V2 where both are"
        ),
        "lacks_number": Column(
            pl.Boolean, "compatibility is enabled, and sound statistics, if any, have no numRecords"
        ),
        "path_is_new": Column(
            pl.Boolean,
            "no earlier action of the judged history has the path; null where the commit takes over files of another "
            "state or table, or may do so as far as the judged history tells",
        ),
        LEFT_OUT: Column(
            pl.List(pl.String),
            "clustering columns of which statistics say nothing, but for those that the schema got, or may have got, "
            "after the file was written",
        ),
    },
)

_PLACE = ("version", "file", "line")
_KEPT = {
    **bare_adds.schema,
    "path_key": pl.String,
    LEFT_OUT: pl.String,
    "since": pl.Int64,
}
del _KEPT["path_is_new"]


def bare_rows(facts: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """What `bare_add_rows` needs of the rows of `file_facts`: a row for each column that an add leaves out.

    Args:
        facts: file actions of one state of the table.
        since: clustering columns to the version whose schema had them first.
    """
    lacks = pl.col("iceberg_compatibility").is_not_null() & pl.col("num_records").is_null()
    lacks = lacks & pl.col("stats_fault").is_null()
    added = (pl.col("source") == "commit") & (pl.col("kind") == "add")
    rows = facts.filter(added & (lacks | (pl.col(LEFT_OUT).list.len() > 0).fill_null(False)))
    return with_since(rows.with_columns(lacks_number=lacks).explode(LEFT_OUT), since).select(list(_KEPT))


def with_since(rows: pl.DataFrame, since: Mapping[str, int]) -> pl.DataFrame:
    """The rows, each of one clustering column, with the version `since` which the schema has it."""
    known = pl.DataFrame(
        {LEFT_OUT: list(since), "since": list(since.values())}, schema={LEFT_OUT: pl.String, "since": pl.Int64}
    )
    return rows.join(known, on=LEFT_OUT, how="left", maintain_order="left")


def with_first(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """The rows with `seen`, the first version whose actions have their path, and `written`.

    `written` is that version where a commit of it wrote the file, beyond doubt: it does not take over files of another
    state or table and, where there are versions before the judged history, says what it does.

    Args:
        rows: file actions.
        chain: every add and remove of the judged history.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    actions = chain.select("path_key", "version", "source")
    actions = actions.join(rows.select("path_key").unique(), on="path_key", how="semi")
    first = actions.group_by("path_key").agg(
        seen=pl.col("version").min(), _source=pl.col("source").sort_by("version").first()
    )
    tell = [
        version
        for version, operation in operations.items()
        if not takes_over(operation) and not (begins_with_checkpoint and operation is None)
    ]
    is_written = (pl.col("_source") == "commit") & pl.col("seen").is_in(pl.Series(tell, dtype=pl.Int64).implode())
    first = first.with_columns(written=pl.when(is_written).then("seen")).drop("_source")
    return rows.join(first, on="path_key", how="left", maintain_order="left")


def bare_add_rows(
    rows: pl.DataFrame, chain: pl.DataFrame, operations: Mapping[int, str | None], *, begins_with_checkpoint: bool
) -> pl.DataFrame:
    """Rows of `bare_adds`.

    Args:
        rows: those of `bare_rows`, of every commit.
        chain: as of `with_first`, as are the others.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    if rows.is_empty():
        return bare_adds.frame([])
    told = with_first(rows, chain, operations, begins_with_checkpoint=begins_with_checkpoint)
    is_new = pl.when(pl.col("seen") < pl.col("version")).then(False).when(pl.col("written").is_not_null()).then(True)
    left_out = pl.when(pl.col("since") <= pl.col("written")).then(LEFT_OUT)
    told = told.with_columns(path_is_new=is_new, **{LEFT_OUT: left_out})
    own = [pl.col(name).first() for name in bare_adds.columns if name not in (*_PLACE, LEFT_OUT)]
    grouped = told.group_by(_PLACE, maintain_order=True).agg(*own, pl.col(LEFT_OUT).drop_nulls().sort())
    return grouped.select(list(bare_adds.columns))
