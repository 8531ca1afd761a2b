"""Valid tables of schemas, partition values, statistics in the log, and properties."""

import json
from typing import Any

from deltaspec.protocol.property_names import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    GENERATION_EXPRESSION,
    INVARIANTS,
    MAX_COLUMN_ID,
    PARQUET_CODEC,
    PHYSICAL_NAME,
    TYPE_CHANGES,
)
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only
from planted_tables.permissions.registry import permission

_ARRAY: dict[str, Any] = {"type": "array", "elementType": "long", "containsNull": True}
_MAP: dict[str, Any] = {"type": "map", "keyType": "string", "valueType": "long"}


def _build_field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _struct_type(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _build_table_with_statistics(**statistics: Any) -> TableFiles:
    """Build a table whose last add has these statistics of ten rows."""
    files = log_only.build_table()
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 10, **statistics})
    return files


# schemas


@permission("schema.map-value-null")
def maps_with_and_without_nulls() -> TableFiles:
    maps = [_build_field(str(word), {**_MAP, "valueContainsNull": word}) for word in (True, False)]
    return log_only.build_table(fields=[("id", "long"), *maps])


@permission("schema.column-metadata")
def columns_with_keys_of_every_feature() -> TableFiles:
    def mapped(number: int, name: str, kind: str, **metadata: Any) -> dict[str, Any]:
        ids = {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}
        return _build_field(name, kind, **ids, **metadata)

    invariant = json.dumps({"expression": {"expression": "price > 0"}})
    identity = {"start": 1, "step": 1, "highWaterMark": 3, "allowExplicitInsert": False}
    return log_only.build_table(
        protocol=protocol_action(2, 6),
        configuration={COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "4"},
        fields=[
            mapped(1, "id", "long", **{f"delta.identity.{key}": value for key, value in identity.items()}),
            mapped(2, "price", "double", **{INVARIANTS: invariant, "comment": "net"}),
            mapped(3, "twice", "double", **{GENERATION_EXPRESSION: "price * 2"}),
            mapped(4, "code", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(8)"),
        ],
    )


@permission("schema.column-default")
def column_with_a_default() -> TableFiles:
    return log_only.build_table(
        protocol=protocol_action(1, 7, None, ["allowColumnDefaults"]),
        fields=[("id", "long"), _build_field("name", "string", CURRENT_DEFAULT="'none'")],
    )


@permission("schema.column-type-changes")
def column_that_was_widened() -> TableFiles:
    changes = [{"fromType": "integer", "toType": "long"}]
    return log_only.build_table_with_features(
        "typeWidening", fields=[_build_field("id", "long", **{TYPE_CHANGES: changes})]
    )


@permission("schema.void")
def void_at_top_level_and_nested() -> TableFiles:
    nested = _struct_type(_build_field("nothing", "void"), _build_field("x", "long"))
    return log_only.build_table(fields=[("id", "long"), ("nothing", "void"), ("s", nested)])


def _build_table_without_files(*fields: Any) -> TableFiles:
    files = log_only.build_table(fields=fields)
    files.commits = {
        0: files.commits[0],
        1: [commit_info_action(1), metadata_action(fields, description="altered")],
    }
    return files


@permission("schema.void-without-files")
def void_in_containers_of_no_file() -> TableFiles:
    voids = {**_MAP, "valueType": {**_ARRAY, "elementType": "void"}, "valueContainsNull": True}
    return _build_table_without_files(("id", "long"), ("c", voids), ("s", _struct_type(_build_field("x", "void"))))


@permission("schema.void-without-files")
def nothing_but_void_and_no_file() -> TableFiles:
    return _build_table_without_files(("a", "void"))


@permission("schema.void-evolves")
def void_that_became_other_types() -> TableFiles:
    files = log_only.build_table(fields=[("id", "long"), ("a", "void"), ("b", "void")])
    files.commits[2].append(metadata_action([("id", "long"), ("a", "string"), ("b", {**_ARRAY})]))
    return files


# partition values


@permission("partition-values.timestamp-in-utc")
def timestamps_in_utc() -> TableFiles:
    fields = (("id", "long"), ("at", "timestamp"))
    files = log_only.build_table(
        fields=fields, partition_columns=["at"], partition={"at": "2024-03-01T10:00:00.000001Z"}
    )
    get_action(files, 2, "add")["partitionValues"] = {"at": "0001-01-01T00:00:00Z"}
    return files


# statistics


@permission("statistics.optional")
def adds_with_and_without_statistics() -> TableFiles:
    files = log_only.build_table()
    del get_action(files, 2, "add")["stats"]
    return files


@permission("statistics.optional-in-remove")
def remove_with_statistics() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 2, "remove")["stats"] = get_action(files, 1, "add")["stats"]
    return files


@permission("statistics.tight-flag")
def bounds_that_are_tight() -> TableFiles:
    return _build_table_with_statistics(minValues={"id": 1}, maxValues={"id": 9}, nullCount={"id": 0}, tightBounds=True)


@permission("statistics.tight-flag")
def bounds_that_are_wide() -> TableFiles:
    return _build_table_with_statistics(
        minValues={"id": 1}, maxValues={"id": 9}, nullCount={"id": 4}, tightBounds=False
    )


# properties


@permission("configuration.codec-names")
def codecs_in_either_case() -> TableFiles:
    files = log_only.build_table(configuration={PARQUET_CODEC: "ZSTD"})
    names = ("uncompressed", "None", "snappy", "GZIP", "lz4", "lz4_raw")
    for version, name in enumerate(names, start=3):
        property_set = {PARQUET_CODEC: name}
        files.commits[version] = [
            commit_info_action(version),
            metadata_action(log_only.FIELDS, configuration=property_set),
        ]
    return files
