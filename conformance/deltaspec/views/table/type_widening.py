"""Type changes along the validated history: changes that schemas record, and changes between schemas."""

from collections.abc import Hashable, Mapping, Set
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import TYPE_CHANGES, TYPE_WIDENING
from deltaspec.protocol.schema.data_types import DataType, Struct, get_type_name, iter_fields
from deltaspec.protocol.schema.schema_string import TypeChange
from deltaspec.protocol.schema.type_changes import (
    FEATURE,
    ICEBERG,
    has_type_change_record,
    is_supported_by_iceberg,
    may_be_recorded,
    read_type_change_record,
)
from deltaspec.views.base import LOCATION_COLUMNS, STATE_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.table.schema_columns import ColumnCache, find_appended_columns, select_special_columns
from deltaspec.views.table.state_rows import StateRows
from deltaspec.views.table.type_locations import ChangedType, TypeLocation, find_gap, list_type_locations

Row = dict[str, Any]
Path = tuple[str, ...]

recorded_type_changes = View(
    name="recorded_type_changes",
    decided_by=STATE_KINDS,
    grain="field of the schema whose metadata has delta.typeChanges, at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "column": Column(pl.String, "logical column path, segments joined by dots"),
        "type_widening_supported": Column(
            pl.Boolean,
            "false if the version introduces the record although neither it nor the preceding version supports "
            "typeWidening; null if unknown, or if no change is recorded",
        ),
        "is_string": Column(pl.Boolean, "whether the value is a string instead of a list"),
        "list_fault": Column(pl.String, "why the value is not a list of objects; null if it is, or for a string"),
        "types_fault": Column(pl.String, "why an entry does not name both types of a change; null if all entries do"),
        "field_path_fault": Column(
            pl.String, "why a fieldPath does not lead to an element, key or value; null if all do"
        ),
        "unlisted_change": Column(pl.String, "type change that the protocol does not list; null if there is none"),
        "chain_fault": Column(
            pl.String, "why the changes do not form a chain that ends at the current type; null if they do"
        ),
    },
)

type_changes = View(
    name="type_changes",
    decided_by=STATE_KINDS,
    grain="column, element, key or value whose type differs from the preceding schema of the validated history, in a "
    "table that supports typeWidening; commits that reuse existing files are left out",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "column": Column(pl.String, "logical column path, with `element`, `key` and `value` for arrays and maps"),
        "type_before": Column(pl.String, "type in the preceding schema"),
        "type_after": Column(pl.String, "type in this schema"),
        "older_files": Column(
            pl.Int64,
            "number of live files of this version, except empty ones, written while the column had type_before",
        ),
        "is_undated": Column(
            pl.Boolean,
            "whether the first checkpoint of the history has type_before, but its files may be older than that type",
        ),
        "is_legal": Column(pl.Boolean, "whether the protocol lists the change, or does not mention one of the types"),
        "is_widening": Column(pl.Boolean, "whether the protocol lists the change"),
        "enabled": Column(pl.Boolean, "whether delta.enableTypeWidening is true before or after the change"),
        "iceberg_supported": Column(pl.Boolean, "whether icebergCompatV1 or icebergCompatV2 is supported"),
        "allowed_by_iceberg": Column(
            pl.Boolean, "whether Iceberg also allows the change; null for a change that the protocol does not list"
        ),
        "is_recorded": Column(
            pl.Boolean,
            "whether the schema records the change; null if the recorded changes do not end at the current type",
        ),
    },
)


class _TrackedLocation(msgspec.Struct, frozen=True):
    """Type location (column, element, key or value) of the newest schema."""

    type_location: TypeLocation
    since: int | None
    """First version in which it has its type; None if before the validated history."""
    known_since: int
    """First version of the validated history that has the column."""
    forgotten: tuple[TypeChange, ...] = ()
    """Changes that an earlier schema recorded and this one does not, although they were not undone."""


class WideningHistory:
    """Column types along the history, updated schema by schema."""

    def __init__(self) -> None:
        self.records = StateRows()
        """Rows of `recorded_type_changes`."""
        self.changes: list[tuple[Row, int]] = []
        """Rows of `type_changes` without `older_files`, each with the first version whose files have the old type."""
        self._seen: list[_TrackedLocation] | None = None
        self._schema: Struct | None = None
        self._has_changes = False
        """Whether a location has a recorded change, or lost one."""
        self._locations = ColumnCache(list_type_locations)
        self._settings: dict[str, str] = {}
        self._mapped = False
        self._supported = False

    def forget(self) -> None:
        """Record that versions are unknown."""
        self._seen = None
        self.records.forget()

    def apply(
        self,
        location: Row,
        schema: Struct | None,
        settings: dict[str, str],
        supported: set[str] | None,
        *,
        mapped: bool,
        unsupported: Set[str] = frozenset(),
    ) -> None:
        """Apply the next metadata; a schema that cannot be parsed discards the earlier state.

        Args:
            location: version, file and line.
            schema: table schema; None if it cannot be parsed.
            settings: table properties.
            supported: features that the table supports; None if unknown.
            mapped: whether column mapping is on.
            unsupported: columns that record changes although the version does not support the feature.
        """
        if schema is None:
            self.forget()
            return
        widening = None if supported is None else has_feature(supported)
        is_mapped, self._mapped = self._mapped, mapped
        if schema is self._schema and self._seen is not None and mapped == is_mapped:
            self._settings, self._supported = settings, bool(widening)
            return  # no type and no record changed
        before, self._schema = self._schema, schema
        rows = _build_record_rows(
            select_special_columns(schema),
            None if widening is None else (frozenset() if self._supported else unsupported),
        )
        self.records.replace(location, ((row["column"], row) for row in rows))
        found: list[tuple[_TrackedLocation, ChangedType]] = []
        columns, appended = self._locations.collect(schema), find_appended_columns(before, schema)
        if self._seen is not None and appended is not None and not self._has_changes:
            new = list(chain.from_iterable(columns[len(schema.fields) - len(appended.fields) :]))
            self._seen += [_TrackedLocation(each, location["version"], location["version"]) for each in new]
            self._has_changes = any(each.changes for each in new)
        else:
            found = self._follow(list(chain.from_iterable(columns)), location, by_id=mapped and is_mapped)
            self._has_changes = any(each.type_location.changes or each.forgotten for each in self._seen or ())
        if widening and supported is not None:
            facts = {
                "enabled": is_property_true(settings, TYPE_WIDENING) or is_property_true(self._settings, TYPE_WIDENING),
                "iceberg_supported": not supported.isdisjoint(ICEBERG),
            }
            for seen, change in found:
                row, first = _build_change_row(seen, change, location["version"])
                place = {name: location[name] for name in LOCATION_COLUMNS}
                self.changes.append(({**place, **row, **facts}, first))
        self._settings, self._supported = settings, bool(widening)

    @property
    def forgotten(self) -> frozenset[tuple[Path, DataType]]:
        """Type locations of the newest schema, each with the type before a recorded change that was lost."""
        if not self._has_changes:
            return frozenset()
        return frozenset(
            ((*each.type_location.column, *each.type_location.field_path), change.before)
            for each in self._seen or ()
            for change in each.forgotten
        )

    @property
    def unrecorded(self) -> dict[tuple[str, str], int]:
        """Column path and type before a widening that a commit did not record -> version of that commit."""
        return {
            (row["column"], row["type_before"]): row["version"]
            for row, _ in self.changes
            if row["is_widening"] and row["is_recorded"] is False
        }

    def _follow(
        self, locations: list[TypeLocation], location: Row, *, by_id: bool
    ) -> list[tuple[_TrackedLocation, ChangedType]]:
        """Move to the locations of a schema. Return the earlier location and the change per new type."""
        version: int = location["version"]
        begins = version == 0 and ".checkpoint." not in location["file"]
        is_first = self._seen is None
        kept = {id(each): each for each in locations if not each.changes}
        unchanged: dict[int, _TrackedLocation] = {}
        known: dict[Hashable, _TrackedLocation] = {}
        for tracked in self._seen or ():
            place = tracked.type_location
            if place is kept.get(id(place)) and not tracked.forgotten:
                unchanged[id(place)] = tracked
            else:
                known[place.key(by_id=by_id)] = tracked
        found, seen = [], []
        for each in locations:
            if (same := unchanged.get(id(each))) is not None:
                seen.append(same)
                continue
            old = known.get(each.key(by_id=by_id))
            if old is None:
                seen.append(_TrackedLocation(each, None if is_first and not begins else version, version))
                continue
            change = ChangedType(old.type_location, each)
            since = version if change.has_another_type else old.since
            seen.append(_TrackedLocation(each, since, old.known_since, _find_lost_records(old, change)))
            found += [(old, change)] if change.has_another_type else []
        self._seen = seen
        return found


def _find_lost_records(seen: _TrackedLocation, change: ChangedType) -> tuple[TypeChange, ...]:
    """Return the changes that earlier schemas recorded for a location and the new schema does not."""
    if change.is_undone:
        return ()
    return tuple(each for each in (*seen.forgotten, *change.lost) if each not in change.after.changes)


def has_feature(supported: set[str]) -> bool:
    """Return whether type widening or a preview of it is among the features."""
    return any(strip_preview_suffix(name) == FEATURE for name in supported)


def _build_record_rows(schema: Struct, unsupported: Set[str] | None) -> list[Row]:
    chain_faults: dict[tuple[str, ...], str] = {}
    for each in list_type_locations(schema):
        fault = find_gap(each)
        if fault is not None:
            chain_faults.setdefault(each.column, fault)
    rows = []
    for path, field in iter_fields(schema):
        if field.metadata.get(TYPE_CHANGES) is None:
            continue
        recorded, faults = read_type_change_record(field)
        messages = {fault.kind: fault.what for fault in reversed(faults)}
        unlisted = [change for change in recorded if not may_be_recorded(change)]
        is_known = unsupported is not None and has_type_change_record(field)
        rows.append(
            {
                "column": ".".join(path),
                "type_widening_supported": ".".join(path) not in (unsupported or ()) if is_known else None,
                "is_string": "text" in messages,
                "list_fault": messages.get("no list", messages.get("no object")),
                "types_fault": messages.get("types"),
                "field_path_fault": messages.get("place"),
                "unlisted_change": _describe_change(unlisted[0].before, unlisted[0].after) if unlisted else None,
                "chain_fault": chain_faults.get(path) if messages.keys() <= {"text"} else None,
            }
        )
    return rows


def _describe_change(before: DataType, after: DataType) -> str:
    return f"{get_type_name(before)} to {get_type_name(after)}"


def _build_change_row(seen: _TrackedLocation, change: ChangedType, version: int) -> tuple[Row, int]:
    """Return the row of a change, and the first version whose files have the type before.

    A column that a restore brings back already had its type: only files written with the other type count. Files of the
    checkpoint that the history starts from may be of any age, but a legal history never widens a type that was once
    wider.
    """
    first = seen.known_since if seen.since is None else seen.since
    is_undated = seen.since is None and not change.is_widening
    if is_undated:
        first += 1
    before, after = change.before, change.after
    row = {
        "column": ".".join((*after.column, *after.field_path)),
        "type_before": get_type_name(before.type),
        "type_after": get_type_name(after.type),
        "is_undated": is_undated,
        "is_legal": change.is_legal,
        "is_widening": change.is_widening,
        "allowed_by_iceberg": is_supported_by_iceberg(before.type, after.type) if change.is_widening else None,
        "is_recorded": None if find_gap(after) else change.is_recorded,
    }
    return row, first


def collect_type_changes(history: WideningHistory, operations: Mapping[int, str | None]) -> list[tuple[Row, int]]:
    """Return rows of `type_changes` without `older_files`, each with the first version whose files have the old type.

    Args:
        history: history after the last version.
        operations: version to commitInfo.operation; commits that reuse existing files are left out.
    """
    return [(row, first) for row, first in history.changes if not reuses_existing_files(operations.get(row["version"]))]


def count_older_files(changes: list[tuple[Row, int]], intervals: pl.DataFrame) -> list[int]:
    """Return the number of live files with the old type for each change.

    A file is as old as the first action of its path: an add that only updates statistics or tags does not rewrite it.

    Args:
        changes: result of `collect_type_changes`.
        intervals: adds and removes of some paths, from `file_replay.build_intervals`.
    """
    added = (pl.col("kind") == "add") & (pl.col("num_records").is_null() | (pl.col("num_records") > 0))
    files = intervals.with_columns(_first=pl.col("version").min().over("path_key")).filter(added)
    counts = []
    for row, first in changes:
        version = row["version"]
        written = (pl.col("_first") >= first) & (pl.col("version") < version)
        stays = pl.col("until").is_null() | (pl.col("until") > version)
        counts.append(files.select((written & stays).sum()).item())
    return counts


def find_undated_changes(changes: list[tuple[Row, int]], intervals: pl.DataFrame) -> set[int]:
    """Return the versions of illegal changes of columns that live files of the base may store with a legal type.

    Args:
        changes: result of `collect_type_changes`.
        intervals: adds and removes of some paths, from `file_replay.build_intervals`.
    """
    is_added = (pl.col("kind") == "add") & (pl.col("num_records").is_null() | (pl.col("num_records") > 0))
    files = intervals.filter(is_added & (pl.col("source") != "commit"))
    ends = files.select(pl.col("until").is_null().any(), pl.col("until").max().alias("last")).row(0)
    return {
        row["version"]
        for row, _ in changes
        if row["is_undated"] and not row["is_legal"] and (ends[0] or (ends[1] or 0) > row["version"])
    }


def find_widening_traces(
    before: Protocol | None, after: Protocol | None, metadata: MetaData | None, schema: Struct | None
) -> list[str] | None:
    """Return the traces of type widening in a version that drops the feature; None if it does not, or if unknown."""
    if before is None or after is None or metadata is None or schema is None:
        return None
    if not (has_known_features(before) and has_known_features(after)):
        return None
    if not has_feature(get_supported_features(before)) or has_feature(get_supported_features(after)):
        return None
    found = [".".join(path) for path, field in iter_fields(schema) if field.metadata.get(TYPE_CHANGES) is not None]
    # a property that is not true has no effect
    return [*found, TYPE_WIDENING] if is_property_true(metadata.configuration, TYPE_WIDENING) else found
