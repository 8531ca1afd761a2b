"""`data_tables()` draws everything it promises, and examples shrink to small tables."""

import io
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st

from deltaspec.protocol.files import paths
from deltaspec.protocol.schema.data_types import (
    Array,
    Decimal,
    Field,
    Map,
    Struct,
    get_type_name,
    iter_fields,
    iter_leaf_types,
)
from deltaspec_generators.data_files.parquet_encodings import COMPRESSIONS
from deltaspec_generators.data_files.stored_files import ROW_ID, ROW_VERSION
from deltaspec_generators.schemas.drawing import PARTITION_TYPES
from deltaspec_generators.tables.file_writer import HIVE_NULL
from deltaspec_generators.tables.readable import CHANGE_TYPE
from deltaspec_generators.tables.strategies import GeneratedTable, data_tables_with_states
from deltaspec_generators.tables.table_specs import FEATURES, NAMES

FLAGS = (
    "decimals_as_integers required reversed_columns statistics page_index checksums arrow_schema partition_columns"
    " extra_column"
)
ALL_HEALTH_CHECKS = list(HealthCheck)
MAX_ROUNDS = 30


def list_bodies(drawn: GeneratedTable, kind: str) -> list[dict[str, Any]]:
    lines = [line for lines in drawn.files.commits.values() for line in lines if isinstance(line, dict)]
    return [line[kind] for line in lines if kind in line]


def collect_observations(drawn: GeneratedTable) -> set[str]:
    """Collect the observations on one drawn table, by name."""
    seen = _observe_schemas(drawn) | _observe_files(drawn) | _observe_changes(drawn)
    for stored in drawn.stored:
        if not stored.rows:
            seen.add("empty file")
        for part in ("style", "parquet_encoding"):
            found = getattr(stored, part)
            seen |= {f"{part} {name}={getattr(found, name)}" for name in found.__struct_fields__}
    for add in list_bodies(drawn, "add"):
        seen |= {"stats absent"} if "stats" not in add else set()
        seen |= {"vector inline"} if add.get("deletionVector", {}).get("storageType") == "i" else set()
        seen |= {"path with escapes"} if "%" in add["path"] else set()
        seen |= {"folder of a null partition"} if HIVE_NULL in add["path"] else set()
        seen |= {"tight statistics with a vector"} if _has_tight_statistics_with_vector(add) else set()
    stored_vectors = [add["deletionVector"] for add in list_bodies(drawn, "add") if "deletionVector" in add]
    offsets = [(each["pathOrInlineDv"], each["offset"]) for each in stored_vectors if each["storageType"] == "u"]
    seen |= {"vector stored"} if offsets else set()
    seen |= {"two vectors in one file"} if len({name for name, _ in offsets}) < len(set(offsets)) else set()
    seen |= {
        f"checkpoint of {'the last' if each.version == len(drawn.states) - 1 else 'an earlier'} version"
        for each in drawn.files.checkpoints
    }
    seen |= {"hint"} if drawn.files.last_checkpoint is not None else set()
    return seen


def _has_tight_statistics_with_vector(add: dict[str, Any]) -> bool:
    found = json.loads(add.get("stats", "{}"))
    return "deletionVector" in add and "minValues" in found and found.get("tightBounds") is not False


def _observe_schemas(drawn: GeneratedTable) -> set[str]:
    seen: set[str] = set()
    for state, version in zip(drawn.states, drawn.versions, strict=True):
        seen.add(f"mapping {state.configuration.get('delta.columnMapping.mode')}")
        seen.add(f"protocol {state.protocol['minReaderVersion']},{state.protocol['minWriterVersion']}")
        seen |= {f"feature {name}" for name in state.features}
        seen |= {"nested ids"} if "delta.columnMapping.nested.ids" in state.metadata["schemaString"] else set()
        seen |= {"column not null"} if any(not each.nullable for each in version.schema.fields) else set()
        for each in version.schema.fields:
            where = "partition" if each.name in state.metadata["partitionColumns"] else "column"
            for kind in (each.type, *iter_leaf_types(each.type)):
                seen.add(f"{where} {'decimal' if isinstance(kind, Decimal) else get_type_name(kind)}")
            if isinstance(each.type, Struct | Array | Map):
                seen |= {
                    f"{get_type_name(each.type)} of {get_type_name(inner)}" for inner in _list_child_types(each.type)
                }
                seen |= {"struct with a new field"} if _has_new_field(each) else set()
            changes = [
                change
                for _, each in iter_fields(Struct((each,)))
                for change in each.metadata.get("delta.typeChanges", [])
            ]
            for change in changes:
                seen.add(f"widened from {change['fromType'].partition('(')[0]}")
                seen.add(f"widened to {change['toType'].partition('(')[0]}")
                seen |= {"widened elements"} if "fieldPath" in change else set()
    return seen


def _has_new_field(field: Field) -> bool:
    return isinstance(field.type, Struct) and any(each.name.startswith("new") for each in field.type.fields)


def _list_child_types(kind: Any) -> list[Any]:
    match kind:
        case Struct(fields):
            return [each.type for each in fields]
        case Array(element):
            return [element]
    return [kind.value]


def _observe_files(drawn: GeneratedTable) -> set[str]:
    """Compare the files of the last version with its schema."""
    seen: set[str] = set()
    state, schema = drawn.states[-1], drawn.versions[-1].schema
    physical = {each.metadata.get("delta.columnMapping.physicalName", each.name): each for each in schema.fields}
    for path in state.live:
        data = drawn.files.data[paths.decode(path)]
        assert isinstance(data, bytes), f"{path=}"
        arrow = pq.ParquetFile(io.BytesIO(data)).schema_arrow
        names = set(arrow.names)
        own = {name for name, each in physical.items() if get_type_name(each.type) != "void"}
        partition = {name for name, each in physical.items() if each.name in state.metadata["partitionColumns"]}
        seen |= {"file without a new column"} if own - partition - names else set()
        seen |= (
            {"file with a dropped column"} if any(name.startswith("col-") for name in names - set(physical)) else set()
        )
        seen |= {"file with row ids"} if ROW_ID in names else set()
        seen |= {"file with row commit versions"} if ROW_VERSION in names else set()
        seen |= {"file with an empty change column"} if CHANGE_TYPE in names else set()
        numbered = [each for each in arrow if b"PARQUET:field_id" in (each.metadata or {})]
        if "delta.columnMapping.mode" in state.configuration and len(arrow.names) and not numbered:
            seen.add("file older than column mapping")
        seen |= {"file with a narrower type"} if _has_narrower_type(drawn, path) else set()
    return seen


def _has_narrower_type(drawn: GeneratedTable, path: str) -> bool:
    now = {
        each.metadata.get("delta.columnMapping.physicalName", each.name): each.type
        for each in drawn.versions[-1].schema.fields
    }
    written = next(stored for stored in drawn.stored if stored.add["path"] == path)
    return any(
        each.name in now and each.type != now[each.name] and not isinstance(each.type, Struct | Array | Map)
        for each in written.schema.fields
    )


def _observe_changes(drawn: GeneratedTable) -> set[str]:
    with_files = [version for version in drawn.versions if version.has_change_files]
    seen = {f"change {kind}" for version in with_files for kind, _ in version.plain_changes or ()}
    seen |= (
        {"complete file removed without change data"}
        if any(_is_remove_without_change_data(drawn, number) for number in range(len(drawn.states)))
        else set()
    )
    return seen


def _is_remove_without_change_data(drawn: GeneratedTable, number: int) -> bool:
    kinds = {kind for line in drawn.files.commits[number] if isinstance(line, dict) for kind in line}
    return (
        drawn.states[number].is_enabled("delta.enableChangeDataFeed")
        and "remove" in kinds
        and not kinds & {"add", "cdc"}
    )


PROTOCOLS = ("1,1", "1,2", "1,4", "2,5", "1,7", "3,7")
EXPECTED = (
    {f"column {name}" for name in (*NAMES, "decimal", "struct", "array", "map")}
    | {f"partition {name}" for name in PARTITION_TYPES}
    | {"struct of array", "array of struct", "map of struct", "array of array", "column not null", "empty file"}
    | {f"feature {name}" for name in (*FEATURES, "domainMetadata", "invariants")}
    | {f"protocol {each}" for each in PROTOCOLS}
    | {"mapping None", "mapping name", "mapping id", "nested ids", "file older than column mapping"}
    | {"vector inline", "vector stored", "two vectors in one file", "tight statistics with a vector"}
    | {"path with escapes", "folder of a null partition", "stats absent", "hint"}
    | {"checkpoint of the last version", "checkpoint of an earlier version"}
    | {f"change {kind}" for kind in ("insert", "delete", "update_preimage", "update_postimage")}
    | {"complete file removed without change data", "file with an empty change column"}
    | {"file with row ids", "file with row commit versions"}
    | {
        "file without a new column",
        "file with a dropped column",
        "file with a narrower type",
        "widened elements",
        "struct with a new field",
    }
    | {f"widened from {name}" for name in ("byte", "integer", "long", "float", "date", "decimal")}
    | {f"widened to {name}" for name in ("long", "double", "decimal", "timestamp_ntz")}
    | {f"parquet_encoding compression={each}" for each in COMPRESSIONS}
    | {f"parquet_encoding encoding={each}" for each in ("dictionary", "plain", "delta", "lengths", "split")}
    | {f"parquet_encoding list_element={each}" for each in ("element", "item", "array")}
    | {f"parquet_encoding times={each}" for each in ("micros", "int96")}
    | {f"parquet_encoding page_version={each}" for each in ("1.0", "2.0")}
    | {f"parquet_encoding format_version={each}" for each in ("1.0", "2.4", "2.6")}
    | {f"parquet_encoding rows_per_group={each}" for each in (None, 1, 3)}
    | {f"parquet_encoding rows_per_page={each}" for each in (None, 1, 2)}
    | {f"parquet_encoding {name}={value}" for name in FLAGS.split() for value in (True, False)}
    | {f"style content={each}" for each in ("none", "rows", "all")}
    | {f"style tightness={each}" for each in ("unsaid", "tight", "wide")}
    | {f"style times={each}" for each in ("milliseconds", "microseconds", "spaced", "zoned")}
    | {f"style nan={each}" for each in ("absent", "ignored", "text")}
    | {f"style infinity={each}" for each in ("text", "null", "absent")}
    | {f"style string_length={each}" for each in (32, 5, None)}
    | {f"style first_columns={each}" for each in (None, 1, 2)}
    | {f"style singles={each}" for each in ("short", "double")}
    | {f"style decimals={each}" for each in ("plain", "java")}
    | {f"style all_null={each}" for each in ("absent", "null")}
    | {f"style {name}={value}" for name in ("bounds", "null_counts", "slack", "booleans") for value in (True, False)}
)


_ONE_COLUMN: dict[str, Any] = {"features": (), "names": ("long",), "partitioned": False}
_WIDENING: dict[str, Any] = {"features": (), "required": ("typeWidening", "timestampNtz"), "partitioned": False}
_MAPPED: dict[str, Any] = {**_ONE_COLUMN, "required": ("columnMapping",), "names": ("long", "timestamp")}
CHOICES: tuple[tuple[int, dict[str, Any]], ...] = (
    (40, {"non_conforming": True}),
    (6, {"features": ("changeDataFeed",), "names": ("long",), "depth": 0}),
    (6, {"features": (), "required": ("deletionVectors", "changeDataFeed"), "depth": 0}),
    (6, {**_ONE_COLUMN, "required": ("deletionVectors",), "depth": 0}),
    *((6, {**_WIDENING, "names": (name,), "depth": 0}) for name in ("byte", "date", "float")),
    (8, {**_WIDENING, "names": ("integer",), "depth": 1}),
    (10, {**_ONE_COLUMN, "depth": 3, "max_commits": 0}),
    (8, {**_MAPPED, "depth": 0}),
    (4, {**_MAPPED, "depth": 2}),
)
"""Number and options of the tables of a round: most observations occur in any table, some need special options."""


def observe_tables(examples: int, number: int, **options: Any) -> set[str]:
    seen: set[str] = set()

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=ALL_HEALTH_CHECKS,
    )
    @given(drawn=data_tables_with_states(**options))
    def collect(drawn: GeneratedTable) -> None:
        seen.update(collect_observations(drawn))

    collect()
    return seen


@pytest.mark.slow("generators/deltaspec_generators")
def test_everything_is_drawn() -> None:
    """Draw until everything was observed, at most `MAX_ROUNDS` rounds."""
    seen: set[str] = set()
    for number in range(MAX_ROUNDS):
        for examples, options in CHOICES:
            seen |= observe_tables(examples, number, **options)
            if seen >= EXPECTED:
                return
    assert sorted(EXPECTED - seen) == []


def _measure_size(drawn: GeneratedTable) -> int:
    rows = sum(len(stored.rows) for stored in drawn.stored)
    files = drawn.files
    return len(files.commits) + len(files.data) + len(drawn.versions[-1].schema.fields) + rows + len(files.checkpoints)


@pytest.mark.slow("generators/deltaspec_generators")
@pytest.mark.parametrize(
    ("condition", "most_commits", "most_files"),
    [
        (lambda drawn: True, 1, 0),
        (lambda drawn: any("deletionVector" in add for add in list_bodies(drawn, "add")), 3, 1),
        (lambda drawn: bool(list_bodies(drawn, "cdc")), 3, 3),
    ],
    ids=["anything", "vector", "change data"],
)
def test_minimal_table_is_small(
    condition: Callable[[GeneratedTable], bool], most_commits: int, most_files: int
) -> None:
    # Few commits, types and features, so that shrinking takes seconds. The result of shrinking depends on the first
    # example, so the smallest result of two seeds is used.
    tables = data_tables_with_states(
        max_commits=2, features=("deletionVectors", "changeDataFeed"), names=("long", "string"), depth=0
    )
    plain = settings(
        max_examples=300,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],  # the explain phase takes longer than shrinking
        suppress_health_check=ALL_HEALTH_CHECKS,
    )
    found = min(
        (find(tables, condition, settings=plain, random=Random(number)) for number in range(2)), key=_measure_size
    )
    assert len(found.files.commits) <= most_commits
    assert len(found.files.data) <= most_files
    assert len(found.versions[-1].schema.fields) <= 2
    assert [stored for stored in found.stored if len(stored.rows) > 2] == []
    assert not found.files.checkpoints


@settings(max_examples=30, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(data=st.data(), features=st.sets(st.sampled_from(FEATURES)))
def test_only_given_features_are_drawn(data: st.DataObject, features: set[str]) -> None:
    drawn = data.draw(data_tables_with_states(features=features, max_commits=2))
    implied = {"domainMetadata", "invariants"}
    for state in drawn.states:
        if state.protocol["minWriterVersion"] == 7:
            assert state.features <= features | implied


@settings(max_examples=20, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(drawn=data_tables_with_states(features=("deletionVectors",), required=("rowTracking",), max_commits=1, depth=0))
def test_required_features_are_always_supported(drawn: GeneratedTable) -> None:
    assert [state for state in drawn.states if "rowTracking" not in state.features] == []


@settings(max_examples=30, deadline=None, suppress_health_check=ALL_HEALTH_CHECKS)
@given(drawn=data_tables_with_states(max_commits=1, names=("long", "string"), depth=0, partitioned=False))
def test_only_given_shapes_are_drawn(drawn: GeneratedTable) -> None:
    assert len(drawn.files.commits) <= 2
    for version, state in zip(drawn.versions, drawn.states, strict=True):
        assert state.metadata["partitionColumns"] == []
        kinds = {get_type_name(each.type) for each in version.schema.fields}
        assert [
            name for name in kinds if not (name in ("long", "string", "double") or name.startswith("decimal"))
        ] == [], f"{version.schema=}"
