"""Views over variant columns: their use in the table, and the encoding of their values in data files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.actions import DomainMetadata, MetaData
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import VARIANT_SHREDDING
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.variants.encoding import FieldNames, VariantError, VariantUndecided, read_metadata
from deltaspec.protocol.variants.shredding import STORED_ONCE, find_encoding_faults, find_shredding_faults
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, STATE_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.files.file_replay import find_first_added_paths
from deltaspec.views.table.clustering_history import read_clustering_columns
from deltaspec.views.table.schema_columns import select_special_columns
from deltaspec.views.table.variant_columns import find_variant_columns, is_null_default

if TYPE_CHECKING:
    from deltaspec.wire.data.variant_reader import VariantRow

variant_uses = View(
    name="variant_uses",
    decided_by=STATE_KINDS,
    grain="variant column of the table, at each version in which its use changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "column": Column(pl.String, "logical column path, segments joined by dots"),
        "is_partition_column": Column(pl.Boolean, "whether it is in partitionColumns"),
        "is_clustering_column": Column(
            pl.Boolean, "whether delta.clustering names it and the table supports clustering"
        ),
        "is_generated": Column(pl.Boolean, "whether its metadata has delta.generationExpression"),
        "default": Column(pl.String, "value of CURRENT_DEFAULT; null if absent", shown=True),
        "default_is_null": Column(
            pl.Boolean, "whether the default is NULL; null if there is no default, or evaluating it needs an engine"
        ),
    },
)

variant_columns = View(
    name="variant_columns",
    grain="variant column of a live data file or change data file, also within structs, arrays and maps",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "physical column path, segments joined by dots"),
        "rows": Column(pl.Int64, "number of variants that are not null, including deleted rows"),
        "encoding_fault": Column(
            pl.String, "why the first invalid variant violates the encoding; null if all are valid"
        ),
        "stored_twice": Column(
            pl.String,
            "field that the first such row stores both in a shredded column and in the encoded value; null if "
            "none does",
        ),
        "shredding_fault": Column(
            pl.String,
            "how the first such row differs from Parquet's shredding of variants, apart from values stored twice; null "
            "if none does",
        ),
    },
)

_CACHE_SIZE = 10_000
"""Maximum number of distinct variants that are cached to validate each of them once."""


def build_variant_use_rows(
    schema: Struct | None,
    metadata: MetaData | None,
    domain: DomainMetadata | None,
    mapping: str | None,
) -> list[dict[str, Any]]:
    """Return the rows of `variant_uses` for one version without location; none if schema or metadata is unknown.

    Args:
        schema: table schema.
        metadata: table metadata.
        domain: `delta.clustering`, if it is live and clustering is supported.
        mapping: column mapping mode; None if off.
    """
    if schema is None or metadata is None:
        return []
    special = select_special_columns(schema)
    if not special.fields:
        return []
    clustered = read_clustering_columns(domain)
    if not clustered:  # otherwise, every column may have the name of a clustering column
        schema = special
    return [
        {
            "column": ".".join(each.path),
            "is_partition_column": each.is_partition_column,
            "is_clustering_column": each.is_clustering_column,
            "is_generated": each.is_generated,
            "default": each.default,
            "default_is_null": None if each.default is None else is_null_default(each.default),
        }
        for each in find_variant_columns(schema, metadata.partition_columns, clustered, mapping)
    ]


def build_variant_column_rows(
    location: dict[str, Any], variants: Iterable[VariantRow]
) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the rows of `variant_columns` for a file, and why some of its variants are undecided.

    Args:
        location: location columns.
        variants: variants of the file.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    undecided: set[str] = set()
    validated: set[tuple[tuple[str, ...], bytes | None, bytes | None]] = set()
    names: dict[bytes, FieldNames] = {}
    for each in variants:
        row = found.setdefault(each.path, {**location, "column": ".".join(each.path), "rows": 0})
        row["rows"] += 1
        cache_key = (each.path, each.metadata, each.pair.value)
        if each.pair.typed is None and cache_key in validated:
            continue
        if len(validated) < _CACHE_SIZE and each.pair.typed is None:
            validated.add(cache_key)
        _validate(each, row, undecided, names)
    return list(found.values()), undecided


def _validate(each: VariantRow, row: dict[str, Any], undecided: set[str], names: dict[bytes, FieldNames]) -> None:
    if each.metadata is None or (each.pair.value is None and not each.is_shredded):
        row.setdefault(
            "encoding_fault",
            "the metadata of the variant is null" if each.metadata is None else "the value of the variant is null",
        )
        return
    try:
        if each.metadata not in names:
            if len(names) >= _CACHE_SIZE:
                names.clear()
            names[each.metadata] = read_metadata(each.metadata)
        fault = next(find_encoding_faults(each.pair, names[each.metadata]), None)
    except VariantError as error:
        fault = str(error)
    except VariantUndecided as error:
        undecided.add(f"{row['column']}: {error}")
        return
    if fault is not None:
        row.setdefault("encoding_fault", fault)
        return
    if each.is_shredded:
        for requirement, fault in find_shredding_faults(each.pair, names[each.metadata]):
            row.setdefault("stored_twice" if requirement == STORED_ONCE else "shredding_fault", fault)


def written_without_shredding(
    intervals: pl.DataFrame,
    settings: Iterable[dict[str, Any]],
    operations: Mapping[int, str | None],
    *,
    begins_with_checkpoint: bool,
) -> pl.Series:
    """Return keys of the paths whose files were certainly written while shredding was not enabled.

    Shredding is not enabled in the commit that adds such a file, nor in the preceding version. No earlier action has
    the path, and the commit does not reuse existing files. If versions precede the validated history, the commit must
    have an operation.

    Args:
        intervals: every add and remove of the validated history.
        settings: rows of the view `configuration`.
        operations: version to commitInfo.operation, None if a commit has none.
        begins_with_checkpoint: whether versions before the validated history exist.
    """
    changes = [(row["version"], row["value"]) for row in settings if row["property"] == VARIANT_SHREDDING]

    def enabled(version: int) -> bool:
        values = [value for at, value in changes if at <= version]
        return is_property_true({VARIANT_SHREDDING: values[-1] or ""} if values else {}, VARIANT_SHREDDING)

    versions = [
        version
        for version, operation in operations.items()
        if not (enabled(version) or enabled(version - 1) or reuses_existing_files(operation))
        and not (begins_with_checkpoint and operation is None)
    ]
    return find_first_added_paths(intervals, versions)
