"""Fills `replay_differences`: what a checkpoint, a compaction or a version checksum says otherwise than replay.

Equality is by protocol value: path key, deletion vector, size, typed partition values, modification time,
row-tracking fields, statistics as values where both hold them. `dataChange`, tags, null against absent and unknown
fields never differ.
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
from deltaspec.views.files.file_replay import ENTRY_END, VALUE_BEGIN, has_shared_path

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
_ONLY_WHERE_BOTH = ("size", "modification_time", "deletion_timestamp", "partition_text", "stats")
"""Fields whose absence on one side is no difference in an add either; in a remove that goes for all of them."""
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class DerivedFile:
    """Something that claims to equal replay to a version."""

    kind: str
    """`checkpoint`, `compaction` or `checksum`."""
    file: str
    """Relative to the table."""
    version: int

    def row(self, kind: str, path: str | None, difference: str, **more: Any) -> Row:
        """A row of `replay_differences`."""
        place = {"claim": self.kind, "file": self.file, "version": self.version}
        return {**place, "kind": kind, "path": path, "difference": difference, **more}


@dataclass(frozen=True)
class TableActions:
    """The actions of a state or a claim that are no file actions; None where they are not recorded."""

    protocol: Protocol | None = None
    metadata: MetaData | None = None
    transactions: Mapping[str, Txn] | None = None
    domains: Mapping[str, DomainMetadata] | None = None
    row_id_high_water_marks: Mapping[str, RowIdHighWaterMark] | None = None
    """Of r1 and r2: at most one, under the wire name of its field."""
    transactions_may_expire: bool = field(default=False)


def compare_files(
    claim: DerivedFile,
    recorded: pl.DataFrame,
    replayed: pl.DataFrame,
    types: Mapping[str, DataType] | None,
    *,
    tombstones_complete: bool,
    retention_cutoff_ms: int | None = None,
    revision: Revision = Revision.CURRENT,
) -> Iterator[list[Row]]:
    """Differences of file actions, a bounded number at once: of a claim that is all wrong there are millions.

    Args:
        claim: whose they are.
        recorded: rows of `file_replay.REPLAY_COLUMNS`.
        replayed: the same, as replay has them.
        types: partition columns by physical name.
        tombstones_complete: replay began at version 0, so that a tombstone it does not know never was.
        retention_cutoff_ms: tombstones of this deletion timestamp or a later one had not expired; None: nothing is known.
        revision: the text judged by, which says what an add is known by.
    """
    left, right = _keyed(recorded, revision), _keyed(replayed, revision)
    both = left.join(right, on=_KEYS, how="full", suffix="_replayed", coalesce=True)
    extra = both.filter(pl.col("_there_replayed").is_null())
    missing = both.filter(pl.col("_there").is_null())
    live = _logical_files(right) if len(extra) else set()
    for part in extra.iter_slices(_ROWS_AT_ONCE):
        yield [
            claim.row(
                each["kind"],
                each["path"] or each["path_key"],
                "extra",
                recorded=_shown(each),
                may_have_expired=each["kind"] == "remove"
                and not tombstones_complete
                and (each["path_key"], each["deletion_vector_id"]) not in live,
            )
            for each in part.iter_rows(named=True)
        ]
    for part in missing.iter_slices(_ROWS_AT_ONCE):
        yield [
            claim.row(
                each["kind"],
                each["path_replayed"] or each["path_key"],
                "missing",
                replayed=f"size {each['size_replayed']}",
                may_have_expired=each["kind"] == "remove",
                is_unexpired=_is_kept(each["deletion_timestamp_replayed"], retention_cutoff_ms)
                if each["kind"] == "remove"
                else None,
            )
            for each in part.iter_rows(named=True)
        ]
    paired = both.filter(pl.col("_there") & pl.col("_there_replayed"))
    for name, wire_name in _COMPARED.items():
        for part in _unequal(paired, name).iter_slices(_ROWS_AT_ONCE):
            yield _field_differences(claim, part, name, wire_name, types)


def _is_kept(timestamp_ms: int | None, retention_cutoff_ms: int | None) -> bool | None:
    """Whether retention keeps what is of a moment; what has no timestamp counts as of 0 (S25)."""
    return None if retention_cutoff_ms is None else (timestamp_ms or 0) >= retention_cutoff_ms


def _logical_files(rows: pl.DataFrame) -> set[tuple[str, str | None]]:
    """Path and vector of the adds: a tombstone of another vector of the path may stand beside a live file."""
    return set(rows.filter(pl.col("kind") == "add").select("path_key", "deletion_vector_id").iter_rows())


def _keyed(rows: pl.DataFrame, revision: Revision) -> pl.DataFrame:
    """Rows with their key, path and vector, or the path alone for an add; the first of several stands for all."""
    vector = pl.col("deletion_vector_id").fill_null("")
    if revision is Revision.CURRENT:  # [Changed in current] an add is known by its path alone
        vector = pl.when(pl.col("kind") == "add").then(pl.lit("")).otherwise(vector)
    rows = rows.with_columns(_vector=vector, _there=pl.lit(True))
    several = has_shared_path(rows)
    many = rows.filter(several).sort("version", "file", "line")
    return pl.concat([rows.filter(~several), many.unique(subset=_KEYS, keep="first", maintain_order=True)])


def _unequal(paired: pl.DataFrame, name: str) -> pl.DataFrame:
    other = f"{name}_replayed"
    where_both = (pl.col(name) != pl.col(other)).fill_null(False)
    of_adds = pl.col(name).ne_missing(pl.col(other)) & (pl.col("kind") == "add")
    return paired.filter(where_both if name in _ONLY_WHERE_BOTH else where_both | of_adds)


def _field_differences(
    claim: DerivedFile, unequal: pl.DataFrame, name: str, wire_name: str, types: Mapping[str, DataType] | None
) -> list[Row]:
    rows = []
    for each in unequal.iter_rows(named=True):
        recorded, replayed = each[name], each[f"{name}_replayed"]
        if name == "partition_text" and _typed(recorded, types) == _typed(replayed, types):
            continue
        if name == "stats" and is_same_json(recorded, replayed):
            continue
        path = each["path"] or each["path_key"]
        texts = {"recorded": _cut(recorded), "replayed": _cut(replayed)}
        rows.append(claim.row(each["kind"], path, "differs", field=wire_name, may_have_expired=False, **texts))
    return rows


def _typed(text: str, types: Mapping[str, DataType] | None) -> dict[str, str | None]:
    entries = (entry.partition(VALUE_BEGIN) for entry in text.split(ENTRY_END)) if text else ()
    return {
        key: canonicalize_partition_value(value, types[key]) if types and key in types else value
        for key, _, value in entries
    }


def is_same_json(one: str, other: str) -> bool:
    """Whether two texts are the same JSON value: objects without regard to order and null members, exact numbers."""
    try:
        return bool(_value(one) == _value(other))
    except (ValueError, RecursionError, ArithmeticError):
        return one == other


def _value(text: str) -> Any:
    """A JSON value whose numbers are exact and whose booleans equal no number."""
    return _without_nulls(json.loads(text, parse_int=Decimal, parse_float=Decimal))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_nulls(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not None and member != {}}
    if isinstance(value, bool):
        return str(value), bool
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def compare_table_actions(
    claim: DerivedFile, recorded: TableActions, replayed: TableActions, *, retention_cutoff_ms: int | None = None
) -> list[Row]:
    """Differences of protocol, metadata, transactions and domains, of those that are recorded.

    `retention_cutoff_ms`: transactions of this `lastUpdated` or a later one had not expired; None: nothing is known.
    """
    rows: list[Row] = []
    if recorded.protocol is not None and replayed.protocol is not None:
        stated = _protocol(recorded.protocol)
        if claim.kind == "checkpoint":  # a list that has to be there and is null is told by its file
            stated = {name: value for name, value in stated.items() if name not in _missing_lists(recorded.protocol)}
        rows += _struct_differences(claim, "protocol", stated, _protocol(replayed.protocol))
    if recorded.metadata is not None and replayed.metadata is not None:
        rows += _struct_differences(claim, "metaData", _metadata(recorded.metadata), _metadata(replayed.metadata))
    if recorded.transactions is not None and replayed.transactions is not None:
        may_expire = replayed.transactions_may_expire
        pairs = {app: {"version": each.version} for app, each in recorded.transactions.items()}
        others = {app: {"version": each.version} for app, each in replayed.transactions.items()}
        for row in _keyed_differences(claim, "txn", pairs, others, may_expire=may_expire):
            if row["difference"] == "missing":
                moment = replayed.transactions[row["path"]].last_updated
                row["may_have_expired"] = may_expire and not _is_kept(moment, retention_cutoff_ms)
            rows.append(row)
    if recorded.domains is not None and replayed.domains is not None:
        pairs = {name: _domain(each) for name, each in recorded.domains.items()}
        others = {name: _domain(each) for name, each in replayed.domains.items()}
        rows += _keyed_differences(claim, "domainMetadata", pairs, others, may_expire=False)
    if recorded.row_id_high_water_marks is not None and replayed.row_id_high_water_marks is not None:
        pairs = {name: {name: each.high_water_mark} for name, each in recorded.row_id_high_water_marks.items()}
        others = {name: {name: each.high_water_mark} for name, each in replayed.row_id_high_water_marks.items()}
        rows += _keyed_differences(claim, "rowIdHighWaterMark", pairs, others, may_expire=False)
    return rows


def _keyed_differences(
    claim: DerivedFile, kind: str, recorded: dict[str, Row], replayed: dict[str, Row], *, may_expire: bool
) -> list[Row]:
    rows = [claim.row(kind, key, "extra", may_have_expired=may_expire) for key in recorded.keys() - replayed.keys()]
    rows += [claim.row(kind, key, "missing", may_have_expired=may_expire) for key in replayed.keys() - recorded.keys()]
    for key in recorded.keys() & replayed.keys():
        rows += _struct_differences(claim, kind, recorded[key], replayed[key], path=key)
    return sorted(rows, key=lambda row: (row["path"], row["difference"], row.get("field") or ""))


def _struct_differences(
    claim: DerivedFile, kind: str, recorded: Row, replayed: Row, path: str | None = None
) -> list[Row]:
    return [
        claim.row(
            kind,
            path,
            "differs",
            field=name,
            recorded=_cut(recorded[name]),
            replayed=_cut(replayed[name]),
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
    """Lists of features that the versions of a protocol ask for, and that it lacks."""
    lists = (
        ("readerFeatures", action.min_reader_version == 3, action.reader_features),
        ("writerFeatures", action.min_writer_version == 7, action.writer_features),
    )
    return {name for name, is_asked_for, features in lists if is_asked_for and features is None}


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
        configuration = _value(action.configuration)
    except (ValueError, RecursionError, ArithmeticError):
        configuration = action.configuration
    return {"configuration": configuration, "removed": action.removed}


def collect_last_actions(actions: Iterable[Any]) -> TableActions:
    """The newest of each kind and key among actions in the order of versions, removed domains among them."""
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
    """The mark of row ids of older texts under the name of its field; nothing where there is none."""
    return {} if mark is None else {"highWaterMark": mark}


def _shown(row: Row) -> str:
    vector = f", vector {row['deletion_vector_id']}" if row["deletion_vector_id"] else ""
    return f"size {row['size']}{vector}"


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode(errors="backslashreplace").decode()  # half of a surrogate pair is no text of a report
    return text if len(text) <= 300 else f"{text[:297]}..."
