"""Live files that a change of protocol or metadata leaves in an illegal state."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from deltaspec.protocol.files.partition_values import PartitionValueError, parse_partition_value
from deltaspec.protocol.json_values import escape_lone_surrogates
from deltaspec.views.base import LOCATION_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.files.partition_facts import parse_partition_text
from deltaspec.views.table.file_requirements import RequirementChange

_COUNTS = {
    "with_vector": "number of these files with a deletion vector, if the version no longer supports them; otherwise 0",
    "without_partition_value": "number of these files without a value for a partition column that the version has",
    "with_former_partition_value": "number of these files with a value of a former partition column",
    "with_logical_partition_key": "number of these files that have the value only under the logical name of the column",
    "with_unreadable_partition_value": "number of these files with a value that is invalid for the type of its column",
    "without_num_records": "number of these files without numRecords, if the version enables Iceberg compatibility V1, "
    "or has it enabled and is the version of the base",
    "with_other_column_names": "number of these files with rows that store a column under another name than the "
    "version defines, because it turns column mapping on or off",
}

outdated_files = View(
    name="outdated_files",
    decided_by=STATE_KINDS,
    grain="version whose protocol or metadata contradicts files that stay live, per kind of contradiction; a file "
    "counts at the first such version",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "version": Column(pl.Int64, "version of the protocol or metaData action"),
        "path": Column(pl.String, "first of the files, as written"),
        "last_legal_version": Column(
            pl.Int64, "preceding version, in which the files were legal; null if its state is unknown", shown=True
        ),
        "subject": Column(pl.String, "column, or `column=value`, of the first of the files", shown=True),
        **{name: Column(pl.Int64, description) for name, description in _COUNTS.items()},
    },
)

OutdatedFiles = dict[tuple[int, str], tuple[int, str, str | None]]
"""Version and kind of contradiction to the number of files, the first path and its subject. The kinds are the names of
the counts of the view."""

MAX_COMPARISONS = 3_000_000
"""New and former partition columns times distinct partitions."""


def find_outdated_files(
    intervals: pl.DataFrame, changes: Sequence[RequirementChange], *, base_has_statistics: bool
) -> tuple[OutdatedFiles, bool]:
    """Return the live files that the changes contradict, counted by change and kind.

    Args:
        intervals: adds and removes of a bucket, from `file_replay.build_intervals`.
        changes: in ascending order of versions.
        base_has_statistics: whether the base checkpoint has the statistics of its files.

    Returns:
        The counts, and whether partition columns change too often to compare them all with the partition values.
    """
    if not changes:
        return {}, False
    is_older = pl.col("version") < changes[-1].version
    is_of_base = pl.col("source") != "commit"
    adds = intervals.filter((pl.col("kind") == "add") & (is_older | is_of_base))
    adds = adds.filter(pl.col("until").is_null() | (pl.col("until") > changes[0].version))
    adds = adds.with_columns(path=pl.coalesce("path", "path_key"))
    if adds.is_empty():
        return {}, False
    has_no_num_records = pl.col("num_records").is_null()
    renaming = [each for each in changes if each.renamed_column is not None]
    forbidding = [each for each in changes if each.forbids_vectors]
    requiring = [each for each in changes if each.requires_num_records]
    files = {
        "with_vector": _join_first_change(
            adds.filter(pl.col("deletion_vector_id").is_not_null()),
            _build_steps((each.version, None) for each in forbidding),
        ),
        "without_num_records": _join_first_change(
            _date_back(adds.filter(has_no_num_records & (pl.lit(base_has_statistics) | ~is_of_base)), is_of_base),
            _build_steps((each.version, None) for each in requiring),
        ),
        "with_other_column_names": _join_first_change(
            adds.filter(has_no_num_records | (pl.col("num_records") > 0)),
            _build_steps((each.version, each.renamed_column) for each in renaming).with_columns(
                since=pl.Series([each.renamed_since for each in renaming], dtype=pl.Int64)
            ),
        ).filter(pl.col("version") >= pl.col("since")),
    }
    partitioning = [each for each in changes if each.new_partition_columns or each.former_partition_columns]
    texts = adds["partition_text"].drop_nulls().unique().to_list() if partitioning else []
    columns = sum(len(each.new_partition_columns) + len(each.former_partition_columns) for each in partitioning)
    comparisons = len(texts) * columns
    if comparisons <= MAX_COMPARISONS:
        for kind, steps in _find_partition_faults(texts, partitioning).items():
            files[kind] = _join_first_change(adds, steps, by=["partition_text"])
    found = {key: count for kind, rows in files.items() for key, count in _count(rows, kind).items()}
    return found, comparisons > MAX_COMPARISONS


def _date_back(files: pl.DataFrame, is_of_base: pl.Expr) -> pl.DataFrame:
    """Date the files of the base before it, because the state of the base itself may contradict them."""
    return files.with_columns(version=pl.col("version") - is_of_base.cast(pl.Int64))


def _build_steps(changes: Iterable[tuple[int, str | None]]) -> pl.DataFrame:
    rows = [(version, subject and escape_lone_surrogates(subject)) for version, subject in changes]
    return pl.DataFrame(rows, schema={"change": pl.Int64, "subject": pl.String}, orient="row")


def _join_first_change(files: pl.DataFrame, steps: pl.DataFrame, *, by: list[str] | None = None) -> pl.DataFrame:
    """Return the files that are live at the first of the changes after their add, with `change` and `subject`."""
    if files.is_empty() or steps.is_empty():
        return files.clear().with_columns(pl.lit(None, dtype).alias(name) for name, dtype in steps.schema.items())
    joined = files.sort("version").join_asof(
        steps.sort("change"),
        left_on="version",
        right_on="change",
        by=by,
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return joined.filter(
        pl.col("change").is_not_null() & (pl.col("until").is_null() | (pl.col("until") > pl.col("change")))
    )


def _count(files: pl.DataFrame, kind: str) -> OutdatedFiles:
    first = files.sort("path").group_by("change").agg(pl.len(), pl.col("path").first(), pl.col("subject").first())
    return {(version, kind): (number, path, subject) for version, number, path, subject in first.iter_rows()}


def _find_partition_faults(texts: Iterable[str], changes: Sequence[RequirementChange]) -> dict[str, pl.DataFrame]:
    """Return, by kind, the changes that contradict each distinct `partition_text`, with `change` and `subject`."""
    kinds = (
        "without_partition_value",
        "with_former_partition_value",
        "with_logical_partition_key",
        "with_unreadable_partition_value",
    )
    found: dict[str, list[tuple[str, int, str]]] = {kind: [] for kind in kinds}
    for text in texts:
        values = parse_partition_text(text)
        for change in changes:
            for kind, subject in _compare(values, change):
                found[kind].append((text, change.version, escape_lone_surrogates(subject)))
    schema = {"partition_text": pl.String, "change": pl.Int64, "subject": pl.String}
    return {kind: pl.DataFrame(rows, schema=schema, orient="row") for kind, rows in found.items()}


def _compare(values: Mapping[str, str], change: RequirementChange) -> Iterable[tuple[str, str]]:
    """Yield the first contradiction of each kind, with its subject."""
    found: dict[str, str] = {}
    logical = {physical: name for name, physical in change.logical_partition_names.items()}
    for column, kind in change.new_partition_columns.items():
        if column not in values:
            is_logical = logical.get(column) in values
            found.setdefault("with_logical_partition_key" if is_logical else "without_partition_value", column)
            continue
        try:
            parse_partition_value(values[column], kind)
        except PartitionValueError:
            found.setdefault("with_unreadable_partition_value", f"{column}={values[column]}")
    former = sorted(name for name in change.former_partition_columns if values.get(name))
    if former and "without_partition_value" not in found:
        found["with_former_partition_value"] = f"{former[0]}={values[former[0]]}"
    return found.items()


def build_outdated_file_rows(found: OutdatedFiles, changes: Sequence[RequirementChange]) -> list[dict[str, Any]]:
    """Return the rows of `outdated_files`."""
    by_version = {each.version: each for each in changes}
    return [
        {
            "version": version,
            "file": by_version[version].file,
            "line": by_version[version].line,
            "path": path,
            "last_legal_version": by_version[version].last_legal_version,
            "subject": subject,
            **dict.fromkeys(_COUNTS, 0),
            kind: number,
        }
        for (version, kind), (number, path, subject) in sorted(found.items(), key=lambda item: item[0])
    ]
