"""Check variants in the rows of files whose statistics have bounds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaspec.model.rows.statistics import LeafColumn, StatisticsError, get_entry, list_leaf_columns, parse_statistics
from deltaspec.model.rows.variant_bounds import VariantBoundError, read_variant_bound
from deltaspec.model.rows.variant_shredding import find_shredded_type
from deltaspec.model.rows.variant_values import parse_steps
from deltaspec.model.schema.data_types import Primitive
from deltaspec.views.data.variant_paths import variant_paths
from deltaspec.wire.data.variant_reader import iter_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.state import TableSchema

_VARIANT = Primitive("variant")


def check_variant_paths(data: DataBucket) -> None:
    """Check the variant paths that have bounds. Files without such bounds are not read."""
    table = data.table
    if table is None or not data.findings.has_rules_for(variant_paths):
        return  # an unknown schema is reported by `check_row_values`
    every = list_leaf_columns(table.schema, table.mapping, table.partition_columns)
    columns = [column for column in every if column.type == _VARIANT]
    for data_file in data.files if columns else ():
        for column in columns:
            bounded = _bounded_paths(data_file.stats, column)
            if bounded:
                data.findings.evaluate_rows(variant_paths, _rows(data, table, data_file, column, bounded))


def _bounded_paths(stats: str | None, column: LeafColumn) -> list[str]:
    """Return the variant paths with bounds in the statistics; none if they cannot be parsed."""
    if not stats or '"' not in stats:
        return []
    try:
        statistics = parse_statistics(stats)
        bounds = [get_entry(values, column) for values in (statistics.min_values, statistics.max_values)]
    except StatisticsError:
        return []
    found: set[str] = set()
    for bound in bounds:
        try:
            found |= set(read_variant_bound(bound)) if bound is not None else set()
        except VariantBoundError:  # a finding of another rule
            continue
    return sorted(found)


def _rows(
    data: DataBucket, table: TableSchema, data_file: DataFile, column: LeafColumn, paths: list[str]
) -> list[dict[str, Any]]:
    wanted = {path: parse_steps(path) for path in paths}
    types: dict[str, set[str]] = {path: set() for path in paths}
    size = data_file.actual_size
    try:
        if size is None:
            raise data.get_missing_file_error(data_file.path_key)
        with data.access.open_seekable(data_file.path_key) as source:
            seen: set[tuple[bytes, bytes | None]] = set()
            for row in iter_variants(source, size, table.schema, table.mapping, column.path):
                same = (row.metadata or b"", row.pair.value)
                if row.metadata is None or (row.pair.typed is None and same in seen):
                    continue
                if len(seen) < 10_000 and row.pair.typed is None:
                    seen.add(same)
                for path, each in wanted.items():
                    kind = find_shredded_type(row.metadata, row.pair, each)
                    types[path] |= {kind} if kind is not None else set()
    except (StorageError, UnreadableRows, VariantBoundError) as fault:
        data.findings.mark_undecided((variant_paths,), f"{'.'.join(column.name)}: {fault}", data_file.path)
        return []
    place = {**data_file.place, "column": ".".join(column.name)}
    return [{**place, "variant_path": path, "types": sorted(found)} for path, found in types.items()]
