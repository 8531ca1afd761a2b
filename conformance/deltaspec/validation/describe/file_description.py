"""`describe_files`: the distribution of live data files over sizes, partitions and row counts, from the log alone."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import polars as pl

from deltaspec.protocol.schema.column_mapping import list_physical_partition_columns
from deltaspec.report.description import (
    FileFacts,
    FilesDescription,
    PartitionFacts,
    Partitions,
    RowsPerFile,
    SizeBin,
)
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.describe.table_description import replay_table
from deltaspec.validation.instants import AtArgument
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.views.files.partition_facts import ENTRY_END, VALUE_BEGIN
from deltaspec.views.table.state import TableState
from deltaspec.wire.catalog.names import is_catalog_table
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

SMALL_FILE_LIMIT = 16 << 20
"""Files under 16 MiB count as small: opening one costs about as much as reading it."""
MAX_BINS = 14
SHOWN = 5
"""Number of files and partitions listed by name."""


class _FileBuckets(LocalBuckets):
    """Buckets that reduce `stats` to a flag: "" if there are statistics, else null."""

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if tag == REPLAY_ROWS:
            has_stats = pl.col("stats").str.strip_chars().is_in(["", "{}"]).not_()
            rows = rows.with_columns(stats=pl.when(has_stats).then(pl.lit("")))
        super().put(tag, rows, keys)


def describe_files(
    uri: str,
    *,
    at: AtArgument = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    storage: StorageSettings = ENVIRONMENT,
    catalog: str | None = None,
) -> FilesDescription:
    """Describe the live data files of a table.

    Args:
        uri: path or URI of the table's root, or its name in a catalog.
        at: the version, or a time with a time zone; None for the latest version.
        progress: as in `deltaspec.validate`.
        storage: settings of storage clients.
        catalog: address of the catalog that knows the name.

    Raises:
        InvalidUsage: the table has no such version.
        TableUnreadable: there is no table, or its log cannot be replayed.
    """
    replayed = replay_table(uri, at, progress, storage, compares_files=True, buckets_type=_FileBuckets, catalog=catalog)
    facts, live = replayed.facts, replayed.live
    size = pl.when(pl.col("size") >= 0).then(pl.col("size"))
    files = live.select(
        pl.coalesce("path", "path_key").alias("path"),
        size.alias("size"),
        "partition_text",
        "num_records",
        "stats",
        pl.col("cardinality").fill_null(0),
        pl.col("deletion_vector_id").is_not_null().alias("has_vector"),
    )
    small = files.filter(pl.col("size") < SMALL_FILE_LIMIT)
    vectors = files.filter("has_vector")
    return FilesDescription(
        table=uri if is_catalog_table(uri) else facts.store.uri,
        version=facts.plan.version,
        files=len(files),
        bytes=_sum(files["size"]),
        files_without_size=files["size"].null_count(),
        median_bytes=_median(files["size"]),
        sizes=build_size_bins(files["size"]),
        small_below=SMALL_FILE_LIMIT,
        small_files=len(small),
        small_bytes=_sum(small["size"]),
        largest=_list_extremes(files, descending=True),
        smallest=_list_extremes(files, descending=False),
        partitions=_summarize_partitions(files, facts.state),
        files_with_deletion_vector=len(vectors),
        deleted_records=_sum(vectors["cardinality"]),
        rows_under_vectors=None if vectors["num_records"].null_count() else _sum(vectors["num_records"]),
        rows=_summarize_rows(files["num_records"].drop_nulls()),
        files_without_row_count=files["num_records"].null_count(),
        files_without_statistics=files["stats"].null_count(),
        unread_checkpoints=replayed.unread_checkpoints,
    )


def build_size_bins(sizes: pl.Series) -> list[SizeBin]:
    """Build a histogram whose bounds are powers of two and whose bins have the same logarithmic width.

    Args:
        sizes: Int64, not negative; nulls are ignored.

    Returns:
        At most `MAX_BINS` adjacent bins in ascending order, from the smallest to the largest size. The first bin may
        start at 0.
    """
    known = sizes.drop_nulls()
    if known.is_empty():
        return []
    first, last = _to_int(known.min()).bit_length(), _to_int(known.max()).bit_length()
    step = -(-(last - first + 1) // MAX_BINS)
    bounds = [1 << power >> 1 for power in range(first, last + step + 1, step)]
    inner = pl.Series(bounds[1:-1], dtype=pl.UInt64)
    numbers = inner.search_sorted(known.cast(pl.UInt64), side="right")
    counted = (
        pl.DataFrame({"bin": numbers, "size": known})
        .group_by("bin")
        .agg(pl.len().alias("files"), pl.col("size").cast(pl.Int128).sum().alias("bytes"))
    )
    found = {row["bin"]: row for row in counted.iter_rows(named=True)}
    empty = {"files": 0, "bytes": 0}
    return [
        SizeBin(
            at_least=low,
            below=high,
            files=found.get(number, empty)["files"],
            bytes=int(found.get(number, empty)["bytes"]),
        )
        for number, (low, high) in enumerate(pairwise(bounds))
    ]


def _list_extremes(files: pl.DataFrame, *, descending: bool) -> list[FileFacts]:
    known = files.select("path", "size").drop_nulls()
    some = known.top_k(SHOWN, by="size") if descending else known.bottom_k(SHOWN, by="size")
    # top_k may choose any of several equal sizes; sorting makes at least the order deterministic
    return [
        FileFacts(path=path, bytes=size)
        for path, size in some.sort("size", "path", descending=[descending, False]).iter_rows()
    ]


def _summarize_rows(counts: pl.Series) -> RowsPerFile | None:
    if counts.is_empty():
        return None
    return RowsPerFile(
        least=_to_int(counts.min()), median=_median(counts) or 0.0, most=_to_int(counts.max()), total=_sum(counts)
    )


def _summarize_partitions(files: pl.DataFrame, state: TableState) -> Partitions | None:
    metadata, schema = state.metadata, state.schema
    if metadata is None or schema is None or not metadata.partition_columns:
        return None
    columns = metadata.partition_columns
    names = dict(zip(list_physical_partition_columns(schema, columns, state.mapping), columns, strict=True))
    parts = files.group_by("partition_text").agg(
        pl.len().alias("files"), pl.col("size").cast(pl.Int128).sum().alias("bytes")
    )

    def top(by: str) -> list[PartitionFacts]:
        ranked = parts.sort(by, "files", "bytes", "partition_text", descending=[True, True, True, False]).head(SHOWN)
        return [
            PartitionFacts(values=_parse_partition_values(text, names), files=count, bytes=int(total))
            for text, count, total in ranked.iter_rows()
        ]

    return Partitions(
        columns=columns,
        count=len(parts),
        median_files=_median(parts["files"]) or 0.0,
        median_bytes=_median(parts["bytes"].cast(pl.Float64)) or 0.0,
        by_bytes=top("bytes"),
        by_files=top("files"),
    )


def _parse_partition_values(text: str | None, names: dict[str, str]) -> dict[str, str | None]:
    """Parse `partition_text` into values by logical name. A value may itself contain the separators."""
    found: dict[str, str] = {}
    current = None
    for part in (text or "").split(ENTRY_END):
        key, separator, value = part.partition(VALUE_BEGIN)
        if separator and key in names and key not in found:
            current, found[key] = key, value
        elif current is not None:
            found[current] += ENTRY_END + part
    return {logical: found.get(physical) or None for physical, logical in names.items()}


def _sum(column: pl.Series) -> int:
    """Return the exact sum: a damaged log may hold numbers that overflow 64 bits."""
    return int(column.cast(pl.Int128).sum() or 0)


def _median(column: pl.Series) -> float | None:
    value = column.median()
    return float(value) if isinstance(value, int | float) else None


def _to_int(value: Any) -> int:
    return int(value)
