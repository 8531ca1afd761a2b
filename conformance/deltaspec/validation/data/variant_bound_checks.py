"""Compare the bounds that statistics have for paths of variants with the rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.files.statistics import (
    LeafColumn,
    Statistics,
    StatisticsError,
    get_entry,
    list_leaf_columns,
    parse_statistics,
)
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.protocol.variants.encoding import VariantError, VariantUndecided
from deltaspec.protocol.variants.values import Scalar, find_at, parse_steps
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.row_confirmation import FileRows, evaluate_file_rows
from deltaspec.views.data.variant_bounds import (
    PathValues,
    VariantBoundError,
    find_contradiction,
    find_loose_bound,
    read_variant_bound,
)
from deltaspec.views.data.variant_paths import variant_paths
from deltaspec.wire.data.variant_reader import VariantDecoder, iter_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.table_schema import TableSchema

_VARIANT = Primitive("variant")


class _Bounds(msgspec.Struct, frozen=True):
    """Bounds of one variant column of a file, by path."""

    minima: dict[str, Scalar]
    maxima: dict[str, Scalar]
    are_tight: bool | None

    @property
    def paths(self) -> list[str]:
        return sorted(self.minima.keys() | self.maxima.keys())


def check_variant_paths(data: DataBucket) -> None:
    """Check the variant paths that have bounds. Files without such bounds are not read."""
    table = data.table
    if table is None or not data.findings.has_rules_for(variant_paths):
        return  # an unknown schema is reported by `check_row_values`
    every = list_leaf_columns(table.schema, table.mapping, table.partition_columns)
    columns = [column for column in every if column.type == _VARIANT]
    for data_file in data.files if columns else ():
        for column in columns:
            bounds = _read_bounds(data_file.stats, column)
            if bounds is None or not bounds.paths:
                continue
            read = partial(_read_rows, data, table, column, bounds)
            found = read(data_file)
            if isinstance(found, str):
                data.findings.mark_undecided((variant_paths,), found, data_file.path)
            else:
                evaluate_file_rows(data, variant_paths, [found], read)


def _read_bounds(stats: str | None, column: LeafColumn) -> _Bounds | None:
    """Return the bounds in the statistics; None if they cannot be parsed."""
    if not stats or '"' not in stats:
        return None
    try:
        statistics: Statistics = parse_statistics(stats)
        minimum, maximum = (get_entry(values, column) for values in (statistics.min_values, statistics.max_values))
    except StatisticsError:
        return None
    return _Bounds(_read_bound(minimum), _read_bound(maximum), statistics.tight_bounds)


def _read_bound(bound: Any) -> dict[str, Scalar]:
    try:
        return {} if bound is None else read_variant_bound(bound)
    except VariantBoundError:  # a finding of another rule
        return {}


def _read_rows(
    data: DataBucket, table: TableSchema, column: LeafColumn, bounds: _Bounds, data_file: DataFile
) -> FileRows | str:
    """Build the rows of the view for a column of a file, or return why its values cannot be read."""
    wanted = {path: parse_steps(path) for path in bounds.paths}
    found = {path: PathValues() for path in wanted}
    size = data_file.actual_size
    try:
        if size is None:
            raise data.get_missing_file_error(data_file.path_key)
        deleted = data.vector(data_file) or ()
        decoder = VariantDecoder()
        with data.access.open_seekable(data_file.path_key) as source:
            for row in iter_variants(source, size, table.schema, table.mapping, column.path):
                value = decoder.read(row.metadata, row.pair)
                for path, steps in wanted.items():
                    found[path].add(find_at(value, steps), valid=row.position not in deleted)
    except (StorageError, UnreadableRows, VariantError, VariantUndecided, DeletionVectorError) as fault:
        return f"{'.'.join(column.name)}: {describe_read_error(fault)}"
    place = {**data_file.place, "column": ".".join(column.name), "tight_bounds": bounds.are_tight}
    rows = [
        {
            **place,
            "variant_path": path,
            "types": sorted(values.kinds),
            "contradiction": find_contradiction(bounds.minima.get(path), bounds.maxima.get(path), values),
            "loose_bound": find_loose_bound(bounds.minima.get(path), bounds.maxima.get(path), values),
        }
        for path, values in found.items()
    ]
    return FileRows(data_file, rows)
