"""Views over variant columns: what else they are in the table, and what their rows hold in its files."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from deltaspec.model.actions import DomainMetadata, MetaData
from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.model.commit.variant_columns import default_is_null
from deltaspec.model.commit.variant_columns import variant_columns as columns_of
from deltaspec.model.features import clustering
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.rows.variant_encoding import FieldNames, VariantError, VariantUndecided, read_metadata
from deltaspec.model.rows.variant_shredding import ENABLED, find_encoding_faults, stored_twice
from deltaspec.model.schema.data_types import Struct
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, LOCATION_COLUMNS, Column, View
from deltaspec.views.files.file_replay import find_first_added_paths
from deltaspec.wire.data.variant_reader import VariantRow

variant_uses = View(
    name="variant_uses",
    grain="variant column of the table, at each version where the schema, the partitioning or the clustering may have "
    "changed",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "column": Column(pl.String, "logical field path, segments joined by dots"),
        "is_partition_column": Column(pl.Boolean, "it stands in partitionColumns"),
        "is_clustering_column": Column(pl.Boolean, "delta.clustering names it, and the table supports clustering"),
        "is_generated": Column(pl.Boolean, "its metadata has delta.generationExpression"),
        "default": Column(pl.String, "CURRENT_DEFAULT; null where it has none", shown=True),
        "default_is_null": Column(
            pl.Boolean, "that expression is null; null where it has none, or it takes an engine to tell"
        ),
    },
)

variant_columns = View(
    name="variant_columns",
    grain="variant column of a live data file, within structs, arrays and maps too",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "physical name of the column, with dots"),
        "rows": Column(pl.Int64, "variants in it that are not null, of deleted rows too"),
        "encoding_fault": Column(pl.String, "why a variant is not encoded as the text says, of the first that is not"),
        "stored_twice": Column(
            pl.String, "what both a column of its own and the encoded value of a row hold, of the first such row"
        ),
    },
)

_REMEMBERED = 10_000
"""Variants that are looked at once, however many rows have them."""


def build_variant_use_rows(
    place: dict[str, Any],
    schema: Struct | None,
    metadata: MetaData | None,
    domain: DomainMetadata | None,
    mapping: str | None,
) -> list[dict[str, Any]]:
    """The rows of `variant_uses` of one version.

    Args:
        place: version, file and line.
        schema: of the table.
        metadata: of the table.
        domain: `delta.clustering`, if it is live and clustering is supported.
        mapping: column mapping in force.
    """
    if schema is None or metadata is None:
        return []
    clustered = clustering.clustering_columns(domain)
    return [
        {
            **place,
            "column": ".".join(each.path),
            "is_partition_column": each.is_partition_column,
            "is_clustering_column": each.is_clustering_column,
            "is_generated": each.is_generated,
            "default": each.default,
            "default_is_null": None if each.default is None else default_is_null(each.default),
        }
        for each in columns_of(schema, metadata.partition_columns, clustered, mapping)
    ]


def build_variant_column_rows(
    place: dict[str, Any], variants: Iterable[VariantRow]
) -> tuple[list[dict[str, Any]], set[str]]:
    """The rows of a file, and why some of its variants cannot be judged.

    Args:
        place: location columns.
        variants: of the file.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    unclear: set[str] = set()
    seen: set[tuple[tuple[str, ...], bytes | None, bytes | None]] = set()
    names: dict[bytes, FieldNames] = {}
    for each in variants:
        row = found.setdefault(each.path, {**place, "column": ".".join(each.path), "rows": 0})
        row["rows"] += 1
        same = (each.path, each.metadata, each.pair.value)
        if each.pair.typed is None and same in seen:
            continue
        if len(seen) < _REMEMBERED and each.pair.typed is None:
            seen.add(same)
        _judge(each, row, unclear, names)
    return list(found.values()), unclear


def _judge(each: VariantRow, row: dict[str, Any], unclear: set[str], names: dict[bytes, FieldNames]) -> None:
    if each.metadata is None or (each.pair.value is None and not each.is_shredded):
        row.setdefault("encoding_fault", "metadata is null" if each.metadata is None else "value is null")
        return
    try:
        if each.metadata not in names:
            if len(names) >= _REMEMBERED:
                names.clear()
            names[each.metadata] = read_metadata(each.metadata)
        fault = next(find_encoding_faults(each.pair, names[each.metadata]), None)
    except VariantError as error:
        fault = str(error)
    except VariantUndecided as doubt:
        unclear.add(f"{row['column']}: {doubt}")
        return
    if fault is not None:
        row.setdefault("encoding_fault", fault)
        return
    twice = next(stored_twice(each.pair, names[each.metadata]), None)
    if twice is not None:
        row.setdefault("stored_twice", twice)


def written_without_shredding(
    intervals: pl.DataFrame,
    settings: Iterable[dict[str, Any]],
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.Series:
    """Keys of the paths whose files were written, beyond doubt, while shredding was not enabled.

    The commit that adds such a file follows a version without it, if any, no earlier action speaks of its path, and the
    commit does not take over files of another state or table. Where versions before the judged history may have had
    the file, the commit has to say what it does.

    Args:
        spanned: every add and remove of the judged history.
        settings: rows of the view `configuration`.
        operations: what each commit says it does.
        begins_with_checkpoint: there are versions before the judged history.
    """
    changes = [(row["version"], row["value"]) for row in settings if row["property"] == ENABLED]

    def enabled(version: int) -> bool:
        values = [value for at, value in changes if at <= version]
        return is_property_true({ENABLED: values[-1] or ""} if values else {}, ENABLED)

    versions = [
        version
        for version, operation in operations.items()
        if not (enabled(version) or enabled(version - 1) or reuses_existing_files(operation))
        and not (begins_with_checkpoint and operation is None)
    ]
    return find_first_added_paths(intervals, versions)
