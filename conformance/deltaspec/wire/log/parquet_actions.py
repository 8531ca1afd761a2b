"""Convert rows of Parquet checkpoints and sidecars to actions and to the columns of `FILE_ACTION_SCHEMA`.

A checkpoint is read in two passes of bounded memory. The actions that describe the table come first, because the checks
of file actions depend on the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from deltaspec.protocol.actions import WireStruct, get_action_types, is_field_defined, normalize_action
from deltaspec.protocol.revisions import Revision
from deltaspec.wire import arrow_compute as pc
from deltaspec.wire.data.legacy_calendar import find_first_unambiguous_values
from deltaspec.wire.log.checkpoint_summary import CheckpointFileSummary, select_summary_columns
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.line_validation import LineError, explain_action
from deltaspec.wire.log.row_slices import (
    BATCH_ROWS,
    GroupBatches,
    RowSlice,
    count_rows_by_group,
    find_first_row,
    iter_selected_batches,
    select_batches,
)
from deltaspec.wire.log.stats_parsed import (
    StoredForm,
    TypedColumns,
    list_typed_columns,
    read_typed_columns,
)
from deltaspec.wire.parquet.arrow_errors import is_unsupported
from deltaspec.wire.parquet.arrow_schema import open_by_parquet_schema, read_footer
from deltaspec.wire.parquet.footer_reader import UnsupportedFooter, explain_rejected_footer
from deltaspec.wire.storage.interface import StorageError, format_error

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_LOCAL_BUFFER_BYTES = 1 << 18
"""Bytes of a column of a local file that are read together, instead of memory for each whole column chunk."""
FILE_ACTION_KINDS = ("add", "remove")

_FIELDS = {
    "path": "path",
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "data_change": "dataChange",
    "deletion_timestamp": "deletionTimestamp",
    "extended_file_metadata": "extendedFileMetadata",
    "stats": "stats",
    "dv_storage_type": "deletionVector.storageType",
    "dv_path_or_inline": "deletionVector.pathOrInlineDv",
    "dv_offset": "deletionVector.offset",
    "dv_size_in_bytes": "deletionVector.sizeInBytes",
    "dv_cardinality": "deletionVector.cardinality",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
    "tags": "tags",
    "clustering_provider": "clusteringProvider",
}
"""Column of `FILE_ACTION_SCHEMA` to the action field with its values."""
_COMPARED_ONLY = ("tags", "clustering_provider")


class UnreadableParquet(ValueError):
    """A file cannot be read as a Parquet file of actions."""


class NonFileActions(msgspec.Struct):
    """Actions of one Parquet file other than file actions, and the number of actions of each kind."""

    actions: list[tuple[int, WireStruct]] = msgspec.field(default_factory=list)
    """(Row number from 1, action)."""
    faults: dict[int, LineError] = msgspec.field(default_factory=dict)
    """Row number -> defect, for actions that cannot be decoded."""
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of rows by action kind, decodable or not, including add and remove."""
    rows_without_action: int = 0
    """0 if the file has columns of unknown actions, because any row may have one of those."""
    rows_without_known_action: int = 0
    """Also counted if the file has columns of unknown actions."""
    rows_with_several_actions: int = 0
    footer_checksum: int | None = None
    """As `compute_footer_checksum` returns it."""


def open_parquet(source: Any) -> pq.ParquetFile:
    """Open a Parquet file of actions.

    Do not access the metadata of its column chunks: broken ones abort the process, while reading the columns raises an
    exception. Arrow allocates the lengths that they state, but does not touch that memory before it is read.

    Args:
        source: input of `pyarrow.parquet.ParquetFile`.

    Raises:
        UnreadableParquet: the file is not Parquet.
        UnsupportedFooter: Arrow rejects the footer, but other readers may accept it.
        StorageError: the file cannot be read, which is not a defect of the table.
    """
    try:
        return open_by_parquet_schema(
            source,
            thrift_string_size_limit=64 << 20,
            thrift_container_size_limit=1 << 22,
            pre_buffer=False,
            buffer_size=_LOCAL_BUFFER_BYTES if isinstance(source, pa.OSFile) else 0,
            coerce_int96_timestamp_unit="us",
            page_checksum_verification=True,
        )
    except StorageError:
        raise
    except Exception as fault:
        reason = format_error(fault)
        unsupported = explain_rejected_footer(read_footer(source), reason)
        if unsupported is not None:
            raise UnsupportedFooter(unsupported) from fault
        raise UnreadableParquet(reason) from fault


def read_non_file_actions(parquet: pq.ParquetFile, revision: Revision = Revision.CURRENT) -> NonFileActions:
    """Read every action that a revision defines, except for add and remove; only count commitInfo and cdc.

    The cheapest leaf of each column shows which rows are set. Only columns with such rows are read completely, up to
    their last row.

    Raises:
        UnreadableParquet: the pages of the file cannot be decoded.
    """
    found = NonFileActions()
    names = [name for name in parquet.schema_arrow.names if name in get_action_types(revision)]
    all_known = len(names) == len(parquet.schema_arrow.names)
    if len(set(names)) < len(names):
        raise UnreadableParquet("it has two columns of one action")
    if not names:  # without columns, nothing bounds the stated number of rows
        return found
    last_row: dict[str, int] = {}
    offset = 0
    cheapest = _find_cheapest_leaves(parquet)
    for batch in _batches(parquet, [cheapest.get(name, name) for name in names]):
        set_columns = pa.repeat(pa.scalar(0, pa.uint8()), len(batch))
        for name in names:
            column = batch.column(name)
            if column.null_count < len(column):
                is_set = pc.is_valid(column)
                set_columns = pc.add(set_columns, pc.cast(is_set, pa.uint8()))
                found.kinds[name] = found.kinds.get(name, 0) + len(column) - column.null_count
                last_row[name] = offset + pc.max(pc.indices_nonzero(is_set)).as_py()
        without = pc.sum(pc.equal(set_columns, 0)).as_py()
        found.rows_without_known_action += without
        found.rows_without_action += without if all_known else 0
        found.rows_with_several_actions += pc.sum(pc.greater(set_columns, 1)).as_py()
        offset += len(batch)
    selected = {name: row for name, row in last_row.items() if name not in (*FILE_ACTION_KINDS, "commitInfo", "cdc")}
    if selected:
        _decode_actions(parquet, found, selected, revision)
    return found


def _find_cheapest_leaves(parquet: pq.ParquetFile) -> dict[str, str]:
    """Return the path of the cheapest leaf of each column that is not repeated, which shows where a struct is set."""
    cost = ("BOOLEAN", "INT32", "INT64", "DOUBLE", "FLOAT", "INT96", "FIXED_LEN_BYTE_ARRAY", "BYTE_ARRAY")
    found: dict[str, tuple[int, str]] = {}
    for leaf in map(parquet.schema.column, range(len(parquet.schema))):
        if leaf.max_repetition_level == 0:
            path = leaf.path
            name = path.split(".")[0]
            here = cost.index(leaf.physical_type), path
            found[name] = min(found.get(name, here), here)
    return {name: path for name, (_, path) in found.items()}


def _decode_actions(
    parquet: pq.ParquetFile, found: NonFileActions, last_row: dict[str, int], revision: Revision
) -> None:
    offset = 0
    for batch in _batches(parquet, list(last_row)):
        for name in last_row:
            column = batch.column(name)
            if column.null_count == len(column):
                continue
            rows = pc.indices_nonzero(pc.is_valid(column))
            for row, value in zip(rows.to_pylist(), pc.take(column, rows).to_pylist(), strict=True):
                _decode_action(found, offset + row + 1, name, _to_python(value, column.type), revision)
        offset += len(batch)
        if offset > max(last_row.values()):
            return


def _decode_action(found: NonFileActions, line: int, name: str, value: Any, revision: Revision) -> None:
    try:
        found.actions.append((line, normalize_action(msgspec.convert(value, get_action_types(revision)[name]))))
    except msgspec.ValidationError:
        found.faults[line] = explain_action(name, value, revision)


def iter_file_action_tables(
    parquet: pq.ParquetFile,
    others: NonFileActions,
    contents: CheckpointFileSummary | None = None,
    revision: Revision = Revision.CURRENT,
    *,
    compared: bool = True,
    part: RowSlice = RowSlice(),  # noqa: B008 - it is immutable
) -> Iterator[tuple[pa.Table, TypedColumns | None]]:
    """Yield the add and remove actions of the file in batches, with the typed columns of the adds.

    The tables have the schema `FILE_ACTION_SCHEMA`. The typed columns are None if the file has none.

    Args:
        parquet: the file.
        others: result of `read_non_file_actions` for the file.
        contents: summary to update with the rows; None to skip that.
        revision: protocol revision; fields that it does not define are null.
        compared: whether to read `tags` and `clusteringProvider`, which only comparisons need; null otherwise.
        part: the rows to read.

    Raises:
        UnreadableParquet: pages cannot be decoded, or the type of a field does not fit its action.
    """
    present = [name for name in FILE_ACTION_KINDS if others.kinds.get(name)]
    if not present:
        return
    names = [name.split(".")[0] for column, name in _FIELDS.items() if compared or column not in _COMPARED_ONLY]
    fields = dict.fromkeys(f"{kind}.{name}" for kind in present for name in names)
    summary_columns = [] if contents is None else select_summary_columns(parquet, present)
    selected = None if part.is_complete_file else _select_batches(parquet, part)
    offset = find_first_row(selected or ())
    form = _read_stored_form(parquet)
    for batch, unread in _batches_with_typed_columns(parquet, [*fields, *summary_columns], present, selected):
        for kind in present:
            if kind not in batch.schema.names:
                raise UnreadableParquet(f"{kind} has none of the fields of its action")
        table = pa.concat_tables([_rows_of_kind(batch, kind, offset, contents, revision) for kind in present])
        yield table, unread or _read_typed_columns(batch, present, form)
        offset += len(batch)


def _read_stored_form(parquet: pq.ParquetFile) -> StoredForm:
    leaves = map(parquet.schema.column, range(len(parquet.schema)))
    return StoredForm(
        frozenset(leaf.path for leaf in leaves if leaf.physical_type == "INT96"),
        find_first_unambiguous_values(parquet),
    )


def _select_batches(parquet: pq.ParquetFile, part: RowSlice) -> list[GroupBatches]:
    try:
        return select_batches(count_rows_by_group(parquet), part)
    except (ValueError, OSError) as fault:
        raise UnreadableParquet(format_error(fault)) from fault


def _batches_with_typed_columns(
    parquet: pq.ParquetFile, columns: list[str], present: list[str], selected: list[GroupBatches] | None
) -> Iterator[tuple[pa.RecordBatch, TypedColumns | None]]:
    """Yield batches that also have the typed columns of adds; if these cannot be decoded, batches without them.

    The second value is None, or says why the batch has no typed columns.
    """
    typed = list_typed_columns(parquet.schema_arrow.field("add").type) if "add" in present else []
    done, unread = 0, None
    if typed:
        try:
            for batch in _batches(parquet, [*columns, *(f"add.{name}" for name in typed)], selected):
                yield batch, None
                done += len(batch)
        except UnreadableParquet as fault:
            unread = TypedColumns(unread=tuple((name, f"add.{name} cannot be read: {fault}") for name in typed))
        else:
            return
    offset = 0
    for batch in _batches(parquet, columns, selected):
        rest = batch.slice(max(0, done - offset))
        offset += len(batch)
        if len(rest):
            yield rest, unread


def _read_typed_columns(batch: pa.RecordBatch, present: list[str], form: StoredForm) -> TypedColumns | None:
    if "add" not in present:
        return None
    adds = batch.column("add")
    return read_typed_columns(adds if adds.null_count == 0 else pc.drop_null(adds), form)


def _rows_of_kind(
    batch: pa.RecordBatch, kind: str, offset: int, contents: CheckpointFileSummary | None, revision: Revision
) -> pa.Table:
    column = batch.column(kind)
    rows = pc.indices_nonzero(pc.is_valid(column))
    chosen = column if len(rows) == len(column) else pc.take(column, rows)
    arrays = [pc.add(pc.cast(rows, pa.int64()), offset + 1), pa.repeat(pa.scalar(kind), len(rows))]
    for name, wire_name in _FIELDS.items():
        target = FILE_ACTION_SCHEMA.field(name).type
        is_defined = is_field_defined(kind, wire_name, revision)
        arrays.append(_extract_field(chosen, kind, wire_name, target) if is_defined else pa.nulls(len(chosen), target))
    if contents is not None:
        contents.take(kind, chosen)
    return pa.table(arrays, schema=FILE_ACTION_SCHEMA)


def _extract_field(column: pa.Array, kind: str, wire_name: str, target: pa.DataType) -> pa.Array:
    for part in wire_name.split("."):
        if column.null_count == len(column):
            return pa.nulls(len(column), target)
        if not pa.types.is_struct(column.type):
            raise UnreadableParquet(f"{kind}.{wire_name.split('.')[0]} is {column.type}, not a struct")
        if column.type.get_field_index(part) < 0:
            return pa.nulls(len(column), target)
        column = pc.struct_field(column, part)
    if column.null_count == len(column):  # whatever its type, which a rule over the schema judges
        return pa.nulls(len(column), target)
    if not _fits(column.type, target):
        raise UnreadableParquet(f"{kind}.{wire_name} is {column.type}, not {target}")
    try:
        return pc.cast(column, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as fault:
        raise UnreadableParquet(f"{kind}.{wire_name} is {column.type}, not {target}") from fault


def _fits(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a stored type fits a field. Arrow would also cast a boolean or a timestamp to a long."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_map(target):
        return pa.types.is_map(kind) and _fits(kind.key_type, pa.string()) and _fits(kind.item_type, pa.string())
    if pa.types.is_integer(target):
        return bool(pa.types.is_integer(kind))
    if pa.types.is_boolean(target):
        return bool(pa.types.is_boolean(kind))
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(fits(kind) for fits in (*texts, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null))


def _batches(
    parquet: pq.ParquetFile, columns: list[str], selected: list[GroupBatches] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some columns, or only the rows of selected batches.

    The next batch is decoded in a thread, without holding the GIL.
    """
    try:
        if selected is None:
            batches = parquet.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=True)
        else:
            batches = iter_selected_batches(parquet, columns, selected)
        if parquet.metadata.num_rows <= BATCH_ROWS:  # one batch leaves nothing to decode ahead
            while (batch := _next_valid(batches)) is not None:
                yield batch
            return
        with ThreadPoolExecutor(1) as ahead:
            upcoming = ahead.submit(_next_valid, batches)
            while (batch := upcoming.result()) is not None:
                upcoming = ahead.submit(_next_valid, batches)
                yield batch
    except StorageError:
        raise
    except Exception as fault:
        reason = format_error(fault)
        if is_unsupported(fault):
            raise UnsupportedFooter(f"Arrow cannot decode its pages: {reason}") from fault
        raise UnreadableParquet(reason) from fault


def _next_valid(batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Return the next batch after validating its strings, which Arrow does not check to be UTF-8."""
    batch = next(batches, None)
    if batch is not None:
        batch.validate(full=True)
    return batch


def _to_python(value: Any, kind: pa.DataType) -> Any:
    """Return a Python value with maps as dicts at every depth."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: _to_python(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {name: _to_python(item, kind.field(name).type) for name, item in value.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_to_python(item, kind.value_type) for item in value]
    return value
