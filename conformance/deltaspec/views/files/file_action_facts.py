"""Fills `file_actions` and `deletion_vectors`: columns of file actions as decoded, to facts that rules can read.

What a rule may say of a path, a partition value or a vector is asked of the model, but only for the texts that are
not plainly in order: those that hold an unusual character or escape, and each distinct partition value once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa

from deltaspec.model.log import paths
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import DataType
from deltaspec.views.files import misnamed_statistics, partition_facts, statistics_facts
from deltaspec.views.files.file_actions import deletion_vectors, file_actions
from deltaspec.views.files.vector_facts import vector_facts
from deltaspec.views.table import clustering_history
from deltaspec.views.table.mapping_history import EntryNames

_UNUSUAL_PATH = r"[^A-Za-z0-9_\-./=]|^/|\.\.|//|(^|/)\.(/|$)|^$"
_PLAIN_ESCAPE = r"%(2[0-9A-Da-d]|[3-7][0-9A-Fa-f])"
"""An escaped ASCII character that is no control, dot or slash: it decodes to itself and to nothing else."""
_REQUIRED = {
    "add": ("path", "partition_values", "size", "modification_time", "data_change"),
    "remove": ("path", "data_change"),
}


@dataclass(frozen=True)
class FileContext:
    """What a file action is judged against: the table's state at its version; None where that is not known."""

    partition_columns: dict[str, DataType] | None
    """Physical name to type."""
    deletion_vectors_supported: bool | None
    table_root: str | None = None
    clustering_columns: tuple[tuple[str, ...], ...] = ()
    """Physical paths; none where the table is not clustered."""
    clustered_since: Mapping[str, int] = field(default_factory=dict)
    """These paths, joined by dots, to the version whose schema had the field first."""
    revision: Revision = Revision.CURRENT
    """The text they are judged by."""
    mapping: str | None = None
    """Column mapping in force."""
    logical_partition_names: dict[str, str] = field(default_factory=dict)
    """Logical to physical name of partition columns that have two."""
    entry_names: EntryNames | None = None
    """What entries of statistics may be called, where there is another way of naming."""
    void_columns_reason: str | None = None
    """Why no data file may be added: columns of type void."""
    iceberg: str | None = None
    """Compatibility with Iceberg that is enabled, the newer one where both are."""


@dataclass(frozen=True)
class Provenance:
    """Where the rows of a table of file actions come from; lists are per row."""

    source: str
    file: str | list[str]
    version: int | list[int]


def build_file_facts(
    table: pa.Table, place: Provenance, context: FileContext, *, compared: bool = True
) -> pl.DataFrame:
    """The rows of `table` with every column of `file_actions`, and those that later steps need.

    Args:
        table: columns of `deltaspec.wire.log.file_action_rows.FILE_ACTION_SCHEMA`.
        place: where they stand.
        context: the state they are judged against.
        compared: a comparison will need statistics and partition values, which take most of the memory.

    Returns:
        One row an action, in order. Beyond the view's columns: `path_key`, `deletion_vector_id`,
        `clustering_columns_without_statistics`, the raw `dv_*` columns, and if `compared` also `stats` and
        `partition_values` (list of key and value).
    """
    values, stats = table.column("partition_values"), table.column("stats")
    narrow = table.drop_columns(["partition_values", "stats"])
    if compared:
        narrow = narrow.append_column("partition_values", partition_facts.entries(values)).append_column("stats", stats)
    frame = pl.DataFrame(pl.from_arrow(narrow)).with_columns(has_partition_values=pl.Series(values.is_valid()))
    facts = frame.with_columns(
        source=pl.lit(place.source),
        file=pl.lit(place.file) if isinstance(place.file, str) else pl.Series(place.file, dtype=pl.String),
        version=pl.lit(place.version, pl.Int64)
        if isinstance(place.version, int)
        else pl.Series(place.version, dtype=pl.Int64),
        has_deletion_vector=pl.col("dv_storage_type").is_not_null(),
        cardinality=pl.col("dv_cardinality"),
        deletion_vectors_supported=pl.lit(context.deletion_vectors_supported, pl.Boolean),
        column_mapping_mode=pl.lit(context.mapping, pl.String),
        void_columns_reason=pl.lit(context.void_columns_reason, pl.String),
        iceberg_compatibility=pl.lit(context.iceberg, pl.String),
        table_is_partitioned=pl.lit(
            None if context.partition_columns is None else bool(context.partition_columns), pl.Boolean
        ),
        missing_field=_missing_field(),
        deletion_vector_id=_vector_id(),
    )
    facts = facts.with_columns(_path_facts(frame["path"], context.table_root))
    facts = facts.with_columns(_path_is_added(facts))
    facts = facts.with_columns(
        partition_facts.columns(values, context.partition_columns, context.logical_partition_names)
    )
    facts = facts.with_columns(misnamed_statistics.misnamed(stats, context.entry_names))
    facts = facts.with_columns(_unclustered(facts, stats, context.clustering_columns))
    return facts.with_columns(statistics_facts.columns(stats))


def select_file_actions(facts: pl.DataFrame) -> pl.DataFrame:
    """The rows of `build_file_facts` as the view `file_actions`."""
    return facts.select(list(file_actions.columns))


def select_deletion_vectors(facts: pl.DataFrame) -> pl.DataFrame:
    """The descriptors of `build_file_facts` as the view `deletion_vectors`."""
    rows = facts.filter(pl.col("has_deletion_vector"))
    if rows.is_empty():
        return deletion_vectors.frame([])
    facts = vector_facts(rows)
    later = [pl.lit(None, c.dtype).alias(name) for name, c in deletion_vectors.columns.items() if c.level != "log"]
    return facts.with_columns(later).select(list(deletion_vectors.columns))


def _path_is_added(facts: pl.DataFrame) -> pl.Expr:
    """Whether the commit of a cdc action adds its path as well; commits are never split over frames."""
    is_cdc = pl.col("kind") == "cdc"
    if not (facts["kind"] == "cdc").any():
        return pl.lit(None, pl.Boolean).alias("path_is_added")
    added = (pl.col("kind") == "add").any().over("version", "path_key")
    return pl.when(is_cdc).then(added).alias("path_is_added")


def _unclustered(facts: pl.DataFrame, stats: pa.ChunkedArray, columns: tuple[tuple[str, ...], ...]) -> pl.Expr:
    """Clustering columns that the statistics of an add of a commit leave out; those of checkpoints may be parsed."""
    name = "clustering_columns_without_statistics"
    if not columns:
        return pl.lit(None, pl.List(pl.String)).alias(name)
    silent = clustering_history.select_rows_without_statistics(pl.Series(pl.from_arrow(stats)), columns)
    asked = (pl.col("kind") == "add") & (pl.col("source") == "commit")
    return pl.when(asked).then(silent).alias(name)


def _missing_field() -> pl.Expr:
    faults: pl.Expr = pl.lit(None, pl.String)
    for kind, names in _REQUIRED.items():
        for name in reversed(names):
            there = pl.col("has_partition_values") if name == "partition_values" else pl.col(name).is_not_null()
            absent = (pl.col("kind") == kind) & ~there
            faults = pl.when(absent).then(pl.lit(_camel(name))).otherwise(faults)
    return faults


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _vector_id() -> pl.Expr:
    plain = pl.col("dv_storage_type") + pl.col("dv_path_or_inline")
    with_offset = plain + "@" + pl.col("dv_offset").cast(pl.String)
    return pl.when(pl.col("dv_offset").is_null()).then(plain).otherwise(with_offset)


def _path_facts(path: pl.Series, table_root: str | None) -> list[pl.Series]:
    """`path_*` columns: constants for plain paths, the model's word for the others."""
    unusual = path.str.contains(_UNUSUAL_PATH).fill_null(False)
    rows = (unusual & path.str.contains("%", literal=True)).arg_true()
    plainly_escaped = ~path.gather(rows).str.replace_all(_PLAIN_ESCAPE, "").str.contains(_UNUSUAL_PATH)
    escaped = pl.Series([False]).new_from_index(0, len(path)).scatter(rows, plainly_escaped)
    unusual = unusual & ~escaped
    absolute = _of_unusual(path, unusual, paths.is_absolute, pl.Boolean, plain=False)
    decoded = _decoded(path, escaped)
    key = _of_unusual(path, unusual, lambda text: paths.path_key(text, table_root), pl.String, plain=decoded)
    hidden = path.str.extract(r"(?:^|/)(_[^/]*)/")
    return [
        key.alias("path_key"),
        _of_unusual(path, unusual, paths.fault, pl.String, plain=None).alias("path_fault"),
        _of_unusual(path, unusual, paths.has_non_ascii, pl.Boolean, plain=False).alias("path_has_non_ascii"),
        _of_unusual(path, unusual, paths.escapes_table, pl.Boolean, plain=False).alias("path_escapes_table"),
        _of_unusual(path, unusual, paths.colon_in_first_segment, pl.Boolean, plain=False).alias(
            "colon_in_first_segment"
        ),
        absolute.alias("path_is_absolute"),
        hidden.to_frame("hidden")
        .select(pl.when(~absolute.fill_null(True)).then(pl.col("hidden")).alias("hidden_directory"))
        .to_series(),
    ]


def _decoded(path: pl.Series, escaped: pl.Series) -> pl.Series:
    """The paths, those that hold plain escapes decoded in one pass over each."""
    rows = escaped.arg_true()
    if not len(rows):
        return path
    texts = path.gather(rows)
    found = texts.str.extract_all(_PLAIN_ESCAPE).explode().unique().to_list()
    return path.clone().scatter(rows, texts.str.replace_many(found, [unquote(escape) for escape in found]))


def _of_unusual(path: pl.Series, unusual: pl.Series, ask: Callable[[str], Any], dtype: Any, *, plain: Any) -> pl.Series:
    usual = plain if isinstance(plain, pl.Series) else pl.Series([plain], dtype=dtype).new_from_index(0, len(path))
    rows = unusual.arg_true()
    if len(rows):
        answers: Iterable[Any] = (ask(text) for text in path.gather(rows))
        usual = usual.clone().scatter(rows, pl.Series(answers, dtype=dtype))
    return usual.set(path.is_null(), None) if path.null_count() else usual
