"""Tables to read, with the answers that a correct reader gives."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Primitive, Struct, get_type_name, iter_fields
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.values.arrow_values import arrow_type

CHANGE_TYPE = "_change_type"
_VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])

Row = dict[str, Any]
"""Plain values by logical column name."""


class ExpectedVersion(msgspec.Struct, frozen=True, dict=True):
    """Expected answers of a reader for one version."""

    version: int
    timestamp_ms: int
    """Timestamp for time travel: the in-commit timestamp, or the modification time of the commit file."""
    schema: Struct
    """Logical schema."""
    partition_columns: tuple[str, ...]
    plain_rows: Sequence[Row]
    """Rows in no order, as plain values of `arrow_values`."""
    row_ids: list[int] | None
    """Stable id of each row, in the order of `rows`; None if row tracking is not enabled."""
    row_commit_versions: list[int] | None
    plain_changes: Sequence[tuple[str, Row]] | None
    """Change type and row of each change of this version; None if the change data feed is not enabled."""
    state: WrittenState
    """Raw protocol, metadata, live adds, transactions and domains."""
    has_change_files: bool = False
    """Whether the changes come from change data files; otherwise the adds and removes imply them."""

    @cached_property
    def rows(self) -> pa.Table:
        """Rows with the Arrow types of `arrow_image`."""
        return _build_table(self.schema, self.plain_rows)

    @cached_property
    def changes(self) -> pa.Table | None:
        """Changed rows with the column `_change_type`; None if the change data feed is not enabled."""
        if self.plain_changes is None:
            return None
        kinds = pa.array([kind for kind, _ in self.plain_changes], pa.string())
        return _build_table(self.schema, [row for _, row in self.plain_changes]).append_column(CHANGE_TYPE, kinds)


class ReadableTable(msgspec.Struct, frozen=True, dict=True, eq=False):
    """A valid table with the expected result of reading each version. Tables are compared by identity."""

    files: TableFiles
    versions: tuple[ExpectedVersion, ...]
    """Versions that can be read, oldest first."""
    history: tuple[str, ...]
    """Operations on the table, one line each."""
    choices: tuple[int, ...] = ()
    """Choices that produced the table, for `RecordedChoices`."""
    observe: Callable[[], frozenset[str]] = frozenset
    """Computes `dimensions`."""
    catalog: CatalogAnswer | None = None
    """What the catalog knows that manages the table; None if the path is enough to read it."""

    @cached_property
    def dimensions(self) -> frozenset[str]:
        """Names of `dimensions` that a drawn table exercises, computed on first use."""
        return self.observe()

    @cached_property
    def features(self) -> frozenset[str]:
        """Reader features in the protocols of all versions, listed or implied by the reader version."""
        protocols = [each.state.protocol for each in self.versions]
        listed = {name for protocol in protocols for name in protocol.get("readerFeatures", ())}
        implied = any(protocol["minReaderVersion"] == 2 for protocol in protocols)
        return frozenset(listed | ({"columnMapping"} if implied else set()))

    @cached_property
    def types(self) -> frozenset[str]:
        """Names of the types in the schemas of all versions; `decimal` without precision and scale."""
        return frozenset(name for each in self.versions for name in list_type_names(each.schema))


def list_type_names(schema: Struct) -> set[str]:
    """Return the names of all types in a schema, at every depth; `decimal` without precision and scale."""
    return {get_type_name(kind).partition("(")[0] for kind in _iter_types(schema)} - {"struct"} | {
        "struct" for _, each in iter_fields(schema) if isinstance(each.type, Struct)
    }


def _iter_types(data_type: DataType) -> Any:
    yield data_type
    match data_type:
        case Struct(fields):
            for each in fields:
                yield from _iter_types(each.type)
        case Array(element):
            yield from _iter_types(element)
        case Map(key, value):
            yield from _iter_types(key)
            yield from _iter_types(value)


def arrow_image(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of expected values; everything is nullable except map keys."""
    match data_type:
        case Primitive("variant"):
            return _VARIANT
        case Struct(fields):
            return pa.struct([(each.name, arrow_image(each.type)) for each in fields])
        case Array(element):
            return pa.list_(pa.field("element", arrow_image(element)))
        case Map(key, value):
            return pa.map_(arrow_image(key), arrow_image(value))
    return arrow_type(data_type)


def _build_table(schema: Struct, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = [each.name for each in schema.fields]
    arrays = [pa.array([row[each.name] for row in rows], arrow_image(each.type)) for each in schema.fields]
    return pa.Table.from_arrays(arrays, names=names)
