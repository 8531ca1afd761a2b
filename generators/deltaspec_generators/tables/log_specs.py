"""Draw the first version of a log without data: protocols of every form, also of older revisions.

Tables with data have different frequencies (`table_specs`), because their draws follow from published seeds.
"""

from collections.abc import Collection

from deltaspec.protocol.property_names import (
    CHECKPOINT_PROTECTION,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    FILE_RETENTION,
    ROW_TRACKING_SUSPENDED,
    STATS_AS_JSON,
    STATS_AS_STRUCT,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, Decimal, Field, Map, Primitive, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.schemas.changes import ColumnIdSequence, assign_column_ids
from deltaspec_generators.schemas.column_features import draw_special_columns, list_conditions
from deltaspec_generators.schemas.drawing import draw_schema
from deltaspec_generators.table_files import TABLE_ID
from deltaspec_generators.table_state import Body, WrittenState
from deltaspec_generators.tables import features as table_features
from deltaspec_generators.tables.features import (
    CLUSTERING,
    ENABLING_PROPERTIES,
    FEATURE_OF_TYPE,
    NTZ_FEATURES,
    READERS,
    REQUIRED_FEATURES,
    ROW_ID_COLUMNS,
    WRITERS,
    has_feature,
)
from deltaspec_generators.tables.log_builder import LogBuilder
from deltaspec_generators.tables.table_specs import TableSpec
from deltaspec_generators.values.arrow_values import PRIMITIVES

LEGACY_VERSIONS = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6))
_NARROW = ("float", "date", "short", "float", "date", "byte", "integer") * 4
"""Types that can be widened; `float` and `date` more often, because they have only one wider type."""
_DECIMALS = (Decimal(10, 2), Decimal(38, 18))
_WITHOUT_BOUNDS = (Primitive("boolean"), Primitive("binary"), Primitive("variant"), Primitive("void"))

FAMILIES: tuple[tuple[str, ...], ...] = (
    ("rowTracking", "rowIds"),
    ("rowTracking", "rowIds", "deletionVectors"),
    ("typeWidening", "timestampNtz"),
    ("typeWidening", "icebergCompatV2"),
    ("icebergCompatV1",),
    ("icebergCompatV3", "rowTracking"),
    ("inCommitTimestamp",),
    ("catalogManaged", "checkpointProtection"),
    ("clustering",),
    ("identityColumns", "generatedColumns", "invariants"),
    ("allowColumnDefaults", "checkConstraints", "variantType"),
    ("appendOnly", "changeDataFeed"),
    ("variantShredding", "timestampNTZ"),
    table_features.PREVIEWS,
)
"""Feature groups that some tables focus on: with few other features, most commits use them."""


def draw_log_spec(choices: Choices, features: Collection[str], revision: Revision) -> TableSpec:
    """Draw the first version of a table that follows a protocol revision and supports only these features."""
    allowed = [name for name in table_features.list_allowed(revision) if name in features]
    protocol, supported = _draw_protocol(choices, allowed)
    configuration = _draw_configuration(choices, supported, protocol["minWriterVersion"], revision)
    tracks_rows = configuration.get(ENABLING_PROPERTIES["rowTracking"]) == "true"
    iceberg = _draw_iceberg_version(choices, supported, tracks_rows=tracks_rows)
    clustered = "clustering" in supported
    schema, partition = _draw_columns(choices, supported, iceberg, partitioned=not clustered)
    positive = bool({"invariants", "checkConstraints"} & supported) and choices.chance(1, 2)
    schema = draw_special_columns(choices, schema, supported, positive=positive)
    if "checkConstraints" in supported and choices.chance(1, 2):
        configuration["delta.constraints.first"] = choices.pick(list_conditions(positive))
    if iceberg:
        configuration[f"delta.enableIcebergCompatV{iceberg}"] = "true"
        configuration.pop(DELETION_VECTORS, None)
    numbers, nested = ColumnIdSequence(), False
    if iceberg or ("columnMapping" in supported and choices.chance(1, 2)):
        nested = iceberg >= 2 or ("icebergCompatV2" in supported and choices.chance(1, 2))
        schema = assign_column_ids(schema, numbers, own_names=True, nested=nested, revision=revision)
        configuration[COLUMN_MAPPING_MODE] = choices.pick(("name", "id"))
    last_id = numbers.last + (choices.integer(0, 1) if numbers.last else 0)
    metadata: Body = {"id": TABLE_ID, "format": {"provider": "parquet", "options": {}}}
    for name, value in (("createdTime", 1_700_000_000_000), ("name", choices.pick(("sales", "")))):
        metadata |= {name: value} if choices.chance(1, 2) else {}
    metadata |= {"description": "drawn"} if choices.chance(1, 2) else {}
    return TableSpec(
        protocol,
        supported,
        schema,
        partition,
        configuration,
        metadata,
        last_id,
        nested,
        revision=revision,
        clustered=clustered,
        positive=positive,
    )


def draw_clustering(builder: LogBuilder) -> Body:
    """Draw clustering columns of the first version of the table, and the domain that lists them."""
    choices = builder.choices
    known = {path for path, _ in _list_bounded(builder.spec.schema) if path[0] not in builder.former_names}
    paths = [fields for path, fields in _list_bounded(builder.schema) if path in known]
    chosen = choices.sample(paths, 1, 2)
    parts = [[column_mapping.physical_name(each, builder.mapping) for each in fields] for fields in chosen]
    by_name = all(len(path) == 1 for path in parts) and choices.chance(1, 2)
    builder.clustering = tuple(fields[0].name for fields in chosen)
    columns = [path[0] for path in parts] if by_name else parts
    configuration = {"clusteringColumns": columns, "domainName": CLUSTERING}
    return {"domainMetadata": table_features.build_domain(builder.revision, CLUSTERING, configuration)}


def _list_bounded(schema: Struct) -> list[tuple[tuple[str, ...], tuple[Field, ...]]]:
    """List names and fields, from the column inwards, of everything that may have bounds."""
    found: list[tuple[tuple[str, ...], tuple[Field, ...]]] = []
    for each in schema.fields:
        if isinstance(each.type, Struct):
            found += [((each.name, *path), (each, *fields)) for path, fields in _list_bounded(each.type)]
        elif not isinstance(each.type, Array | Map) and each.type not in _WITHOUT_BOUNDS:
            found.append(((each.name,), (each,)))
    return found


def _draw_protocol(choices: Choices, features: Collection[str]) -> tuple[Body, frozenset[str]]:
    """Draw a protocol and its supported features."""
    legacy = [pair for pair in LEGACY_VERSIONS if _list_implied_features(pair) <= {*features}]
    listed = [(3, 7)] * 8 + [(1, 7)] + [(2, 7)] * ("columnMapping" in features)
    reader, writer = choices.pick((*listed, *legacy))
    if writer < 7:
        protocol: Body = {"minReaderVersion": reader, "minWriterVersion": writer}
        return protocol, WrittenState(protocol=protocol).features
    readers = [name for name in READERS if name in features] if reader == 3 else []
    usable = readers + [name for name in WRITERS if name in features]
    family = choices.pick((None, None, None, *FAMILIES)) or ()
    picked = [name for name in family if name in usable]
    others = [name for name in usable if name not in picked]
    # Of few features at least half are supported, because most uses need several.
    picked += choices.sample(others, len(others) // 2 if len(others) < 8 else 0, 2 if picked else 10)
    # These features enable most of the possible log content, so they are drawn more often.
    frequent = ["v2Checkpoint", *([] if "icebergCompatV1" in picked else ["deletionVectors"])]
    picked += [name for name in frequent if name in {*readers} - {*picked} and choices.chance(2, 3)]
    if reader == 2:
        picked.append("columnMapping")
    if reader != 3:  # features that require column mapping need a reader version that supports it
        picked = [name for name in picked if REQUIRED_FEATURES.get(name) != "columnMapping" or reader == 2]
    for name, needed in REQUIRED_FEATURES.items():
        if name in picked and needed not in picked:
            picked.append(needed)
    protocol = {"minReaderVersion": reader, "minWriterVersion": 7}
    if reader == 3:
        protocol["readerFeatures"] = [name for name in picked if name in READERS]
    protocol["writerFeatures"] = picked
    return protocol, frozenset(picked)


def _list_implied_features(versions: tuple[int, int]) -> set[str]:
    return {*WrittenState(protocol={"minWriterVersion": versions[1]}).features}


def _draw_iceberg_version(choices: Choices, supported: Collection[str], *, tracks_rows: bool) -> int:
    """Draw the enabled version of Iceberg compatibility; 0 for none.

    V1 forbids support of deletion vectors. V3 requires row tracking, and defaults without operators.
    """
    options = [1] if "icebergCompatV1" in supported and "deletionVectors" not in supported else []
    options += [2] if "icebergCompatV2" in supported else []
    options += [3] if "icebergCompatV3" in supported and tracks_rows and "allowColumnDefaults" not in supported else []
    return choices.pick((0, *options * 3))


def _draw_columns(
    choices: Choices, supported: Collection[str], iceberg: int, *, partitioned: bool
) -> tuple[Struct, tuple[str, ...]]:
    """Draw columns of supported types, and the names of the partition columns."""
    has_ntz = not {*supported}.isdisjoint(NTZ_FEATURES)
    has_variant = has_feature(supported, "variantType") and iceberg in (0, 3)
    names = [name for name in PRIMITIVES if name not in FEATURE_OF_TYPE]
    # Types of a feature are drawn more often than by chance, where it is supported.
    names += ["timestamp_ntz"] * 6 if has_ntz else []
    names += ["variant"] * 12 if has_variant else []
    names += _NARROW if has_feature(supported, "typeWidening") else ()
    names += ["void"] if not iceberg and choices.chance(1, 4) else []
    return draw_schema(
        choices,
        names=names,
        depth=choices.pick((1, 0, 2)),
        partitioned=partitioned,
        max_columns=4,
        required=False,
        collections=iceberg != 1,
        decimal_types=_DECIMALS,
    )


def _draw_configuration(
    choices: Choices, supported: Collection[str], writer_version: int, revision: Revision
) -> dict[str, str]:
    """Draw the properties of a table with these features."""
    found: dict[str, str] = {}
    for feature, name in ENABLING_PROPERTIES.items():
        if feature == "inCommitTimestamp" and "catalogManaged" in supported:
            found[name] = "true"
        elif has_feature(supported, feature):
            # An append-only table allows few operations, so it is drawn less often.
            rarely = (None, "false", None, "true")
            value = choices.pick(rarely if feature == "appendOnly" else ("true", "true", "true", "false", None))
            found |= {name: value} if value else {}
    for feature, columns in ROW_ID_COLUMNS.items():
        if feature in supported and found.get(ENABLING_PROPERTIES[feature]) == "true":
            found |= columns
        elif feature == "rowTracking" and feature in supported and revision is Revision.CURRENT:
            suspended = choices.pick(("true", "false", None))
            found |= {ROW_TRACKING_SUSPENDED: suspended} if suspended else {}
    if "checkpointProtection" in supported and choices.chance(1, 2):
        found[CHECKPOINT_PROTECTION] = "0"
    if writer_version >= 3 and choices.chance(1, 2):
        found[STATS_AS_STRUCT] = "true"
        found[STATS_AS_JSON] = choices.pick(("true", "false"))
    if choices.chance(1, 2):
        found[FILE_RETENTION] = choices.pick(("interval 1 week", "interval 2 hours"))
    if choices.chance(1, 2):
        found["owner"] = "team é"
    return found
