"""Rows of `file_actions` and `deletion_vectors`, computed from decoded columns of file actions.

The model validates paths, partition values and vectors. Plain paths skip the model, and each distinct partition value
is validated once.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import msgspec
import polars as pl
import pyarrow as pa

from deltaspec.model.features.clustering import has_blank_provider
from deltaspec.model.log import paths
from deltaspec.model.revisions import Revision
from deltaspec.model.rows.entry_names import EntryNames
from deltaspec.model.rows.statistics import LeafColumn
from deltaspec.model.schema.data_types import DataType
from deltaspec.views.files import misnamed_statistics, partition_facts, statistics_facts
from deltaspec.views.files.file_actions import deletion_vectors, file_actions
from deltaspec.views.files.vector_facts import vector_facts
from deltaspec.views.table import clustering_history
from deltaspec.wire import arrow_compute as pc

_UNUSUAL_PATH = r"[^A-Za-z0-9_\-./=]|^/|\.\.|//|(^|/)\.(/|$)|^$"
_PLAIN_ESCAPE = r"%(2[0-9A-Da-d]|[3-7][0-9A-Fa-f])"
"""Escaped ASCII character other than a control character, dot or slash: decoding it is unambiguous."""
_HIDDEN_DIRECTORY = r"(?:^|/)(_[^/=]*)/"
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
    unknown_cause: tuple[str, str | None] | None = None
    """Why protocol or metadata are unknown, and the file that causes it; None if they are known."""
    earlier_partition_types: Mapping[str, tuple[DataType, ...]] = msgspec.field(default_factory=dict)
    """Physical name to the types that the partition column had before it was widened."""


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
    with ThreadPoolExecutor(1) as pool:  # statistics take as long as the rest; both release the interpreter lock
        statistics = pool.submit(statistics_facts.columns, stats, facts["cardinality"])
        facts = facts.with_columns(_path_facts(frame["path"], context.table_root))
        facts = facts.with_columns(_path_is_added(facts))
        facts = facts.with_columns(
            partition_facts.columns(
                values, context.partition_columns, context.logical_partition_names, context.earlier_partition_types
            )
        )
        facts = facts.with_columns(misnamed_statistics.find_misnamed_statistics(stats, context.entry_names))
        clustering_columns = context.clustering_columns if location.source == "commit" else ()
        facts = facts.with_columns(_columns_without_statistics(facts, stats, clustering_columns))
        return facts.with_columns(statistics.result())


def _have_entries(maps: pa.ChunkedArray) -> pl.Series:
    if maps.null_count == len(maps):
        return pl.Series([False]).new_from_index(0, len(maps))
    lengths = pc.list_value_length(partition_facts.entries(maps))
    return pc.to_series(pc.greater(pc.fill_null(lengths, 0), 0))


def _are_blank(providers: pl.Series) -> pl.Series:
    """Return whether each provider is blank; null where it is null."""
    if providers.null_count() == len(providers):
        return pl.Series([None], dtype=pl.Boolean).new_from_index(0, len(providers))
    return providers.is_in([each for each in providers.unique().drop_nulls() if has_blank_provider(each)])


def select_file_actions(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `build_file_facts` with the columns of the view `file_actions`."""
    return facts.select(list(file_actions.columns))


def select_deletion_vectors(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the descriptors of `build_file_facts` as rows of `deletion_vectors`."""
    rows = facts.filter(pl.col("has_deletion_vector"))
    if rows.is_empty():
        return deletion_vectors.frame([])
    facts = vector_facts(rows)
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
    facts: pl.DataFrame, stats: pa.ChunkedArray, columns: tuple[tuple[str, ...], ...]
) -> pl.Expr:
    """Build the list of clustering columns without statistics, for adds in commits.

    Adds in checkpoints are left out because a checkpoint may leave statistics out.
    """
    name = "clustering_columns_without_statistics"
    if not columns:
        return pl.lit(None, pl.List(pl.String)).alias(name)
    missing_columns = clustering_history.select_rows_without_statistics(pc.to_series(stats), columns)
    is_checked = (pl.col("kind") == "add") & (pl.col("source") == "commit")
    return pl.when(is_checked).then(missing_columns).alias(name)


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


def _path_facts(path: pl.Series, table_root: str | None) -> list[pl.Series]:
    """Return the `path_*` columns: constants for plain paths, results of the model for all others."""
    unusual = path.str.contains(_UNUSUAL_PATH).fill_null(False)
    escaped = _find_plainly_escaped(path, unusual)
    unusual = unusual & ~escaped
    absolute = _evaluate_unusual(path, unusual, paths.is_absolute, pl.Boolean, plain=False)
    decoded = _decode_escapes(path, escaped)
    key = _evaluate_unusual(path, unusual, lambda text: paths.path_key(text, table_root), pl.String, plain=decoded)
    return [
        key.alias("path_key"),
        _evaluate_unusual(path, unusual, paths.find_path_fault, pl.String, plain=None).alias("path_fault"),
        _evaluate_unusual(path, unusual, paths.has_non_ascii, pl.Boolean, plain=False).alias("path_has_non_ascii"),
        _evaluate_unusual(path, unusual, paths.escapes_table, pl.Boolean, plain=False).alias("path_escapes_table"),
        _evaluate_unusual(path, unusual, paths.has_colon_in_first_segment, pl.Boolean, plain=False).alias(
            "colon_in_first_segment"
        ),
        absolute.alias("path_is_absolute"),
        _find_hidden_directories(key, absolute).alias("hidden_directory"),
    ]


def _find_plainly_escaped(path: pl.Series, unusual: pl.Series) -> pl.Series:
    """Return whether plain escapes are all that is unusual about each path."""
    rows = (unusual & path.str.contains("%", literal=True)).arg_true() if unusual.any() else pl.Series(dtype=pl.UInt32)
    plainly_escaped = ~path.gather(rows).str.replace_all(_PLAIN_ESCAPE, "").str.contains(_UNUSUAL_PATH)
    return pl.Series([False]).new_from_index(0, len(path)).scatter(rows, plainly_escaped)


def _find_hidden_directories(key: pl.Series, absolute: pl.Series) -> pl.Series:
    """Return the outermost directory of each relative path whose name starts with `_` and has no `=`."""
    found = pl.Series([None], dtype=pl.String).new_from_index(0, len(key))
    may_be_hidden = key.str.contains("/_", literal=True) | key.str.starts_with("_")
    rows = (may_be_hidden & ~absolute).arg_true()
    if not len(rows):
        return found
    return found.scatter(rows, key.gather(rows).str.strip_prefix("_change_data/").str.extract(_HIDDEN_DIRECTORY))


def _decode_escapes(path: pl.Series, escaped: pl.Series) -> pl.Series:
    """Return the paths with plain escapes decoded in one pass."""
    rows = escaped.arg_true()
    if not len(rows):
        return path
    texts = path.gather(rows)
    found = texts.str.extract_all(_PLAIN_ESCAPE).explode().unique().to_list()
    return path.clone().scatter(rows, texts.str.replace_many(found, [unquote(escape) for escape in found]))


def _evaluate_unusual(
    path: pl.Series, unusual: pl.Series, evaluate: Callable[[str], Any], dtype: Any, *, plain: Any
) -> pl.Series:
    result = plain if isinstance(plain, pl.Series) else pl.Series([plain], dtype=dtype).new_from_index(0, len(path))
    rows = unusual.arg_true()
    if len(rows):
        results: Iterable[Any] = (evaluate(text) for text in path.gather(rows))
        result = result.clone().scatter(rows, pl.Series(results, dtype=dtype))
    return result.set(path.is_null(), None) if path.null_count() else result
