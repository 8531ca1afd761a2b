"""Check the values of variant columns in live data files and change data files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deltaspec.protocol.schema.data_types import Primitive, iter_leaf_types
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.row_confirmation import FileRows, evaluate_file_rows
from deltaspec.views.data.variants import build_variant_column_rows, variant_columns
from deltaspec.wire.data.variant_reader import iter_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.table_schema import TableSchema

_VARIANT = Primitive("variant")


def check_variants(data: DataBucket) -> None:
    """Check every variant value of the live files and change data files. Without variant columns no file is read."""
    if not data.findings.has_rules_for(variant_columns):
        return
    # an unknown schema is reported by `check_row_values` or `check_change_data`
    if data.table is not None and _has_variants(data.table):
        for number, data_file in enumerate(data.files):
            if number % 100 == 0:
                data.progress("variants", number, len(data.files))
            _check_file(data, data_file, data.table)
    schemas = {version: data.get_table_schema(version) for version in data.facts.versions_with_change_data}
    with_variants = {version: table for version, table in schemas.items() if table is not None and _has_variants(table)}
    for data_file in data.changes if with_variants else ():
        if data_file.version in with_variants:
            _check_file(data, data_file, with_variants[data_file.version])


def _has_variants(table: TableSchema) -> bool:
    return _VARIANT in iter_leaf_types(table.schema)


def _check_file(data: DataBucket, data_file: DataFile, table: TableSchema) -> None:
    try:
        found = _read(data, table, data_file)
    except (StorageError, UnreadableRows) as fault:
        if not (data_file.kind == "cdc" and isinstance(fault, FileGone)):  # VACUUM may have deleted it (S25)
            data.findings.mark_undecided((variant_columns,), describe_read_error(fault), data_file.path)
        return
    for reason in sorted(found.undecided):
        data.findings.mark_undecided((variant_columns,), reason, data_file.path)
    evaluate_file_rows(data, variant_columns, [found], partial(_read_again, data, table))


def _read(data: DataBucket, table: TableSchema, data_file: DataFile) -> FileRows:
    """Return the rows of the view for a file. Raise `StorageError` or `UnreadableRows`."""
    size = data_file.actual_size
    if size is None:
        raise data.get_missing_file_error(data_file.path_key)
    with data.access.open_seekable(data_file.path_key) as source:
        variants = iter_variants(source, size, table.schema, table.mapping)
        rows, undecided = build_variant_column_rows(data_file.place, variants)
    return FileRows(data_file, rows, frozenset(undecided))


def _read_again(data: DataBucket, table: TableSchema, data_file: DataFile) -> FileRows | str:
    try:
        return _read(data, table, data_file)
    except (StorageError, UnreadableRows) as fault:
        return describe_read_error(fault)
