"""Draw the first version of a table with data: protocol, features, schema and properties."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from deltaspec.model.schema.data_types import Struct, iter_fields, iter_leaf_types
from deltaspec_generators.logs.state import Body
from deltaspec_generators.table_files import TABLE_ID
from deltaspec_generators.tables.arrow_values import PRIMITIVES
from deltaspec_generators.tables.choices import Choices
from deltaspec_generators.tables.schema_changes import ColumnIdSequence, assign_column_ids
from deltaspec_generators.tables.schemas import draw_schema
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
class TableOptions:
    """Which tables to draw."""

    max_commits: int = 4
    """Most commits after the first, which creates the table."""
    features: Collection[str] = FEATURES
    """Table features that may be used, a subset of `FEATURES`."""
    required: Collection[str] = ()
    """Features that every table supports, a subset of `FEATURES`."""
    names: Sequence[str] = NAMES
    """Primitive types of columns; `timestamp_ntz` and `variant` are used only with their features."""
    depth: int = 2
    """Maximum nesting depth of structs, arrays and maps."""
    partitioned: bool = True
    """Whether tables may be partitioned."""
    max_columns: int = 3
    """Most columns besides `id`, void and partition columns."""
    times: Sequence[str] = ("micros", "int96")
    """Physical types of timestamps, as in `ParquetEncoding`."""
    non_conforming: bool = False
    """Whether to include statistics styles that the protocol forbids, as in `draw_statistics_style`."""


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


def draw_table_spec(choices: Choices, options: TableOptions) -> DataTableSpec:
    """Draw the first version of a table."""
    features = {*options.features, *options.required}
    allowed_names = [name for name in options.names if _FEATURE_OF_TYPE.get(name, name) in (name, *features)]
    schema, partition = draw_schema(
        choices,
        names=allowed_names,
        depth=options.depth,
        partitioned=options.partitioned,
        max_columns=options.max_columns,
    )
    needed = {_FEATURE_OF_TYPE[name] for name in map(_type_name, iter_leaf_types(schema)) if name in _FEATURE_OF_TYPE}
    optional = [name for name in FEATURES if name in features and name not in _FEATURE_OF_TYPE.values()]
    chosen = needed | set(options.required) | set(choices.sample(optional, 0, 3))
    if "typeWidening" in chosen and "timestampNtz" in features:
        chosen.add("timestampNtz")
    configuration = {key: value for name in sorted(chosen) for key, value in _PROPERTIES.get(name, {}).items()}
    mode = choices.pick(("name", "id", None)) if "columnMapping" in chosen else None
    numbers, nested = ColumnIdSequence(), choices.chance(1, 2) if mode else False
    if mode:
        schema = assign_column_ids(schema, numbers, own_names=True, nested=nested)
        configuration["delta.columnMapping.mode"] = mode
    protocol = _draw_protocol(choices, chosen, strict=any(not each.nullable for _, each in iter_fields(schema)))
    metadata: Body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "createdTime": 1_700_000_000_000,
    }
    return DataTableSpec(protocol, frozenset(chosen), schema, partition, configuration, metadata, numbers.last, nested)


def _type_name(kind: Any) -> str:
    return getattr(kind, "name", "")


def _draw_protocol(choices: Choices, features: Collection[str], *, strict: bool) -> Body:
    """Draw a protocol that supports these features; `strict` if the schema has columns that are not nullable."""
    legacy: list[tuple[int, int]] = []
    if not features:
        legacy = [(1, 2), *([] if strict else [(1, 1)])]
    elif set(features) <= {"changeDataFeed"}:
        legacy = [(1, 4)]
    elif set(features) <= {"changeDataFeed", "columnMapping"}:
        legacy = [(2, 5)]
    listed = (3, 7) if set(features) & set(READER_FEATURES) or (not features) else (1, 7)
    reader, writer = choices.pick((*legacy, listed))
    protocol: Body = {"minReaderVersion": reader, "minWriterVersion": writer}
    if writer == 7:
        writers = [name for name in FEATURES if name in features]
        writers += ["domainMetadata"] if "rowTracking" in features else []
        writers += ["invariants"] if strict else []
        if reader == 3:
            protocol["readerFeatures"] = [name for name in READER_FEATURES if name in features]
        protocol["writerFeatures"] = writers
    return protocol
