"""Read the rows that a commit changes: from its change data files, and from the files that it adds and removes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from deltaspec.protocol.features.change_data import CHANGE_TYPE, CHANGE_TYPES, COMMIT_COLUMNS, INSERT, POSTIMAGE
from deltaspec.protocol.files.partition_values import (
    PartitionValueError,
    canonicalize_partition_value,
    has_zone,
    parse_partition_value,
)
from deltaspec.protocol.schema.column_mapping import get_partition_types
from deltaspec.protocol.schema.data_types import DataType, Primitive
from deltaspec.validation.data.data_bucket import DataBucket
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, is_bytes, is_text, resolve_columns
from deltaspec.wire.data.row_hashing import HASH_MODULUS, Incomparable, hash_rows, is_hashable, sum_hashes
from deltaspec.wire.data.stored_partition_values import PartitionValueComparison
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import Batch, RowBatches, compute_remaining_rows

_VALUES_SHOWN = 10


class Projection(msgspec.Struct, frozen=True):
    """The columns by which rows of one commit are compared, which all of its files have."""

    table: TableSchema | None
    rule: str
    """Code of the rule that compares rows; other rules count them."""
    partitions: dict[str, DataType] = msgspec.field(default_factory=dict)
    """Physical name to type of every partition column."""
    compared_partitions: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    """Why the values of partition columns with different texts may be equal."""
    incomparable: tuple[str, ...] = ()
    """Why columns are not compared."""
    left_out: frozenset[str] = frozenset()
    """Physical names of the partition columns of all versions."""

    @property
    def compares(self) -> bool:
        """Whether rows are compared, not only counted."""
        return self.table is not None

    @classmethod
    def of(
        cls, table: TableSchema | None, files: list[DataFile], rule: str, *, compares_ambiguous: bool = False
    ) -> Projection:
        """Choose the columns that all files of a commit have.

        Args:
            table: schema of the commit; None if unknown.
            files: of the commit.
            rule: code of the rule that compares rows.
            compares_ambiguous: whether partition values with an ambiguous text are compared as if it were clear.
        """
        if table is None:
            return cls(None, rule)
        types = get_partition_types(table.schema, table.partition_columns, table.mapping)
        compared, ambiguous, reasons = [], [], []
        for name, kind in types.items():
            if not all(name in file.partition_values for file in files):
                reasons.append(f"not all files of the commit have a value of partition column {name}")
                continue
            texts = {file.partition_values[name] for file in files}
            is_clear = all(text is None or _is_clear(text, kind) for text in texts)
            if is_clear or compares_ambiguous:
                compared.append(name)
            if not is_clear and len(texts) > 1:
                ambiguous.append(f"the text of partition column {name} is ambiguous")
        for column in table.schema.fields:
            if column.name not in table.partition_columns and not is_hashable(column.type):
                reasons.append(f"the type of column {column.name} has no known values to compare")
        left_out = frozenset(name for file in files for name in file.partition_values) | frozenset(types)
        return cls(table, rule, types, tuple(compared), tuple(ambiguous), tuple(reasons), left_out)

    def columns(self, schema: pa.Schema) -> list[FileColumn]:
        """Find the compared columns in a file. Raise `UnreadableRows` if they cannot be identified."""
        if self.table is None:
            return []
        try:
            found = resolve_columns(schema, self.table.schema, self.table.mapping)
        except UnresolvableColumns as fault:
            raise UnreadableRows(str(fault)) from fault
        return [each for each in found if each.path[0] not in self.left_out and is_hashable(each.kind)]

    def constant(self, file: DataFile) -> str:
        """Encode the partition values of a file, which are equal for all of its rows."""
        values = (
            canonicalize_partition_value(file.partition_values[name], self.partitions[name])
            for name in self.compared_partitions
        )
        return repr(list(values))


def _is_clear(text: str, data_type: DataType) -> bool:
    """Return whether a text has one value: the zone of a timestamp may be unknown, and binary may be escaped or not."""
    try:
        parse_partition_value(text, data_type)
    except PartitionValueError:
        return False  # some readers may accept the text
    match data_type:
        case Primitive("timestamp"):
            return has_zone(text)
        case Primitive("timestamp_ntz"):
            return not has_zone(text)
        case Primitive("binary"):
            return "\\" not in text
    return True


class ChangeFacts(msgspec.Struct):
    """Content of one change data file."""

    has_change_type: bool = False
    commit_columns: list[str] = msgspec.field(default_factory=list)
    mismatched_partition_values: list[str] = msgspec.field(default_factory=list)
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of rows of each change type."""
    unknown: dict[str, None] = msgspec.field(default_factory=dict)
    total: int = 0
    """Sum of the hashes of added rows minus the sum of the hashes of removed rows, modulo 2^64."""
    incomparable_reason: str | None = None

    @property
    def row(self) -> dict[str, Any]:
        """The columns of the view `change_files`."""
        return {
            "has_change_type": self.has_change_type,
            "unknown_change_types": list(self.unknown)[:_VALUES_SHOWN] if self.has_change_type else None,
            "commit_columns": self.commit_columns,
            "mismatched_partition_values": self.mismatched_partition_values,
        }


class NetRows(msgspec.Struct):
    """Rows added minus rows removed."""

    rows: int = 0
    total: int | None = 0
    """Sum of their hashes, modulo 2^64; None if rows cannot be compared."""

    def __add__(self, other: NetRows) -> NetRows:
        both = None if self.total is None or other.total is None else (self.total + other.total) % HASH_MODULUS
        return NetRows(self.rows + other.rows, both)


def read_change_file(data: DataBucket, file: DataFile, projection: Projection) -> ChangeFacts:
    """Read a change data file. Raise `StorageError` or `UnreadableRows`."""
    if file.actual_size is None:
        raise data.get_missing_file_error(file.path_key)
    with RowBatches(data.access, file.path_key) as source:
        return _facts_of(source, file, projection)


def _facts_of(source: RowBatches, file: DataFile, projection: Projection) -> ChangeFacts:
    facts = ChangeFacts()
    known = set() if projection.table is None else {each.name for each in projection.table.schema.fields}
    facts.commit_columns = [name for name in COMMIT_COLUMNS if name in source.schema.names and name not in known]
    facts.has_change_type = CHANGE_TYPE in source.schema.names
    if not facts.has_change_type:
        return facts
    columns = projection.columns(source.schema)
    stored = _stored_partitions(file, projection, source.schema)
    names = {source.schema.names[each.place] for each in columns if each.place is not None}
    for batch in source.read(sorted({CHANGE_TYPE, *names, *stored})):
        kinds = _texts(batch.columns[CHANGE_TYPE])
        _count(facts, kinds)
        for name, partition in stored.items():
            odd = partition.differences(batch.columns[name])
            if odd and len(facts.mismatched_partition_values) < _VALUES_SHOWN:
                facts.mismatched_partition_values.append(f"{name}={odd[0][1]}")
        if projection.compares and facts.incomparable_reason is None:
            _add_hashes(facts, source, columns, batch, projection.constant(file), kinds)
    return facts


def _texts(array: pa.Array) -> pa.Array:
    """Convert change types to strings. A wrong Parquet type is a finding of level `footers`."""
    if not (is_text(array.type) or is_bytes(array.type) or pa.types.is_null(array.type)):
        raise UnreadableRows(f"{CHANGE_TYPE} is {array.type}")
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid as fault:
        raise UnreadableRows(f"{CHANGE_TYPE} holds no text: {fault}") from fault


def _stored_partitions(
    file: DataFile, projection: Projection, schema: pa.Schema
) -> dict[str, PartitionValueComparison]:
    """Return the partition columns that the file also stores, by their name in the file."""
    sums = {
        name: PartitionValueComparison(kind, file.partition_values[name])
        for name, kind in projection.partitions.items()
        if name in file.partition_values and len(schema.get_all_field_indices(name)) == 1
    }
    return {name: each for name, each in sums.items() if each.is_comparable}


def _count(facts: ChangeFacts, kinds: pa.Array) -> None:
    for entry in pc.value_counts(kinds).to_pylist():
        kind = entry["values"]
        if kind in CHANGE_TYPES:
            facts.counts[kind] += entry["counts"]
        else:
            facts.unknown["null" if kind is None else kind[:100]] = None


def _add_hashes(
    facts: ChangeFacts, source: RowBatches, columns: list[FileColumn], batch: Batch, constant: str, kinds: pa.Array
) -> None:
    try:
        hashes = hash_rows(_arrays(columns, source.schema, batch), batch.rows, constant)
    except Incomparable as fault:
        facts.incomparable_reason = str(fault)
        return
    coming = pl.Series(pc.is_in(kinds, pa.array([INSERT, POSTIMAGE])).to_pylist(), dtype=pl.Boolean)
    facts.total = (facts.total + sum_hashes(hashes.filter(coming)) - sum_hashes(hashes.filter(~coming))) % HASH_MODULUS


def _arrays(columns: list[FileColumn], schema: pa.Schema, batch: Batch) -> list[tuple[FileColumn, pa.Array | None]]:
    return [(each, None if each.place is None else batch.columns[schema.names[each.place]]) for each in columns]


def read_net_rows(
    data: DataBucket, files: list[DataFile], of_adds: Projection, of_removes: Projection | None = None
) -> NetRows:
    """Read the rows that the actions of one commit on one path add and remove.

    A file that is removed and added with another vector is read once, for the rows that differ.

    Args:
        data: how files are read.
        files: the actions.
        of_adds: columns of added files.
        of_removes: columns of removed files, if the commit changes how files are read.

    Raises:
        StorageError: the file or a vector cannot be read; `FileGone` if it no longer exists.
        UnreadableRows: the file is not readable Parquet.
        DeletionVectorError: a vector cannot be decoded.
    """
    with RowBatches(data.access, files[0].path_key) as source:
        return _net_rows(data, source, files, (of_adds, of_removes or of_adds))


def _net_rows(
    data: DataBucket, source: RowBatches, files: list[DataFile], projections: tuple[Projection, Projection]
) -> NetRows:
    everything = compute_remaining_rows(source.row_count, BitMap64())
    added, removed = BitMap64(), BitMap64()
    for file in files:
        left = compute_remaining_rows(source.row_count, data.vector(file) or BitMap64())
        if file.kind == "add":
            added |= left
        else:
            removed |= left
    net = NetRows()
    kinds, changed = ((1, "add"), (-1, "remove")), (added - removed, removed - added)
    for (sign, kind), chosen, projection in zip(kinds, changed, projections, strict=True):
        if len(chosen):
            file = next(each for each in files if each.kind == kind)
            part = _read(data, source, file, projection, None if chosen == everything else chosen)
            total = None if part.total is None else sign * part.total
            net += NetRows(sign * part.rows, total)
    return net


def _read(
    data: DataBucket, source: RowBatches, file: DataFile, projection: Projection, chosen: BitMap64 | None
) -> NetRows:
    rows = source.row_count if chosen is None else len(chosen)
    if not projection.compares:
        return NetRows(rows, None)
    columns, constant = projection.columns(source.schema), projection.constant(file)
    names = sorted({source.schema.names[each.place] for each in columns if each.place is not None})
    try:
        if not names:
            absent: list[tuple[FileColumn, pa.Array | None]] = [(each, None) for each in columns]
            return NetRows(rows, sum_hashes(hash_rows(absent, 1, constant)) * rows % HASH_MODULUS)
        batches = source.read(names, chosen)
        total = sum(
            sum_hashes(hash_rows(_arrays(columns, source.schema, batch), batch.rows, constant)) for batch in batches
        )
    except Incomparable as fault:
        data.findings.mark_rule_undecided(projection.rule, str(fault), file.path)
        return NetRows(rows, None)
    return NetRows(rows, total % HASH_MODULUS)
