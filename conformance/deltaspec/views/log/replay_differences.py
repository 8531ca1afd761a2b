"""Rows of `replay_differences`: differences between a derived file and replay of the commits.

A derived file is a checkpoint, a log compaction or a version checksum. It is compared in the fields of
`deltaspec.protocol.log.compared_fields.COMPARED_FIELDS`: table actions one by one, file actions in columns.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.actions import WIRE_NAMES, DomainMetadata, MetaData, Protocol, RowIdHighWaterMark, Txn
from deltaspec.protocol.files.partition_values import canonicalize_partition_value
from deltaspec.protocol.files.statistics import LeafColumn
from deltaspec.protocol.json_values import escape_lone_surrogates
from deltaspec.protocol.log.compared_fields import COMPARED_FIELDS, ComparedField, DerivedFileKind, normalize_statistics
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.views.files.file_replay import decode_rare_fields, has_shared_path
from deltaspec.views.files.partition_facts import parse_partition_text
from deltaspec.views.files.typed_copies import is_same_statistics

Row = dict[str, Any]
_KEYS = ("kind", "path_key", "_vector")
_COLUMNS = {
    "deletionVector": "deletion_vector_id",
    "deletionVector.cardinality": "cardinality",
    "size": "size",
    "modificationTime": "modification_time",
    "deletionTimestamp": "deletion_timestamp",
    "dataChange": "data_change",
    "extendedFileMetadata": "extended_file_metadata",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
    "partitionValues": "partition_text",
    "stats": "stats",
}
"""Columns of the compared fields of file actions; the other fields are in `rare_fields`."""
_OF_VECTOR = "deletionVector."
_VECTORS_ON_BOTH_SIDES = pl.all_horizontal(pl.col("deletion_vector_id", "deletion_vector_id_replayed").is_not_null())
"""If only one side has a vector, the finding is the difference of `deletionVector`, not of its fields."""
_EMPTY = {"extendedFileMetadata": False, "partitionValues": ""}
"""Values that equal null."""
_ROWS_PER_SLICE = 100_000
_TEXT_LIMIT = 4_000
"""Characters of a recorded or replayed value that a row has; shorter values would hide where schemas differ."""


class DerivedFile(msgspec.Struct, frozen=True):
    """File whose content must equal replay of the commits up to a version."""

    kind: DerivedFileKind
    file: str
    """Relative to the table root."""
    version: int
    compared_with: str | None = None
    """Checkpoint of the same version that replay starts from, relative to the table root; None for commits."""

    def row(self, kind: str, path: str | None, difference: str, **more: Any) -> Row:
        """Build a row of `replay_differences`."""
        location = {"derived_file_kind": self.kind, "file": self.file, "version": self.version}
        location["compared_with"] = self.compared_with
        return {**location, "kind": kind, "path": path, "difference": difference, **more}


class TableActions(msgspec.Struct, frozen=True):
    """Actions of a table state or derived file other than file actions; None if they are not recorded."""

    protocol: Protocol | None = None
    metadata: MetaData | None = None
    transactions: Mapping[str, Txn] | None = None
    domains: Mapping[str, DomainMetadata] | None = None
    row_id_high_water_marks: Mapping[None, RowIdHighWaterMark] | None = None
    """Only in r1 and r2: at most one action."""
    transactions_may_expire: bool = False
    """A transaction that the other side has may be missing because it expired."""
    is_complete: bool = True
    """Replay started at version 0, so that it knows every action; else a checkpoint may have left out expired ones."""

    @property
    def by_kind(self) -> dict[str, Mapping[Any, Any] | None]:
        """Actions of each kind by their key, which is None for kinds that occur at most once."""
        return {
            "protocol": None if self.protocol is None else {None: self.protocol},
            "metaData": None if self.metadata is None else {None: self.metadata},
            "txn": self.transactions,
            "domainMetadata": self.domains,
            "rowIdHighWaterMark": self.row_id_high_water_marks,
        }


def compare_files(
    derived_file: DerivedFile,
    recorded: pl.DataFrame,
    replayed: pl.DataFrame,
    types: Mapping[str, DataType] | None,
    *,
    tombstones_complete: bool,
    retention_cutoff_ms: int | None = None,
    revision: Revision = Revision.CURRENT,
    columns: Sequence[LeafColumn] = (),
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
        columns: columns that may have statistics, to compare statistics that come from typed columns.
    """
    left, right = _with_key(recorded, revision), _with_key(replayed, revision)
    joined = left.join(right, on=_KEYS, how="full", suffix="_replayed", coalesce=True)
    extra = joined.filter(pl.col("_present_replayed").is_null())
    missing = joined.filter(pl.col("_present").is_null())
    live = _live_logical_files(right) if len(extra) else set()
    for part in extra.iter_slices(_ROWS_PER_SLICE):
        rows = []
        for each in part.iter_rows(named=True):
            is_live = (each["path_key"], each["deletion_vector_id"]) in live
            row = derived_file.row(
                each["kind"],
                each["path"] or each["path_key"],
                "extra",
                recorded=_format_file(each),
                replayed="a live file" if is_live else None,
                may_have_expired=each["kind"] == "remove"
                and not tombstones_complete
                and not is_live
                and not _is_retained(each["deletion_timestamp"], retention_cutoff_ms),
            )
            rows.append(row)
        yield rows
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
    for kind in ("add", "remove"):
        pairs = paired.filter(pl.col("kind") == kind)
        yield from _compare_fields(derived_file, kind, pairs, types, columns, revision)


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
    if not several.any():
        return rows
    many = rows.filter(several).sort("version", "file", "line")
    return pl.concat([rows.filter(~several), many.unique(subset=_KEYS, keep="first", maintain_order=True)])


def _compare_fields(
    derived_file: DerivedFile,
    kind: str,
    paired: pl.DataFrame,
    types: Mapping[str, DataType] | None,
    columns: Sequence[LeafColumn],
    revision: Revision,
) -> Iterator[list[Row]]:
    """Yield the fields in which actions of one kind differ from replay, whose values are in `_replayed` columns."""
    if paired.is_empty():
        return
    fields = COMPARED_FIELDS[kind]
    rare = {name: compared for name, compared in fields.items() if name not in _COLUMNS}
    in_columns = {name: compared for name, compared in fields.items() if name in _COLUMNS}
    differs = paired.select(
        _is_unequal(name, compared, derived_file.kind).alias(name) for name, compared in in_columns.items()
    )
    for name, compared in in_columns.items():
        if not differs[name].any():
            continue
        unequal = paired.filter(differs[name])
        for part in unequal.iter_slices(_ROWS_PER_SLICE):
            different = _drop_copies_of_statistics(part, columns, revision) if name == "stats" else part
            yield _column_differences(derived_file, different, name, compared, types)
    with_rare = paired.filter(pl.col("rare_fields").ne_missing(pl.col("rare_fields_replayed")))
    for part in with_rare.iter_slices(_ROWS_PER_SLICE):
        yield _rare_differences(derived_file, part, rare)


def _is_unequal(name: str, compared: ComparedField, file_kind: DerivedFileKind) -> pl.Expr:
    """Build whether a field differs. Values that a derived file may have regardless of replay do not differ."""
    recorded, replayed = _value(name), _value(name, "_replayed")
    unequal = recorded.ne_missing(replayed)
    if file_kind in compared.replacements:
        unequal &= recorded.ne_missing(pl.lit(compared.replacements[file_kind]))
    if "checkpoint" in compared.replacements:
        is_known = replayed.ne_missing(pl.lit(compared.replacements["checkpoint"]))
        unequal &= is_known | (pl.col("source_replayed") == "commit")
    if name.startswith(_OF_VECTOR):
        unequal &= _VECTORS_ON_BOTH_SIDES
    return unequal


def _value(name: str, suffix: str = "") -> pl.Expr:
    column = pl.col(f"{_COLUMNS[name]}{suffix}")
    return column.fill_null(_EMPTY[name]) if name in _EMPTY else column


def _column_differences(
    derived_file: DerivedFile,
    unequal: pl.DataFrame,
    name: str,
    compared: ComparedField,
    types: Mapping[str, DataType] | None,
) -> list[Row]:
    rows, column = [], _COLUMNS[name]
    for each in unequal.iter_rows(named=True):
        recorded, replayed = each[column], each[f"{column}_replayed"]
        ours, theirs = recorded, replayed
        if name == "partitionValues":
            ours, theirs = _typed(recorded or "", types), _typed(replayed or "", types)
        elif name == "stats":
            ours, theirs = normalize_statistics(recorded), normalize_statistics(replayed)
        if _is_difference(derived_file, compared, each, ours, theirs):
            rows.append(_field_row(derived_file, each, name, recorded, replayed))
    return rows


def _rare_differences(
    derived_file: DerivedFile, unequal: pl.DataFrame, fields: Mapping[str, ComparedField]
) -> list[Row]:
    """Compare the fields that few actions have."""
    rows = []
    for each in unequal.iter_rows(named=True):
        ours, theirs = decode_rare_fields(each["rare_fields"]), decode_rare_fields(each["rare_fields_replayed"])
        lacks_a_vector = each["deletion_vector_id"] is None or each["deletion_vector_id_replayed"] is None
        for name, compared in fields.items():
            if lacks_a_vector and name.startswith(_OF_VECTOR):
                continue
            if _is_difference(derived_file, compared, each, ours.get(name), theirs.get(name)):
                rows.append(_field_row(derived_file, each, name, ours.get(name), theirs.get(name)))
    return rows


def _is_difference(derived_file: DerivedFile, compared: ComparedField, each: Row, ours: Any, theirs: Any) -> bool:
    if ours == theirs or compared.is_replaced(derived_file.kind, ours):
        return False
    return each["source_replayed"] == "commit" or not compared.is_replaced("checkpoint", theirs)


def _field_row(derived_file: DerivedFile, each: Row, name: str, recorded: Any, replayed: Any) -> Row:
    path = each["path"] or each["path_key"]
    values: Row = {"recorded": _shorten(recorded), "replayed": _shorten(replayed)}
    if each["kind"] == "remove":
        values["is_extended"] = _is_extended(each)
    return derived_file.row(each["kind"], path, "differs", field=name, may_have_expired=False, **values)


def _is_extended(tombstone: Row) -> bool:
    """Return whether a tombstone has partition values and a size; 0 is a size only with extendedFileMetadata."""
    has_size = bool(tombstone["size"] or (tombstone["size"] == 0 and tombstone["extended_file_metadata"]))
    return has_size and tombstone["partition_text"] is not None


def _drop_copies_of_statistics(
    unequal: pl.DataFrame, columns: Sequence[LeafColumn], revision: Revision
) -> pl.DataFrame:
    """Leave out the rows with equal statistics where one side comes from typed columns."""
    is_typed = (pl.col("stats_are_typed") | pl.col("stats_are_typed_replayed")).fill_null(False)
    is_typed &= pl.col("stats").is_not_null() & pl.col("stats_replayed").is_not_null()
    typed = unequal.select("stats", "stats_replayed", is_typed=is_typed)
    if not typed["is_typed"].any():
        return unequal
    differs = [
        not (is_typed and is_same_statistics(recorded, replayed, columns, revision))
        for recorded, replayed, is_typed in typed.iter_rows()
    ]
    return unequal.filter(pl.Series(differs, dtype=pl.Boolean))


def _typed(text: str, types: Mapping[str, DataType] | None) -> dict[str, str | None]:
    return {
        key: canonicalize_partition_value(value, types[key]) if types and key in types else value
        for key, value in parse_partition_text(text).items()
    }


def compare_table_actions(
    derived_file: DerivedFile,
    recorded: TableActions,
    replayed: TableActions,
    *,
    retention_cutoff_ms: int | None = None,
) -> list[Row]:
    """Return differences of protocol, metadata, transactions and domains, as far as both sides record them.

    `retention_cutoff_ms` is the oldest `lastUpdated` of an unexpired transaction; None if unknown.
    """
    rows: list[Row] = []
    theirs = replayed.by_kind
    for kind, actions in recorded.by_kind.items():
        if actions is not None and theirs[kind] is not None:
            rows += _compare_actions(derived_file, kind, actions, theirs[kind])
    for row in rows:
        if row["kind"] == "txn" and row["difference"] != "differs":
            is_missing = row["difference"] == "missing"
            owner = (replayed if is_missing else recorded).transactions or {}
            row["may_have_expired"] = (
                replayed.transactions_may_expire
                and (is_missing or not replayed.is_complete)
                and not _is_retained(owner[row["path"]].last_updated, retention_cutoff_ms)
            )
    return rows


def _compare_actions(derived_file: DerivedFile, kind: str, recorded: Mapping[Any, Any], replayed: Any) -> list[Row]:
    rows = []
    for key in recorded.keys() | replayed.keys():
        name = None if key is None else str(key)
        if key in recorded and key in replayed:
            for each in _compare_actions_of_key(derived_file, kind, recorded[key], replayed[key]):
                rows.append(derived_file.row(kind, name, "differs", may_have_expired=False, **each))
        else:
            difference = "extra" if key in recorded else "missing"
            rows.append(derived_file.row(kind, name, difference, may_have_expired=False))
    return sorted(rows, key=lambda row: (row["path"] or "", row["difference"], row.get("field") or ""))


def _compare_actions_of_key(derived_file: DerivedFile, kind: str, recorded: Any, replayed: Any) -> Iterator[Row]:
    """Yield the field and both values of each difference between two actions."""
    is_checkpoint = derived_file.kind == "checkpoint"
    # another rule reports a required list that is null
    ignored = _missing_lists(recorded) if kind == "protocol" and is_checkpoint else set()
    for name, field in COMPARED_FIELDS[kind].items():
        if name in ignored:
            continue
        ours, theirs = field.read(recorded, {}), field.read(replayed, {})
        if ours != theirs and not field.is_replaced(derived_file.kind, ours):
            yield {"field": name, "recorded": _shorten(ours), "replayed": _shorten(theirs)}


def _missing_lists(action: Protocol) -> set[str]:
    """Return the feature lists that the versions of a protocol require and that are null."""
    lists = (
        ("readerFeatures", action.min_reader_version == 3, action.reader_features),
        ("writerFeatures", action.min_writer_version == 7, action.writer_features),
    )
    return {name for name, is_required, features in lists if is_required and features is None}


def collect_last_actions(actions: Iterable[Any]) -> TableActions:
    """Return the newest action of each kind and key, including removed domains; actions are in version order."""
    protocol, metadata = None, None
    transactions: dict[str, Txn] = {}
    domains: dict[str, DomainMetadata] = {}
    marks: dict[None, RowIdHighWaterMark] = {}
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


def find_repeated_actions(derived_file: DerivedFile, actions: Iterable[Any]) -> list[Row]:
    """Return a row for every action that a derived file has more than once, which reconciliation never leaves."""
    counts: Counter[tuple[str, str | None]] = Counter()
    for action in actions:
        match action:
            case Protocol() | MetaData():
                counts[WIRE_NAMES[type(action)], None] += 1
            case Txn():
                counts["txn", action.app_id] += 1
            case DomainMetadata():
                counts["domainMetadata", action.domain] += 1
    return [
        derived_file.row(kind, key, "repeated", recorded=f"{count} actions", may_have_expired=False)
        for (kind, key), count in counts.items()
        if count > 1
    ]


def row_id_high_water_marks(mark: RowIdHighWaterMark | None) -> dict[None, RowIdHighWaterMark]:
    """Return the high-water mark action of r1 and r2, or an empty dict."""
    return {} if mark is None else {None: mark}


def _format_file(row: Row) -> str:
    vector = f", vector {row['deletion_vector_id']}" if row["deletion_vector_id"] else ""
    return f"size {row['size']}{vector}"


def _shorten(value: Any) -> str | None:
    """Render a value for a report; null if there is none."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    text = escape_lone_surrogates(text)
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}… ({len(text):,} characters)"
