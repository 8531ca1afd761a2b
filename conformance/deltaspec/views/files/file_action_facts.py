"""Rows of `file_actions` and `deletion_vectors`, computed from decoded columns of file actions.

Functions of `deltaspec.protocol` validate paths, partition values and vectors. Plain paths skip them, and each distinct
partition value is validated once.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec
import polars as pl
import pyarrow as pa

from deltaspec.protocol.features.clustering import has_blank_provider
from deltaspec.protocol.files.entry_names import EntryNames
from deltaspec.protocol.files.statistics import LeafColumn
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.views.files import (
    misnamed_statistics,
    partition_facts,
    partition_statistics,
    path_facts,
    statistics_facts,
)
from deltaspec.views.files.file_actions import deletion_vectors, file_actions
from deltaspec.views.files.proposed_files import ProposedFiles
from deltaspec.views.files.vector_facts import vector_facts
from deltaspec.views.table import clustering_history
from deltaspec.wire import arrow_compute as pc

_FEW_ROWS = 500
"""Fewer rows are not worth a thread."""
_REQUIRED = {
    "add": ("path", "partition_values", "size", "modification_time", "data_change"),
    "remove": ("path", "data_change"),
}


class FileContext(msgspec.Struct, frozen=True):
    """Table state at the version of a file action, which the action is validated against; None if unknown."""

    partition_columns: dict[str, DataType] | None
    """Physical name to type."""
    deletion_vectors_supported: bool | None
    table_root: str | None = None
    clustering_columns: tuple[tuple[str, ...], ...] = ()
    """Physical paths; empty if the table is not clustered."""
    clustered_since: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Clustering path, joined by dots, to the first version whose schema has the field."""
    revision: Revision = Revision.CURRENT
    """Protocol revision that the actions are validated against."""
    mapping: str | None = None
    """Column mapping mode: `id`, `name` or None."""
    logical_partition_names: dict[str, str] = msgspec.field(default_factory=dict)
    """Logical to physical name of the partition columns whose names differ."""
    entry_names: EntryNames | None = None
    """Names that statistics entries may have; None if logical and physical names do not differ."""
    void_columns_reason: str | None = None
    """Why void columns of the schema forbid adding data files."""
    iceberg: str | None = None
    """Enabled Iceberg compatibility, `V1` or `V2`; `V2` if both are."""
    leaf_columns: tuple[LeafColumn, ...] | None = None
    """Columns that may have statistics; None if the schema is unknown."""
    checkpoints_keep_statistics: bool | None = None
    """Whether table properties require that checkpoints have the statistics that exist."""
    unknown_reason: str | None = None
    """Why the types of the partition columns are unknown; None if they are known."""
    unknown_cause: tuple[str, str | None] | None = None
    """Why protocol or metadata are unknown, and the file that causes it; None if they are known."""
    earlier_partition_types: Mapping[str, tuple[DataType, ...]] = msgspec.field(default_factory=dict)
    """Physical name to the types that the partition column had before it was widened."""
    proposals: ProposedFiles | None = None
    """What proposals require of file actions; None if the table uses no such proposal."""


class Provenance(msgspec.Struct, frozen=True):
    """Origin of the rows of a table of file actions; lists have one entry per row."""

    source: str
    file: str | list[str]
    version: int | list[int]


def build_file_facts(
    table: pa.Table,
    location: Provenance,
    context: FileContext,
    *,
    compared: bool = True,
    stats_are_typed: pl.Series | None = None,
) -> pl.DataFrame:
    """Return the rows of `table` with every column of `file_actions` and the columns that later steps need.

    Args:
        table: file actions with the columns of `deltaspec.wire.log.file_action_rows.FILE_ACTION_SCHEMA`.
        location: origin of the rows.
        context: table state that the actions are validated against.
        compared: whether to keep statistics and partition values, which take most of the memory.
        stats_are_typed: whether `stats` has values of typed columns; None if it has none in any row.

    Returns:
        One row per action, in order. Additional columns: `path_key`, `deletion_vector_id`,
        `clustering_columns_without_statistics`, `clustering_provider`, `has_tags`, `null_columns`, the raw `dv_*`
        columns, and if `compared` also `stats`, and `partition_values` and `tags` (lists of key and value).
    """
    values, stats = table.column("partition_values"), table.column("stats")
    narrow = table.drop_columns(["partition_values", "stats", "tags"])
    if compared:
        narrow = narrow.append_column("partition_values", partition_facts.entries(values)).append_column("stats", stats)
        narrow = narrow.append_column("tags", partition_facts.entries(table.column("tags")))
    frame = pl.DataFrame(pl.from_arrow(narrow)).with_columns(has_partition_values=pc.to_series(pc.is_valid(values)))
    facts = frame.with_columns(
        source=pl.lit(location.source),
        file=pl.lit(location.file) if isinstance(location.file, str) else pl.Series(location.file, dtype=pl.String),
        version=pl.lit(location.version, pl.Int64)
        if isinstance(location.version, int)
        else pl.Series(location.version, dtype=pl.Int64),
        has_tags=_have_entries(table.column("tags")),
        provider_is_empty=_are_blank(frame["clustering_provider"]),
        has_deletion_vector=pl.col("dv_storage_type").is_not_null(),
        cardinality=pl.col("dv_cardinality"),
        deletion_vectors_supported=pl.lit(context.deletion_vectors_supported, pl.Boolean),
        column_mapping_mode=pl.lit(context.mapping, pl.String),
        void_columns_reason=pl.lit(context.void_columns_reason, pl.String),
        iceberg_compatibility=pl.lit(context.iceberg, pl.String),
        statistics_are_kept=pl.lit(
            location.source == "commit"
            or (context.checkpoints_keep_statistics if location.source in ("checkpoint", "sidecar") else None),
            pl.Boolean,
        ),
        table_is_partitioned=pl.lit(
            None if context.partition_columns is None else bool(context.partition_columns), pl.Boolean
        ),
        stats_are_typed=pl.lit(None, pl.Boolean) if stats_are_typed is None else stats_are_typed,
        missing_field=_missing_field(),
        deletion_vector_id=_vector_id(),
    )

    def build_others() -> list[pl.Series]:
        return [
            *path_facts.columns(table.column("path"), context.table_root),
            *partition_facts.columns(
                values, context.partition_columns, context.logical_partition_names, context.earlier_partition_types
            ),
            misnamed_statistics.find_misnamed_statistics(stats, context.entry_names),
            partition_statistics.find_partition_statistics_faults(
                stats, values, context.partition_columns, facts["cardinality"]
            ),
        ]

    if len(facts) < _FEW_ROWS:
        facts = facts.hstack([*build_others(), *statistics_facts.columns(stats, facts["cardinality"])])
    else:
        with ThreadPoolExecutor(1) as pool:  # statistics take as long as the rest; both release the interpreter lock
            statistics = pool.submit(statistics_facts.columns, stats, facts["cardinality"])
            facts = facts.hstack([*build_others(), *statistics.result()])
    # a checkpoint may leave statistics out
    clustering_columns = context.clustering_columns if location.source == "commit" else ()
    return facts.with_columns(
        _path_is_added(facts), _columns_without_statistics(facts["kind"], stats, clustering_columns)
    )


def _have_entries(maps: pa.ChunkedArray) -> pl.Series:
    if maps.null_count == len(maps):
        return pl.Series([False]).new_from_index(0, len(maps))
    lengths = pc.list_value_length(partition_facts.entries(maps))
    return pc.to_series(pc.greater(pc.coalesce(lengths, 0), 0))


def _are_blank(providers: pl.Series) -> pl.Series:
    """Return whether each provider is blank; null where it is null."""
    if providers.null_count() == len(providers):
        return pl.Series([None], dtype=pl.Boolean).new_from_index(0, len(providers))
    return providers.is_in([each for each in providers.unique().drop_nulls() if has_blank_provider(each)])


def select_file_actions(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `build_file_facts` with the columns of the view `file_actions`."""
    return facts[list(file_actions.columns)]


def select_deletion_vectors(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the descriptors of `build_file_facts` as rows of `deletion_vectors`."""
    if not facts["has_deletion_vector"].any():
        return deletion_vectors.frame([])
    facts = vector_facts(facts.filter(pl.col("has_deletion_vector")))
    unfilled = [pl.lit(None, c.dtype).alias(name) for name, c in deletion_vectors.columns.items() if c.level != "log"]
    return facts.with_columns(unfilled).select(list(deletion_vectors.columns))


def _path_is_added(facts: pl.DataFrame) -> pl.Expr:
    """Build `path_is_added`: whether the commit of a cdc action also adds its path. Frames never split a commit."""
    is_cdc = pl.col("kind") == "cdc"
    if not (facts["kind"] == "cdc").any():
        return pl.lit(None, pl.Boolean).alias("path_is_added")
    added = (pl.col("kind") == "add").any().over("version", "path_key")
    return pl.when(is_cdc).then(added).alias("path_is_added")


def _columns_without_statistics(
    kinds: pl.Series, stats: pa.ChunkedArray, columns: tuple[tuple[str, ...], ...]
) -> pl.Expr:
    """Build the list of these clustering columns without statistics, for adds."""
    name = "clustering_columns_without_statistics"
    if not columns:
        return pl.lit(None, pl.List(pl.String)).alias(name)
    missing_columns = clustering_history.select_rows_without_statistics(pc.to_series(stats), columns)
    return pl.when(kinds == "add").then(missing_columns).alias(name)


def _missing_field() -> pl.Expr:
    faults: pl.Expr = pl.lit(None, pl.String)
    for kind, names in _REQUIRED.items():
        for name in reversed(names):
            is_present = pl.col("has_partition_values") if name == "partition_values" else pl.col(name).is_not_null()
            is_missing = (pl.col("kind") == kind) & ~is_present
            faults = pl.when(is_missing).then(pl.lit(_camel(name))).otherwise(faults)
    return faults


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _vector_id() -> pl.Expr:
    plain = pl.col("dv_storage_type") + pl.col("dv_path_or_inline")
    with_offset = plain + "@" + pl.col("dv_offset").cast(pl.String)
    return pl.when(pl.col("dv_offset").is_null()).then(plain).otherwise(with_offset)
