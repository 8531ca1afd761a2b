"""Draw the first version of a table with data: protocol, features, schema and properties."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Struct, iter_fields, iter_leaf_types
from deltaspec_generators.choices import Choices
from deltaspec_generators.schemas.changes import ColumnIdSequence, assign_column_ids
from deltaspec_generators.schemas.drawing import draw_schema
from deltaspec_generators.table_files import TABLE_ID
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.features import (
    COMMON_FEATURES,
    DATA_FEATURES,
    FEATURE_OF_TYPE,
    build_properties,
    build_protocol,
)
from deltaspec_generators.values.arrow_values import PRIMITIVES
from deltaspec_generators.values.partition_texts import TimestampTexts

FEATURES = COMMON_FEATURES
"""Features that a drawn table with data may support by default."""
ALL_FEATURES = DATA_FEATURES
"""Features that a drawn table with data may support."""
EXTRAS = ("rows", "properties", "nested", "layout", "cleanup", "unknown", "paths", "absolute")
"""Further parts of a table that may be drawn:

| extra | content |
|-|-|
| rows | overwrite, restore, merge, repartition, delete all rows of a file by a vector |
| properties | transactions, domains, features and properties enabled later |
| nested | fields added, dropped, renamed and widened at every depth; columns reordered; names reused |
| layout | checkpoints of every form, compactions, checksums |
| cleanup | deleted commits; needs `layout` |
| unknown | unknown fields, actions and files, explicit nulls |
| paths | names of files that need escapes |
| absolute | absolute paths of data files and vectors |
"""
NAMES = (*PRIMITIVES, "void")


class TableOptions(msgspec.Struct, frozen=True):
    """Options of drawn tables: features, types, sizes and extras."""

    max_commits: int = 4
    """Maximum number of commits after the first, which creates the table."""
    features: Collection[str] = FEATURES
    """Table features that may be used, a subset of `ALL_FEATURES`."""
    required: Collection[str] = ()
    """Features that every table supports, a subset of `ALL_FEATURES`."""
    extras: Collection[str] = ()
    """Further parts that may be drawn, a subset of `EXTRAS`."""
    rare_encodings: bool = True
    """Whether Parquet files may use Brotli and BYTE_STREAM_SPLIT, which many engines do not read."""
    names: Sequence[str] = NAMES
    """Primitive types of columns; `timestamp_ntz` and `variant` are used only with their features."""
    depth: int = 2
    """Maximum nesting depth of structs, arrays and maps."""
    nesting: int = 1
    """Weight of nested types."""
    focus: str = ""
    """Kind of operations that is drawn more often: `row`, `schema`, `table` or `replacing`."""
    partitioned: bool = True
    """Whether tables may be partitioned."""
    max_columns: int = 3
    """Maximum number of columns besides `id`, void and partition columns."""
    max_rows: int = 5
    """Maximum number of rows of a new file; some files repeat them."""
    times: Sequence[str] = ("micros", "int96")
    """Physical types of timestamps, as in `ParquetEncoding`."""
    non_conforming: bool = False
    """Whether to include statistics styles that the protocol forbids, as in `draw_statistics_style`."""
    timestamp_texts: TimestampTexts = "any"
    """Texts of timestamps in partition values."""
    endings: bool = False
    """Whether to draw more commits after the layout, with values that are equal and differ in their form."""
    root: str = TABLE_URI
    """URI of the directory that absolute paths name, with a slash at the end."""


class TableSpec(msgspec.Struct, frozen=True):
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
    revision: Revision = Revision.CURRENT
    """Protocol revision that the table follows."""
    clustered: bool = False
    """Whether the first commit sets clustering columns."""
    positive: bool = False
    """Whether every `id` is positive, so that constraints may require it."""


def draw_table_spec(choices: Choices, options: TableOptions) -> TableSpec:
    """Draw the first version of a table."""
    features = {*options.features, *options.required}
    allowed_names = [name for name in options.names if FEATURE_OF_TYPE.get(name, name) in (name, *features)]
    schema, partition = draw_schema(
        choices,
        names=allowed_names,
        depth=options.depth,
        nesting=options.nesting,
        partitioned=options.partitioned,
        max_columns=options.max_columns,
    )
    needed = {FEATURE_OF_TYPE[name] for name in map(_type_name, iter_leaf_types(schema)) if name in FEATURE_OF_TYPE}
    optional = [name for name in ALL_FEATURES if name in features and name not in FEATURE_OF_TYPE.values()]
    chosen = needed | set(options.required) | set(choices.sample(optional, 0, 3))
    if partition:
        chosen -= {"clustering"}
    if "variantType" not in chosen:
        chosen -= {"variantShredding"}
    elif "variantShredding" in features:
        chosen |= {"variantShredding"}
    chosen |= {"domainMetadata"} if "clustering" in chosen else set()
    if "typeWidening" in chosen and "timestampNtz" in features:
        chosen.add("timestampNtz")
    configuration = {key: value for name in sorted(chosen) for key, value in build_properties(name).items()}
    mode = choices.pick(("name", "id", None)) if "columnMapping" in chosen else None
    numbers, nested = ColumnIdSequence(), choices.chance(1, 2) if mode else False
    if mode:
        schema = assign_column_ids(schema, numbers, own_names=True, nested=nested)
        configuration[COLUMN_MAPPING_MODE] = mode
    if "layout" in options.extras:
        configuration |= choices.pick(_CHECKPOINT_STATISTICS)
    protocol = _draw_protocol(choices, chosen, strict=any(not each.nullable for _, each in iter_fields(schema)))
    metadata: Body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "createdTime": 1_700_000_000_000,
    }
    return TableSpec(protocol, frozenset(chosen), schema, partition, configuration, metadata, numbers.last, nested)


def _type_name(kind: Any) -> str:
    return getattr(kind, "name", "")


_CHECKPOINT_STATISTICS: tuple[dict[str, str], ...] = (
    {},
    {STATS_AS_STRUCT: "true"},
    {STATS_AS_STRUCT: "true", STATS_AS_JSON: "false"},
)


def _draw_protocol(choices: Choices, features: Collection[str], *, strict: bool) -> Body:
    """Draw a protocol that supports these features; `strict` if the schema has columns that are not nullable."""
    legacy: list[tuple[int, int] | None] = []
    if not features:
        legacy = [(1, 2), *([] if strict else [(1, 1)])]
    elif set(features) <= {"changeDataFeed"}:
        legacy = [(1, 4)]
    elif set(features) <= {"changeDataFeed", "columnMapping"}:
        legacy = [(2, 5)]
    listed = build_protocol({*features, *(("invariants",) if strict else ())}, reader=1 if features else 3)
    found = choices.pick([*legacy, None])
    return listed if found is None else {"minReaderVersion": found[0], "minWriterVersion": found[1]}
