"""Strategies for the first version of a table with data: protocol, features, schema and properties."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.schema.data_types import Struct, iter_leaf_types
from deltaspec_generators.logs.state import Body
from deltaspec_generators.table_files import TABLE_ID
from deltaspec_generators.tables.arrow_values import PRIMITIVES
from deltaspec_generators.tables.schemas import ColumnIdSequence, assign_column_ids, schemas
from deltaspec_generators.tables.stored_files import ROW_ID, ROW_VERSION

READER_FEATURES = ("columnMapping", "deletionVectors", "typeWidening", "timestampNtz", "variantType")
WRITER_FEATURES = ("rowTracking", "changeDataFeed")
FEATURES = READER_FEATURES + WRITER_FEATURES
"""Features that a drawn table with data may support."""
NAMES = (*PRIMITIVES, "void")
_FEATURE_OF_TYPE = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
_PROPERTIES = {
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "changeDataFeed": {"delta.enableChangeDataFeed": "true"},
    "rowTracking": {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": ROW_ID,
        "delta.rowTracking.materializedRowCommitVersionColumnName": ROW_VERSION,
    },
}


@dataclass(frozen=True)
class DataTableSpec:
    """Protocol, schema and properties of the first version of a table."""

    protocol: Body
    features: frozenset[str]
    schema: Struct
    partition_columns: tuple[str, ...]
    """Logical names of the partition columns."""
    configuration: dict[str, str]
    metadata: Body
    """Other fields of the `metaData` action."""
    last_id: int
    """Highest column id; 0 without column mapping."""
    nested_ids: bool
    """Whether elements, keys and values have ids in addition to columns."""


@st.composite
def data_table_specs(
    draw: st.DrawFn,
    *,
    features: Collection[str],
    required: Collection[str],
    names: Sequence[str],
    depth: int,
    partitioned: bool,
) -> DataTableSpec:
    """Draw first versions; arguments as in `data_tables`."""
    features = {*features, *required}
    allowed_names = [name for name in names if _FEATURE_OF_TYPE.get(name, name) in (name, *features)]
    schema, partition = draw(schemas(names=allowed_names, depth=depth, partitioned=partitioned))
    needed = {_FEATURE_OF_TYPE[name] for name in map(_type_name, iter_leaf_types(schema)) if name in _FEATURE_OF_TYPE}
    optional = [name for name in FEATURES if name in features and name not in _FEATURE_OF_TYPE.values()]
    chosen = (
        needed
        | set(required)
        | set(draw(st.lists(st.sampled_from(optional), unique=True, max_size=3)) if optional else ())
    )
    if "typeWidening" in chosen and "timestampNtz" in features:
        chosen.add("timestampNtz")
    configuration = {key: value for name in sorted(chosen) for key, value in _PROPERTIES.get(name, {}).items()}
    mode = draw(st.sampled_from(("name", "id", None))) if "columnMapping" in chosen else None
    numbers, nested = ColumnIdSequence(), draw(st.booleans()) if mode else False
    if mode:
        schema = assign_column_ids(schema, numbers, own_names=True, nested=nested)
        configuration["delta.columnMapping.mode"] = mode
    protocol = draw(_protocols(chosen, strict=any(not each.nullable for each in schema.fields)))
    metadata: Body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "createdTime": 1_700_000_000_000,
    }
    return DataTableSpec(protocol, frozenset(chosen), schema, partition, configuration, metadata, numbers.last, nested)


def _type_name(kind: Any) -> str:
    return getattr(kind, "name", "")


@st.composite
def _protocols(draw: st.DrawFn, features: Collection[str], *, strict: bool) -> Body:
    """Draw a protocol that supports these features; `strict` if the schema has columns that are not nullable."""
    legacy: list[tuple[int, int]] = []
    if not features:
        legacy = [(1, 2), *([] if strict else [(1, 1)])]
    elif set(features) <= {"changeDataFeed"}:
        legacy = [(1, 4)]
    elif set(features) <= {"changeDataFeed", "columnMapping"}:
        legacy = [(2, 5)]
    listed = (3, 7) if set(features) & set(READER_FEATURES) or (not features) else (1, 7)
    reader, writer = draw(st.sampled_from((*legacy, listed)))
    protocol: Body = {"minReaderVersion": reader, "minWriterVersion": writer}
    if writer == 7:
        writers = [name for name in FEATURES if name in features]
        writers += ["domainMetadata"] if "rowTracking" in features else []
        writers += ["invariants"] if strict else []
        if reader == 3:
            protocol["readerFeatures"] = [name for name in READER_FEATURES if name in features]
        protocol["writerFeatures"] = writers
    return protocol
