"""Strategies of a table's outline: protocol, features, columns and properties of its first version."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators import revisions
from deltaspec_generators.builder import TABLE_ID
from deltaspec_generators.json_lines import compact
from deltaspec_generators.log_state import Body, TableState
from deltaspec_generators.values import NESTED, NEVER_PARTITIONED, TYPES, WITHOUT_BOUNDS

WRITER_FEATURES = (
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "domainMetadata",
    "rowTracking",
    "inCommitTimestamp",
    "allowColumnDefaults",
    "clustering",
    "icebergCompatV1",
    "icebergCompatV2",
)
READER_WRITER_FEATURES = (
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "variantType",
    "variantShredding",
    "catalogManaged",
)
FEATURES = WRITER_FEATURES + READER_WRITER_FEATURES
"""Features that a drawn table may have by the newest text."""
NEEDED = {
    "rowTracking": "domainMetadata",
    "clustering": "domainMetadata",
    "icebergCompatV1": "columnMapping",
    "icebergCompatV2": "columnMapping",
    "variantShredding": "variantType",
    "catalogManaged": "inCommitTimestamp",
}
"""The feature that a feature requires."""
LEGACY_VERSIONS = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6))
PROPERTIES = {
    "appendOnly": "delta.appendOnly",
    "changeDataFeed": "delta.enableChangeDataFeed",
    "deletionVectors": "delta.enableDeletionVectors",
    "rowTracking": "delta.enableRowTracking",
    "rowIds": "delta.enableRowIds",
    "inCommitTimestamp": "delta.enableInCommitTimestamps",
    "typeWidening": "delta.enableTypeWidening",
}
"""The property that activates a feature."""

_FLAG = st.booleans()
_READER_WRITER = (*READER_WRITER_FEATURES, "timestampNTZ")


@dataclass(frozen=True)
class Column:
    """A column of the drawn schema."""

    name: str
    kind: str
    """A primitive type, `struct`, or a key of `values.NESTED`."""
    physical: str
    """Name in files, partition values and statistics; the same as `name` without column mapping."""
    id: int | None = None
    """Column id; None without column mapping."""
    fields: tuple["Column", ...] = ()
    text_type: str | None = None
    """`char(n)` or `varchar(n)`, which a schema keeps beside the type `string`."""

    def json(self) -> Body:
        """The field as the schema string has it."""
        kind: Any = NESTED.get(self.kind, self.kind)
        if self.kind == "struct":
            kind = {"type": "struct", "fields": [each.json() for each in self.fields]}
        metadata: Body = {}
        if self.id is not None:
            metadata = {"delta.columnMapping.id": self.id, "delta.columnMapping.physicalName": self.physical}
        if self.text_type is not None:
            metadata["__CHAR_VARCHAR_TYPE_STRING"] = self.text_type
        return {"name": self.name, "type": kind, "nullable": True, "metadata": metadata}


@dataclass(frozen=True)
class Outline:
    """What the first version of a table declares, and what later commits need to know of it."""

    protocol: Body
    metadata: Body
    columns: tuple[Column, ...]
    partition: tuple[Column, ...]
    """Those of `columns` that are partition columns."""
    clustering: tuple[Column, ...] = ()
    domains: tuple[Body, ...] = field(default=())
    """Bodies of `domainMetadata` actions of the first version."""
    revision: Revision = Revision.CURRENT
    """The text that the table keeps."""


@st.composite
def outlines(
    draw: st.DrawFn, *, features: Collection[str] = FEATURES, revision: Revision = Revision.CURRENT
) -> Outline:
    """First versions of tables that keep a revision of the text and whose features are among those given."""
    protocol, supported = draw(_protocols([name for name in revisions.known(revision, FEATURES) if name in features]))
    columns = draw(_columns(_kinds(supported)))
    partition_count = draw(st.integers(0, len(columns) - 1))
    clustered = "clustering" in supported and draw(st.booleans())
    if clustered:
        partition_count = 0
    configuration = draw(_configurations(supported, protocol["minWriterVersion"]))
    if "columnMapping" in supported and draw(st.booleans()):
        columns, highest = _mapped(columns)
        configuration["delta.columnMapping.mode"] = draw(st.sampled_from(("name", "id")))
        configuration["delta.columnMapping.maxColumnId"] = str(highest + draw(st.integers(0, 1)))
    partition = tuple(
        reversed([each for each in columns if each.kind not in NEVER_PARTITIONED][1 : partition_count + 1])
    )
    clustering: tuple[Column, ...] = ()
    domains: tuple[Body, ...] = ()
    if clustered:
        clustering = (next(each for each in columns if each.kind not in (*WITHOUT_BOUNDS, *NEVER_PARTITIONED)),)
        names: list[Any] = [each.physical for each in clustering]
        if draw(st.booleans()):
            names = [[name] for name in names]
        body = {"clusteringColumns": names, "domainName": "delta.clustering"}
        domains = (revisions.domain(revision, "delta.clustering", body),)
    metadata: Body = {
        "id": TABLE_ID,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_of(columns),
        "partitionColumns": [each.name for each in partition],
        "configuration": configuration,
    }
    metadata |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "createdTime": st.just(1_700_000_000_000),
                "name": st.sampled_from(("sales", "")),
                "description": st.just("drawn"),
            },
        )
    )
    return Outline(protocol, metadata, columns, partition, clustering, domains, revision)


def schema_of(columns: tuple[Column, ...]) -> str:
    """The schema string of these columns."""
    return compact({"type": "struct", "fields": [each.json() for each in columns]})


@st.composite
def _protocols(draw: st.DrawFn, features: Collection[str]) -> tuple[Body, frozenset[str]]:
    """A protocol and the features it supports."""
    legacy = [pair for pair in LEGACY_VERSIONS if _implied(pair) <= set(features)]
    listed = [(3, 7)] * 8 + [(1, 7)] + [(2, 7)] * ("columnMapping" in features)
    choice = draw(st.sampled_from((*listed, *legacy)))
    if choice in LEGACY_VERSIONS:
        protocol: Body = {"minReaderVersion": choice[0], "minWriterVersion": choice[1]}
        return protocol, TableState(protocol=protocol).features
    writers = [name for name in (*WRITER_FEATURES, "rowIds") if name in features]
    readers = [name for name in _READER_WRITER if name in features] if choice[0] == 3 else []
    picked = draw(st.lists(st.sampled_from((*readers, *writers)), unique=True, max_size=8)) if writers + readers else []
    # Features that open up most of what a log can hold are drawn more often than the others.
    picked += [name for name in ("deletionVectors", "v2Checkpoint") if name in set(readers) - {*picked} and draw(_FLAG)]
    if choice[0] == 2:
        picked.append("columnMapping")
    if choice[0] != 3:  # what needs a feature of readers is for those that can list it
        picked = [name for name in picked if NEEDED.get(name) != "columnMapping" or choice[0] == 2]
    for name, needed in NEEDED.items():
        if name in picked and needed not in picked:
            picked.append(needed)
    protocol = {"minReaderVersion": choice[0], "minWriterVersion": choice[1]}
    if choice[0] == 3:
        protocol["readerFeatures"] = [name for name in picked if name in _READER_WRITER]
    protocol["writerFeatures"] = picked
    return protocol, frozenset(picked)


def _implied(versions: tuple[int, int]) -> set[str]:
    return set(TableState(protocol={"minWriterVersion": versions[1]}).features)


def _kinds(supported: Collection[str]) -> list[str]:
    """Primitive types of tables with these features."""
    ntz = bool({*supported} & {*revisions.NTZ_FEATURES})
    kinds = [kind for kind in TYPES if ntz or kind != "timestamp_ntz"]
    return [*kinds, "variant"] if "variantType" in supported else kinds


@st.composite
def _columns(draw: st.DrawFn, kinds: list[str]) -> tuple[Column, ...]:
    """One to six columns; the first is a long named `id`."""
    found = [Column("id", "long", "id")]
    drawn = draw(st.lists(st.sampled_from((*kinds, "struct", *NESTED, "void")), max_size=4))
    for rare in ("timestamp_ntz", "variant"):  # one of them where its feature is there
        if rare in kinds and draw(_FLAG):
            drawn.insert(0, rare)
    for number, kind in enumerate(drawn):
        name = draw(st.sampled_from(("c", "é", "C"))) + str(number)
        inner: tuple[Column, ...] = ()
        if kind == "struct":
            inner = tuple(Column(each, of, each) for each, of in (("x", "long"), ("y", draw(st.sampled_from(kinds)))))
        text_type = draw(st.sampled_from((None, "char(5)", "varchar(10)"))) if kind == "string" else None
        found.append(Column(name, kind, name, fields=inner, text_type=text_type))
    return tuple(found)


def _mapped(columns: tuple[Column, ...]) -> tuple[tuple[Column, ...], int]:
    """The columns with ids and physical names of their own, and the highest id."""
    highest = 0

    def mapped(column: Column) -> Column:
        nonlocal highest
        highest += 1
        own = highest
        inner = tuple(mapped(each) for each in column.fields)
        return replace(column, id=own, physical=physical_name(own), fields=inner)

    return tuple(mapped(each) for each in columns), highest


def physical_name(column_id: int) -> str:
    """The physical name that a mapped column of this id gets."""
    return f"col-{column_id:08x}-0000-4000-8000-000000000000"


@st.composite
def _configurations(draw: st.DrawFn, supported: Collection[str], writer_version: int) -> dict[str, str]:
    """Properties of a table with these features."""
    found: dict[str, str] = {}
    for feature, name in PROPERTIES.items():
        if feature == "inCommitTimestamp" and "catalogManaged" in supported:
            found[name] = "true"
        elif feature in supported:
            # An append-only table has few commits to show, so it is the rarer choice.
            values = (
                (None, "false", None, "true") if feature == "appendOnly" else ("true", "true", "true", "false", None)
            )
            value = draw(st.sampled_from(values))
            if value is not None:
                found[name] = value
    if "rowTracking" in supported and found.get("delta.enableRowTracking") == "true":
        found["delta.rowTracking.materializedRowIdColumnName"] = "_row-id-col-1"
        found["delta.rowTracking.materializedRowCommitVersionColumnName"] = "_row-commit-version-col-1"
    if "rowIds" in supported and found.get("delta.enableRowIds") == "true":
        found["delta.rowIds.physicalColumnName"] = "_row-id-col-1"
    if "checkConstraints" in supported and draw(st.booleans()):
        found["delta.constraints.positive"] = "id > 0"
    if writer_version >= 3 and draw(st.booleans()):
        found["delta.checkpoint.writeStatsAsStruct"] = "true"
        found["delta.checkpoint.writeStatsAsJson"] = draw(st.sampled_from(("true", "false")))
    if draw(st.booleans()):
        found["delta.deletedFileRetentionDuration"] = draw(st.sampled_from(("interval 1 week", "interval 2 hours")))
    if draw(st.booleans()):
        found["owner"] = "team é"
    return found
