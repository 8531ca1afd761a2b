"""Rows of `replay_differences`: differences between a derived file and replay of the commits.

A derived file is a checkpoint, a log compaction or a version checksum. Values are compared as the protocol defines
them: path key, deletion vector, size, typed partition values, modification time, row-tracking fields, and statistics
as JSON values if both sides have them. `dataChange`, tags, unknown fields, and null versus absent are not compared.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from deltaspec.model.actions import DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, Txn
from deltaspec.model.revisions import Revision
from deltaspec.model.schema.data_types import DataType
from deltaspec.model.schema.partition_values import canonicalize_partition_value
from deltaspec.model.schema.schema_string import SchemaError, parse_schema
from deltaspec.model.schema.schema_string import to_json as schema_to_json
from deltaspec.views.files.file_replay import has_shared_path
from deltaspec.views.files.partition_facts import ENTRY_END, VALUE_BEGIN

Row = dict[str, Any]
_KEYS = ("kind", "path_key", "_vector")
_COMPARED = {
    "deletion_vector_id": "deletionVector",
    "size": "size",
    "modification_time": "modificationTime",
    "deletion_timestamp": "deletionTimestamp",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
    "partition_text": "partitionValues",
    "stats": "stats",
}
_COMPARED_IF_BOTH_PRESENT = ("size", "modification_time", "deletion_timestamp", "partition_text", "stats")
"""Fields of an add that are compared only if both sides have them. In a remove this applies to all fields."""
_ROWS_PER_SLICE = 100_000
_TEXT_LIMIT = 4_000
"""Characters of a recorded or replayed value that a row has; shorter values would hide where schemas differ."""


@dataclass(frozen=True)
class DerivedFile:
    """File whose content must equal replay of the commits up to a version."""

    kind: str
    """`checkpoint`, `compaction` or `checksum`."""
    file: str
    """Relative to the table root."""
    version: int

    def row(self, kind: str, path: str | None, difference: str, **more: Any) -> Row:
        """Build a row of `replay_differences`."""
        location = {"derived_file_kind": self.kind, "file": self.file, "version": self.version}
        return {**location, "kind": kind, "path": path, "difference": difference, **more}


@dataclass(frozen=True)
class TableActions:
    """Actions of a table state or derived file other than file actions; None if they are not recorded."""

    protocol: Protocol | None = None
    metadata: MetaData | None = None
    transactions: Mapping[str, Txn] | None = None
    domains: Mapping[str, DomainMetadata] | None = None
    row_id_high_water_marks: Mapping[str, RowIdHighWaterMark] | None = None
    """Only in r1 and r2: at most one action, keyed by the JSON name of its field."""
    transactions_may_expire: bool = field(default=False)


def compare_files(
    derived_file: DerivedFile,
    recorded: pl.DataFrame,
    replayed: pl.DataFrame,
    types: Mapping[str, DataType] | None,
    *,
    tombstones_complete: bool,
    retention_cutoff_ms: int | None = None,
    revision: Revision = Revision.CURRENT,
) -> Iterator[list[Row]]:
    """Yield differences of file actions in bounded batches: a completely wrong derived file has millions.

    Args:
        derived_file: the file that is compared.
        recorded: its file actions, with the columns of `file_replay.REPLAY_COLUMNS`.
        replayed: the file actions after replay, with the same columns.
        types: partition columns by physical name; None if unknown.
        tombstones_complete: whether replay started at version 0 and therefore knows every tombstone.
        retention_cutoff_ms: oldest deletion timestamp of an unexpired tombstone; None if unknown.
        revision: protocol revision, which defines the identity of an add.
    """
    left, right = _with_key(recorded, revision), _with_key(replayed, revision)
    joined = left.join(right, on=_KEYS, how="full", suffix="_replayed", coalesce=True)
    extra = joined.filter(pl.col("_present_replayed").is_null())
    missing = joined.filter(pl.col("_present").is_null())
    live = _live_logical_files(right) if len(extra) else set()
    for part in extra.iter_slices(_ROWS_PER_SLICE):
        yield [
            derived_file.row(
                each["kind"],
                each["path"] or each["path_key"],
                "extra",
                recorded=_format_file(each),
                may_have_expired=each["kind"] == "remove"
                and not tombstones_complete
                and (each["path_key"], each["deletion_vector_id"]) not in live,
            )
            for each in part.iter_rows(named=True)
        ]
    for part in missing.iter_slices(_ROWS_PER_SLICE):
        yield [
            derived_file.row(
                each["kind"],
                each["path_replayed"] or each["path_key"],
                "missing",
                replayed=f"size {each['size_replayed']}",
                may_have_expired=each["kind"] == "remove",
                is_unexpired=_is_retained(each["deletion_timestamp_replayed"], retention_cutoff_ms)
                if each["kind"] == "remove"
                else None,
            )
            for each in part.iter_rows(named=True)
        ]
    paired = joined.filter(pl.col("_present") & pl.col("_present_replayed"))
    for name, wire_name in _COMPARED.items():
        for part in _unequal(paired, name).iter_slices(_ROWS_PER_SLICE):
            yield _field_differences(derived_file, part, name, wire_name, types)


def _is_retained(timestamp_ms: int | None, retention_cutoff_ms: int | None) -> bool | None:
    """Return whether a timestamp is at or after the retention cutoff; a missing timestamp counts as 0 (S25)."""
    return None if retention_cutoff_ms is None else (timestamp_ms or 0) >= retention_cutoff_ms


def _live_logical_files(rows: pl.DataFrame) -> set[tuple[str, str | None]]:
    """Return path and vector of the adds: a path may have a live file and tombstones of other vectors."""
    return set(rows.filter(pl.col("kind") == "add").select("path_key", "deletion_vector_id").iter_rows())


def _with_key(rows: pl.DataFrame, revision: Revision) -> pl.DataFrame:
    """Add the key column `_vector` (empty if an add is identified by its path) and keep one row per key."""
    vector = pl.col("deletion_vector_id").fill_null("")
    if revision is Revision.CURRENT:  # [Changed in current] an add is identified by its path alone
        vector = pl.when(pl.col("kind") == "add").then(pl.lit("")).otherwise(vector)
    rows = rows.with_columns(_vector=vector, _present=pl.lit(True))
    several = has_shared_path(rows)
    many = rows.filter(several).sort("version", "file", "line")
    return pl.concat([rows.filter(~several), many.unique(subset=_KEYS, keep="first", maintain_order=True)])


def _unequal(paired: pl.DataFrame, name: str) -> pl.DataFrame:
    other = f"{name}_replayed"
    differs_if_both = (pl.col(name) != pl.col(other)).fill_null(False)
    differs_in_add = pl.col(name).ne_missing(pl.col(other)) & (pl.col("kind") == "add")
    return paired.filter(differs_if_both if name in _COMPARED_IF_BOTH_PRESENT else differs_if_both | differs_in_add)


def _field_differences(
    derived_file: DerivedFile, unequal: pl.DataFrame, name: str, wire_name: str, types: Mapping[str, DataType] | None
) -> list[Row]:
    rows = []
    for each in unequal.iter_rows(named=True):
        recorded, replayed = each[name], each[f"{name}_replayed"]
        if name == "partition_text" and _typed(recorded, types) == _typed(replayed, types):
            continue
        if name == "stats" and is_same_json(recorded, replayed):
            continue
        path = each["path"] or each["path_key"]
        values = {"recorded": _shorten(recorded), "replayed": _shorten(replayed)}
        rows.append(derived_file.row(each["kind"], path, "differs", field=wire_name, may_have_expired=False, **values))
    return rows


def _typed(text: str, types: Mapping[str, DataType] | None) -> dict[str, str | None]:
    entries = (entry.partition(VALUE_BEGIN) for entry in text.split(ENTRY_END)) if text else ()
    return {
        key: canonicalize_partition_value(value, types[key]) if types and key in types else value
        for key, _, value in entries
    }


def is_same_json(one: str, other: str) -> bool:
    """Return whether two strings are equal as JSON: key order and null members are ignored, numbers are exact."""
    try:
        return bool(_parse_exact(one) == _parse_exact(other))
    except (ValueError, RecursionError, ArithmeticError):
        return one == other


def _parse_exact(text: str) -> Any:
    """Parse JSON with exact numbers and with booleans that do not equal numbers."""
    return _drop_nulls(json.loads(text, parse_int=Decimal, parse_float=Decimal))


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _drop_nulls(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not None and member != {}}
    if isinstance(value, bool):
        return str(value), bool
    return [_drop_nulls(each) for each in value] if isinstance(value, list) else value


def compare_table_actions(
    derived_file: DerivedFile, recorded: TableActions, replayed: TableActions, *, retention_cutoff_ms: int | None = None
) -> list[Row]:
    """Return differences of protocol, metadata, transactions and domains, as far as both sides record them.

    `retention_cutoff_ms` is the oldest `lastUpdated` of an unexpired transaction; None if unknown.
    """
    rows: list[Row] = []
    if recorded.protocol is not None and replayed.protocol is not None:
        stated = _protocol(recorded.protocol)
        if derived_file.kind == "checkpoint":  # another rule reports a required list that is null
            stated = {name: value for name, value in stated.items() if name not in _missing_lists(recorded.protocol)}
        rows += _struct_differences(derived_file, "protocol", stated, _protocol(replayed.protocol))
    if recorded.metadata is not None and replayed.metadata is not None:
        rows += _struct_differences(
            derived_file, "metaData", _metadata(recorded.metadata), _metadata(replayed.metadata)
        )
    if recorded.transactions is not None and replayed.transactions is not None:
        may_expire = replayed.transactions_may_expire
        recorded_keys = {app: {"version": each.version} for app, each in recorded.transactions.items()}
        replayed_keys = {app: {"version": each.version} for app, each in replayed.transactions.items()}
        for row in _keyed_differences(derived_file, "txn", recorded_keys, replayed_keys, may_expire=may_expire):
            if row["difference"] == "missing":
                moment = replayed.transactions[row["path"]].last_updated
                row["may_have_expired"] = may_expire and not _is_retained(moment, retention_cutoff_ms)
            rows.append(row)
    if recorded.domains is not None and replayed.domains is not None:
        recorded_keys = {name: _domain(each) for name, each in recorded.domains.items()}
        replayed_keys = {name: _domain(each) for name, each in replayed.domains.items()}
        rows += _keyed_differences(derived_file, "domainMetadata", recorded_keys, replayed_keys, may_expire=False)
    if recorded.row_id_high_water_marks is not None and replayed.row_id_high_water_marks is not None:
        recorded_keys = {name: {name: each.high_water_mark} for name, each in recorded.row_id_high_water_marks.items()}
        replayed_keys = {name: {name: each.high_water_mark} for name, each in replayed.row_id_high_water_marks.items()}
        rows += _keyed_differences(derived_file, "rowIdHighWaterMark", recorded_keys, replayed_keys, may_expire=False)
    return rows


def _keyed_differences(
    derived_file: DerivedFile, kind: str, recorded: dict[str, Row], replayed: dict[str, Row], *, may_expire: bool
) -> list[Row]:
    rows = [
        derived_file.row(kind, key, "extra", may_have_expired=may_expire) for key in recorded.keys() - replayed.keys()
    ]
    rows += [
        derived_file.row(kind, key, "missing", may_have_expired=may_expire) for key in replayed.keys() - recorded.keys()
    ]
    for key in recorded.keys() & replayed.keys():
        rows += _struct_differences(derived_file, kind, recorded[key], replayed[key], path=key)
    return sorted(rows, key=lambda row: (row["path"], row["difference"], row.get("field") or ""))


def _struct_differences(
    derived_file: DerivedFile, kind: str, recorded: Row, replayed: Row, path: str | None = None
) -> list[Row]:
    return [
        derived_file.row(
            kind,
            path,
            "differs",
            field=name,
            recorded=_shorten(recorded[name]),
            replayed=_shorten(replayed[name]),
            may_have_expired=False,
        )
        for name in recorded
        if recorded[name] != replayed[name]
    ]


def _protocol(action: Protocol) -> Row:
    return {
        "minReaderVersion": action.min_reader_version,
        "minWriterVersion": action.min_writer_version,
        "readerFeatures": sorted(set(action.reader_features or ())),
        "writerFeatures": sorted(set(action.writer_features or ())),
    }


def _missing_lists(action: Protocol) -> set[str]:
    """Return the feature lists that the versions of a protocol require and that are null."""
    lists = (
        ("readerFeatures", action.min_reader_version == 3, action.reader_features),
        ("writerFeatures", action.min_writer_version == 7, action.writer_features),
    )
    return {name for name, is_required, features in lists if is_required and features is None}


def _metadata(action: MetaData) -> Row:
    try:
        schema = json.dumps(schema_to_json(parse_schema(action.schema_string)), sort_keys=True)
    except SchemaError:
        schema = action.schema_string
    return {
        "id": action.id,
        "schemaString": schema,
        "partitionColumns": action.partition_columns,
        "configuration": dict(sorted(action.configuration.items())),
        "format": action.format.provider,
        "name": action.name,
        "description": action.description,
        "createdTime": action.created_time,
    }


def _domain(action: DomainMetadata) -> Row:
    try:
        configuration = _parse_exact(action.configuration)
    except (ValueError, RecursionError, ArithmeticError):
        configuration = action.configuration
    return {"configuration": configuration, "removed": action.removed}


def collect_last_actions(actions: Iterable[Any]) -> TableActions:
    """Return the newest action of each kind and key, including removed domains; actions are in version order."""
    protocol, metadata = None, None
    transactions: dict[str, Txn] = {}
    domains: dict[str, DomainMetadata] = {}
    marks: dict[str, RowIdHighWaterMark] = {}
    for action in actions:
        match action:
            case Protocol():
                protocol = action
            case MetaData():
                metadata = action
            case Txn():
                transactions[action.app_id] = action
            case DomainMetadata():
                domains[action.domain] = action
            case RowIdHighWaterMark():
                marks = row_id_high_water_marks(action)
    return TableActions(protocol, metadata, transactions, domains, marks)


def row_id_high_water_marks(mark: RowIdHighWaterMark | None) -> dict[str, RowIdHighWaterMark]:
    """Return the high-water mark action of r1 and r2 keyed by its field name, or an empty dict."""
    return {} if mark is None else {"highWaterMark": mark}


def _format_file(row: Row) -> str:
    vector = f", vector {row['deletion_vector_id']}" if row["deletion_vector_id"] else ""
    return f"size {row['size']}{vector}"


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode(errors="backslashreplace").decode()  # reports cannot encode lone surrogates
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}… ({len(text):,} characters)"
