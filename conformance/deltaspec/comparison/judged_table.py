"""A table at one version, as the validating backends read its log: state, live files, and traits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec
import polars as pl

from deltaspec.errors import TableUnreadable
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_reader_features
from deltaspec.protocol.features.table_features import MAX_READER_VERSION, get_known_features
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.files.paths import is_absolute
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, DELETION_VECTORS, TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Struct, get_type_name, iter_fields
from deltaspec.validation.describe.table_description import replay_table
from deltaspec.validation.instants import AtArgument
from deltaspec.validation.options import Options
from deltaspec.views.data.data_files import DataFiles
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.factory import is_local, is_uri
from deltaspec.wire.storage.interface import Store, decode_file_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings


class JudgedTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table at one version."""

    uri: str
    """For display."""
    location: str
    """For engines: an absolute path, or the URI of an object store."""
    store: Store
    version: int
    protocol: Protocol
    metadata: MetaData
    schema: Struct
    mapping: str | None
    """Column mapping mode: `id`, `name` or None."""
    files: DataFiles
    bytes: int
    access: DataAccess
    vectors: DeletionVectorReader

    @property
    def reader_features(self) -> list[str]:
        """Features that a reader must support."""
        return sorted(get_reader_features(self.protocol))

    @property
    def partition_columns(self) -> list[str]:
        """Logical names."""
        return self.metadata.partition_columns

    def list_traits(self) -> tuple[str, ...]:
        """Return what the table uses that engines may read wrongly, in words that known findings refer to."""
        return tuple(dict.fromkeys([*self._list_protocol_traits(), *self._list_file_traits(), *_list_types(self)]))

    def _list_protocol_traits(self) -> Iterator[str]:
        for name in self.reader_features:
            yield f"feature {name}"
        if self.mapping is not None:
            yield f"column mapping {self.mapping}"
        elif COLUMN_MAPPING_MODE in self.metadata.configuration:
            yield "column mapping off"
        if not is_property_true(self.metadata.configuration, DELETION_VECTORS):
            yield "property of deletion vectors off"
        if self.partition_columns:
            yield "partitioned"

    def _list_file_traits(self) -> Iterator[str]:
        rows = self.files.rows
        if rows["dv_storage_type"].null_count() < len(rows):
            yield "deletion vectors"
        paths = rows.select(pl.coalesce("path", "path_key"))["path"]
        if any(map(is_absolute, paths)):
            yield "absolute paths"
        if paths.str.contains("%", literal=True).any():
            yield "encoded paths"
        if paths.str.contains(r"%[01][0-9A-Fa-f]|[\x00-\x1f]").any():
            yield "control characters in paths"


def open_judged_table(
    uri: str,
    *,
    at: AtArgument = None,
    storage: StorageSettings = ENVIRONMENT,
    allow_outside: bool = False,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> JudgedTable:
    """Read the log of a table.

    Raises:
        InvalidUsage: the table has no such version.
        TableUnreadable: there is no table, its log cannot be replayed, or deltaspec does not know a feature of it.
    """
    options = Options.create(level="rows", allow_outside=allow_outside)
    replayed = replay_table(uri, at, progress, storage, options=options)
    facts, state = replayed.facts, replayed.facts.state
    if state.protocol is None or state.metadata is None or state.schema is None:
        reason = str(state.schema_fault or "its protocol or metadata cannot be decoded")
        raise TableUnreadable(f"{facts.store.uri}: {reason}; run `deltaspec validate` to see where")
    if unknown := _find_unknown_needs(state.protocol):
        raise TableUnreadable(f"{facts.store.uri}: deltaspec does not know {unknown}, so that it cannot read the rows")
    access = DataAccess(facts.store, allow_outside=allow_outside)
    return JudgedTable(
        uri=facts.store.uri,
        location=os.path.abspath(decode_file_uri(uri) if is_uri(uri) else uri) if is_local(uri) else uri,
        store=facts.store,
        version=facts.plan.version,
        protocol=state.protocol,
        metadata=state.metadata,
        schema=state.schema,
        mapping=state.mapping,
        files=DataFiles(replayed.live),
        bytes=int(replayed.live["size"].sum() or 0),
        access=access,
        vectors=DeletionVectorReader(access),
    )


def _find_unknown_needs(protocol: Protocol) -> str | None:
    if protocol.min_reader_version > MAX_READER_VERSION:
        return f"reader version {protocol.min_reader_version}"
    unknown = sorted(get_reader_features(protocol) - set(get_known_features(Revision.CURRENT)))
    return f"the feature {unknown[0]}" if unknown else None


def _list_types(table: JudgedTable) -> Iterator[str]:
    for field in table.schema.fields:
        if field.name in table.partition_columns:
            yield f"partition column of type {get_type_name(field.type)}"
        yield from _list_nested_types(field.type)
    if any(TYPE_CHANGES in field.metadata for _, field in iter_fields(table.schema)):
        yield "widened types"


def iter_types(kind: DataType) -> Iterator[DataType]:
    """Yield a type and all types inside of it."""
    yield kind
    match kind:
        case Struct(fields):
            inner = [field.type for field in fields]
        case Array(element):
            inner = [element]
        case Map(key, value):
            inner = [key, value]
        case _:
            inner = []
    for each in inner:
        yield from iter_types(each)


def _list_nested_types(kind: DataType) -> Iterator[str]:
    """Yield the types in a column, such as `date in map`."""
    yield get_type_name(kind)
    for outer in iter_types(kind):
        if isinstance(outer, Struct | Array | Map):
            inner = list(iter_types(outer))[1:]
            yield from (f"{get_type_name(each)} in {_NAMES.get(type(outer), 'struct')}" for each in inner)


_NAMES = {Array: "list", Map: "map"}
