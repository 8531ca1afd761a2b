"""Facts of a table after an operation that do not depend on choices that the protocol leaves to the writer.

| left to the writer | instead |
|-|-|
| names, number and order of files; order of rows | rows as a bag |
| numbers of versions: an operation may take several commits, and none if it has no effect | number of the operation |
| values of row ids | the operation after which the id appeared first, and the row that had it |
| row commit versions | the operation that made the version |
| physical names of columns, names of materialized columns, id of the table | that they exist |
| supported features that nothing uses | features that metadata needs |
| row ids and row commit versions of a clone | nothing |
| which statistics exist | bounds and null counts of all files, if both writers have them for all files |
| a row that an operation writes again with the same values: whether it is a change | changes without it |
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa

from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.reference.table_changes import find_needed_features
from deltaspec.candidates.row_comparison import list_rows
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features import clustering
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    PHYSICAL_NAME,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
)
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.suites.write_judging import CHANGE_TYPE, TableReader, list_clustering_columns

Rows: TypeAlias = Counter[tuple[Any, ...]]
KEY = "id"
"""Column that identifies a row in drawn histories."""
_ANY = "any text"
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_FREE_PROPERTIES = (
    ROW_ID_COLUMN,
    ROW_COMMIT_VERSION_COLUMN,
)
_ROW_IDS = ["__row_id", "__row_commit_version"]


class Labels(msgspec.Struct):
    """Names for the versions and row ids of a table that do not depend on the writer."""

    versions: list[int] = msgspec.field(default_factory=list)
    """Newest version after each operation."""
    rows: dict[int, tuple[int, Any]] = msgspec.field(default_factory=dict)
    """Operation after which a row id appeared first, and key of its row."""
    is_clone: bool = False
    """Whether the files are those of another table: the protocol does not say which row ids their rows have."""

    def name_version(self, version: int) -> int:
        """Return the number of the operation that made a version."""
        return next(number for number, last in enumerate(self.versions) if last >= version)

    def name_rows(self, keys: Sequence[Any], ids: pa.Table) -> dict[Any, tuple[Any, Any]]:
        """Return names for the row id and row commit version of each row by its key."""
        found = {}
        pairs = zip(*(ids.column(name).to_pylist() for name in _ROW_IDS), strict=True)
        for key, (row_id, version) in zip(keys, pairs, strict=True):
            name = None if row_id is None else self.rows.setdefault(row_id, (len(self.versions) - 1, key))
            found[key] = (name, None if version is None else self.name_version(version))
        return found


class Statistics(msgspec.Struct, frozen=True):
    """Statistics of all live files together."""

    bounds: Mapping[str, tuple[Any, Any, int | None]]
    """Smallest value, greatest value and number of nulls of each column that has them in every file."""
    is_exact: bool
    """Whether no file has a deletion vector or wide bounds; otherwise there are no bounds to compare."""
    live_rows: int | None
    """Rows of the files that vectors do not delete; None if a file has no number of rows."""


class Facts(msgspec.Struct, frozen=True):
    """Facts of a table after an operation, which must be equal for both writers."""

    values: Mapping[str, Any]
    """Facts that must be equal, by name."""
    rows: Rows
    row_ids: Mapping[Any, tuple[Any, Any]] | None
    """Names of row id and row commit version by the key of the row; None without row tracking."""
    changes: Mapping[str, Rows] | None
    """Changes of the operation, without rows that were deleted and inserted again; None if nothing records them."""
    statistics: Statistics
    free: Mapping[str, Any]
    """Choices that the protocol leaves to the writer, which are counted where they differ."""


def read_facts(table: str, reader: TableReader, labels: Labels, first: int, *, had_changes: bool) -> Facts:
    """Read the facts of a table at its newest version.

    Args:
        table: directory of the table.
        reader: reads the table.
        labels: with the newest version.
        first: first version of the operation.
        had_changes: whether the change data feed was enabled before.

    Raises:
        Refused: the table cannot be read.
    """
    answer = reader.read_state()
    version = labels.versions[-1]
    log = LogReader(table)
    state = log.read_state()
    configuration = state.metadata.configuration
    tracks = configuration.get(ROW_TRACKING) == "true"
    rows = reader.read_rows(version, row_ids=tracks)
    ids = rows.select(_ROW_IDS) if tracks else None
    rows = rows.drop_columns(_ROW_IDS) if tracks else rows
    domains = answer.domains or {}
    schema = json.loads(state.metadata.schema_string)
    records = configuration.get(CHANGE_DATA_FEED) == "true"
    return Facts(
        {
            "schema": _describe_schema(schema),
            "partition columns": list(state.metadata.partition_columns),
            "properties": {
                name: _ANY if name in _FREE_PROPERTIES else text for name, text in sorted(configuration.items())
            },
            "missing features": sorted(find_needed_features(state.schema, configuration) - _list_features(state)),
            "transactions": answer.transactions,
            "domains": {name: _ANY if name.startswith("delta.") else text for name, text in sorted(domains.items())},
            "clustering columns": list_clustering_columns(schema["fields"], domains.get(clustering.DOMAIN)),
            "name and description": (state.metadata.name, state.metadata.description),
            "format": (state.metadata.format.provider, dict(state.metadata.format.options)),
        },
        Counter(list_rows(rows)),
        None if ids is None or labels.is_clone else labels.name_rows(rows.column(KEY).to_pylist(), ids),
        _read_changes(reader, first, version) if records and had_changes else None,
        summarize_statistics(state),
        {"supported features": sorted(_list_features(state)), "files": len(state.snapshot.files)},
    )


def _list_features(state: LoadedTable) -> set[str]:
    return set(get_supported_features(state.protocol)) | set(get_reader_features(state.protocol))


def _describe_schema(value: Any) -> Any:
    """Return a schema without the physical names of its columns."""
    if isinstance(value, dict):
        return {name: _ANY if name == PHYSICAL_NAME else _describe_schema(each) for name, each in value.items()}
    return [_describe_schema(each) for each in value] if isinstance(value, list) else value


def _read_changes(reader: TableReader, first: int, version: int) -> dict[str, Rows]:
    if version < first:
        return {"delete": Counter(), "insert": Counter()}
    found = reader.read_changes(first, version)
    kinds = found.column(CHANGE_TYPE).to_pylist()
    by_kind: dict[str, Rows] = {"delete": Counter(), "insert": Counter()}
    for kind, row in zip(kinds, list_rows(found.drop_columns([CHANGE_TYPE])), strict=True):
        by_kind[kind][row] += 1
    again = by_kind["delete"] & by_kind["insert"]
    return {kind: rows - again for kind, rows in by_kind.items()}


def summarize_statistics(state: LoadedTable) -> Statistics:
    """Return the statistics of all live files together; bounds only if they are tight."""
    adds = list(state.snapshot.files.values())
    parsed = [_decode(add.stats or "{}") for add in adds]
    counts = [None if (number := stats.get("numRecords")) is None else number - _count_deleted(add)
              for add, stats in zip(adds, parsed, strict=True)]  # fmt: skip
    live = None if None in counts else sum(each for each in counts if each is not None)
    exact = all(
        add.deletion_vector is None and stats.get("tightBounds", True) for add, stats in zip(adds, parsed, strict=True)
    )
    return Statistics(_merge_bounds(state.schema, state, parsed) if exact else {}, exact, live)


def _count_deleted(add: Add) -> int:
    return 0 if add.deletion_vector is None else add.deletion_vector.cardinality


def _merge_bounds(
    schema: Struct, state: LoadedTable, parsed: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[Any, Any, int | None]]:
    """Return bounds and null counts of columns that have bounds, or only nulls, in every file."""
    found = {}
    for field_ in schema.fields:
        name = physical_name(field_, state.mapping)
        nulls = [stats.get("nullCount", {}).get(name) for stats in parsed]
        filled = [
            stats for stats, count in zip(parsed, nulls, strict=True) if count is None or count != stats["numRecords"]
        ]
        lows = [stats.get("minValues", {}).get(name) for stats in filled]
        highs = [stats.get("maxValues", {}).get(name) for stats in filled]
        if not parsed or None in nulls or None in lows or None in highs:
            continue
        found[field_.name] = (min(lows, default=None), max(highs, default=None), sum(nulls))
    return found
