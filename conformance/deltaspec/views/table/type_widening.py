"""Types of columns along the judged history: what schemas record of their changes, and what changed between them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.commit import type_widening
from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.model.commit.type_widening import (
    ChangedType,
    TypeLocation,
    find_gap,
    has_type_change_record,
    is_supported_by_iceberg,
    list_type_locations,
    read_type_change_record,
)
from deltaspec.model.features.protocol import get_supported_features, has_known_features
from deltaspec.model.features.table_features import strip_preview_suffix
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.schema.data_types import DataType, Struct, get_type_name, iter_fields
from deltaspec.model.schema.schema_string import TYPE_CHANGES, TypeChange
from deltaspec.views.base import LOCATION_COLUMNS, Column, View

Row = dict[str, Any]
Path = tuple[str, ...]

recorded_type_changes = View(
    name="recorded_type_changes",
    grain="field of a schema of the judged history whose metadata has delta.typeChanges",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "column": Column(pl.String, "logical field path, segments joined by dots"),
        "type_widening_supported": Column(
            pl.Boolean,
            "the table supports typeWidening, or a preview of it, or did so in the version before; null where that is "
            "not known, or no change is recorded",
        ),
        "is_string": Column(pl.Boolean, "the value is a text"),
        "list_fault": Column(pl.String, "why the value is no list of objects; null for a text"),
        "types_fault": Column(pl.String, "why an entry does not name the types before and after"),
        "field_path_fault": Column(pl.String, "why a fieldPath does not lead to a type that may be widened"),
        "unlisted_change": Column(pl.String, "a change of types that the text does not list"),
        "chain_fault": Column(pl.String, "where changes do not lead from one to the next, and at last to the type"),
    },
)

type_changes = View(
    name="type_changes",
    grain="column, element, key or value that has another type in a schema of the judged history than in the one "
    "before, in a table that supports typeWidening, unless the commit takes over files of another state or table",
    key=(),
    columns={
        **LOCATION_COLUMNS,
        "column": Column(pl.String, "logical field path, with element, key and value of arrays and maps"),
        "type_before": Column(pl.String, "type name in the schema before"),
        "type_after": Column(pl.String, "type name in this schema"),
        "older_files": Column(
            pl.Int64, "live files of this version from when the column had the type before; not those without rows"
        ),
        "is_legal": Column(pl.Boolean, "the text lists the change, or is silent of one of the types"),
        "is_widening": Column(pl.Boolean, "the text lists the change"),
        "enabled": Column(pl.Boolean, "delta.enableTypeWidening is true before or after"),
        "iceberg_supported": Column(pl.Boolean, "icebergCompatV1 or icebergCompatV2 is supported"),
        "allowed_by_iceberg": Column(pl.Boolean, "Iceberg knows the change as well; null for one that is not listed"),
        "is_recorded": Column(
            pl.Boolean, "the schema records it; null where what it records does not lead to the type"
        ),
    },
)


@dataclass(frozen=True)
class _Seen:
    """A place of the newest schema."""

    place: TypeLocation
    since: int | None
    """First version in which it has its type; None: from before the judged history."""
    known_since: int
    """First version of the judged history that has the column."""
    forgotten: tuple[TypeChange, ...] = ()
    """Changes that a schema recorded and this one does not, though its type is not one from before them."""


class WideningHistory:
    """What the versions so far say of types, and what one more schema does to them."""

    def __init__(self) -> None:
        self.records: list[Row] = []
        """Rows of `recorded_type_changes`."""
        self.changes: list[tuple[Row, int]] = []
        """Rows of `type_changes` without `older_files`, and the first version that wrote such."""
        self._seen: list[_Seen] | None = None
        self._settings: dict[str, str] = {}
        self._mapped = False
        self._supported = False

    def forget(self) -> None:
        """Note that versions are unknown."""
        self._seen = None

    def take(
        self,
        place: Row,
        schema: Struct | None,
        settings: dict[str, str],
        supported: set[str] | None,
        *,
        mapped: bool,
    ) -> None:
        """Step to the next metadata; one whose schema cannot be read makes all before it forgotten.

        Args:
            place: version, file and line.
            schema: of the table.
            settings: its configuration.
            supported: features that it supports; None where that is not known.
            mapped: column mapping is in force.
        """
        if schema is None:
            self.forget()
            return
        widening = None if supported is None else has_feature(supported)
        self.records += _records(place, schema, supported=self._supported or widening)
        found = self._follow(list_type_locations(schema), place, by_id=mapped and self._mapped)
        if widening and supported is not None:
            facts = {
                "enabled": is_property_true(settings, type_widening.ENABLED)
                or is_property_true(self._settings, type_widening.ENABLED),
                "iceberg_supported": not supported.isdisjoint(type_widening.ICEBERG),
            }
            for seen, change in found:
                row, first = _change(seen, change, place["version"])
                self.changes.append(({**place, **row, **facts}, first))
        self._settings, self._mapped, self._supported = settings, mapped, bool(widening)

    @property
    def forgotten(self) -> frozenset[tuple[Path, DataType]]:
        """Columns, elements, keys and values of the newest schema, and types before changes that are forgotten."""
        return frozenset(
            ((*each.place.column, *each.place.field_path), change.before)
            for each in self._seen or ()
            for change in each.forgotten
        )

    def _follow(self, now: list[TypeLocation], place: Row, *, by_id: bool) -> list[tuple[_Seen, ChangedType]]:
        """Take the places of a schema; gives those that are in the one before, with what changed, if something did."""
        version: int = place["version"]
        begins = version == 0 and ".checkpoint." not in place["file"]
        is_first = self._seen is None
        known: dict[Hashable, _Seen] = {each.place.key(by_id=by_id): each for each in self._seen or ()}
        found, seen = [], []
        for each in now:
            old = known.get(each.key(by_id=by_id))
            if old is None:
                seen.append(_Seen(each, None if is_first and not begins else version, version))
                continue
            change = ChangedType(old.place, each)
            since = version if change.has_another_type else old.since
            seen.append(_Seen(each, since, old.known_since, _forgotten(old, change)))
            found += [(old, change)] if change.has_another_type else []
        self._seen = seen
        return found


def _forgotten(seen: _Seen, change: ChangedType) -> tuple[TypeChange, ...]:
    """What the schemas so far recorded of a place and the one after the change does not."""
    if change.is_undone:
        return ()
    return tuple(each for each in (*seen.forgotten, *change.lost) if each not in change.after.changes)


def has_feature(supported: set[str]) -> bool:
    """Whether type widening, or a preview of it, is among features."""
    return any(strip_preview_suffix(name) == type_widening.FEATURE for name in supported)


def _records(place: Row, schema: Struct, *, supported: bool | None) -> list[Row]:
    gaps: dict[tuple[str, ...], str] = {}
    for each in list_type_locations(schema):
        missing = find_gap(each)
        if missing is not None:
            gaps.setdefault(each.column, missing)
    rows = []
    for path, field in iter_fields(schema):
        if field.metadata.get(TYPE_CHANGES) is None:
            continue
        recorded, faults = read_type_change_record(field)
        what = {fault.kind: fault.what for fault in reversed(faults)}
        unlisted = [change for change in recorded if not type_widening.may_be_recorded(change)]
        rows.append(
            {
                **place,
                "column": ".".join(path),
                "type_widening_supported": supported if has_type_change_record(field) else None,
                "is_string": "text" in what,
                "list_fault": what.get("no list", what.get("no object")),
                "types_fault": what.get("types"),
                "field_path_fault": what.get("place"),
                "unlisted_change": _words(unlisted[0].before, unlisted[0].after) if unlisted else None,
                "chain_fault": gaps.get(path) if not faults else None,
            }
        )
    return rows


def _words(before: DataType, after: DataType) -> str:
    return f"{get_type_name(before)} to {get_type_name(after)}"


def _change(seen: _Seen, change: ChangedType, version: int) -> tuple[Row, int]:
    """The row of a change, and the first version whose files have the type before.

    A column that a restored version brings back had its type before: a file from then is none of those that stay from
    when it had the other one. Files of a checkpoint that the history begins with may be of any age, but no legal
    history makes a type wider that was wider once.
    """
    first = seen.known_since if seen.since is None else seen.since
    if seen.since is None and not change.is_widening:
        first += 1
    before, after = change.before, change.after
    row = {
        "column": ".".join((*after.column, *after.field_path)),
        "type_before": get_type_name(before.type),
        "type_after": get_type_name(after.type),
        "is_legal": change.is_legal,
        "is_widening": change.is_widening,
        "allowed_by_iceberg": is_supported_by_iceberg(before.type, after.type) if change.is_widening else None,
        "is_recorded": None if find_gap(after) else change.is_recorded,
    }
    return row, first


def collect_type_changes(history: WideningHistory, operations: Mapping[int, str | None]) -> list[tuple[Row, int]]:
    """Rows of `type_changes` without `older_files`, each with the first version whose files have the type before.

    Args:
        history: after the last version.
        operations: what each commit says it does; one that takes over files of another state or table is left out.
    """
    return [(row, first) for row, first in history.changes if not reuses_existing_files(operations.get(row["version"]))]


def count_older_files(changes: list[tuple[Row, int]], intervals: pl.DataFrame) -> list[int]:
    """Of each change the live files of its version from when the column had the type before.

    A file is as old as the first action that speaks of its path: one that is described anew, with statistics or tags,
    holds what it held.

    Args:
        changes: as `collect_type_changes` gives them.
        spanned: adds and removes of some paths, as `file_replay.spans` gives them.
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


def find_widening_traces(
    before: Protocol | None, after: Protocol | None, metadata: MetaData | None, schema: Struct | None
) -> list[str] | None:
    """What is left of type widening in the version that drops the feature; None where none does, or it is not known."""
    if before is None or after is None or metadata is None or schema is None:
        return None
    if not (has_known_features(before) and has_known_features(after)):
        return None
    if not type_widening.is_dropped(get_supported_features(before), get_supported_features(after)):
        return None
    return type_widening.find_traces(schema, metadata.configuration)
