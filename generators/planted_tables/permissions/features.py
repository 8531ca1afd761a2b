"""Valid tables of single features: column metadata, clustering, row tracking, type widening, Iceberg, variants."""

import json
from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    GENERATION_EXPRESSION,
    IDENTITY_EXPLICIT_INSERT,
    IDENTITY_HIGH_WATER_MARK,
    IDENTITY_START,
    IDENTITY_STEP,
    INVARIANTS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    TYPE_CHANGES,
    TYPE_WIDENING,
)
from deltaspec_generators.small_tables import FIELDS as DATA_FIELDS
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import catalog_managed, log_only
from planted_tables.bases.clustering import CLUSTERING_PROTOCOL, build_clustered_table
from planted_tables.permissions.registry import permission


def _build_table_with_column_metadata(kind: str, metadata: dict[str, Any], protocol: Any) -> TableFiles:
    """Build a table whose first column has this metadata."""
    fields = [{"name": "id", "type": kind, "nullable": True, "metadata": metadata}, ("name", "string")]
    return log_only.build_table(protocol=protocol, fields=fields)


INVARIANT = {INVARIANTS: json.dumps({"expression": {"expression": "id > 3"}})}


@permission("column-invariants.key")
def invariant_of_a_column() -> TableFiles:
    return _build_table_with_column_metadata("long", INVARIANT, protocol_action(1, 2))


@permission("column-invariants.in-force")
def invariant_without_a_feature() -> TableFiles:
    return _build_table_with_column_metadata("long", INVARIANT, protocol_action(1, 6))


@permission("generated-columns.key")
def column_generated_from_another() -> TableFiles:
    return _build_table_with_column_metadata("long", {GENERATION_EXPRESSION: "length(name)"}, protocol_action(1, 4))


IDENTITY = {IDENTITY_START: 5, IDENTITY_STEP: -3, IDENTITY_EXPLICIT_INSERT: False}


@permission("identity-columns.start")
def identity_column_that_starts_anywhere() -> TableFiles:
    return _build_table_with_column_metadata("long", {**IDENTITY, IDENTITY_START: -(2**63)}, protocol_action(1, 6))


@permission("identity-columns.step")
def identity_column_that_goes_down() -> TableFiles:
    return _build_table_with_column_metadata("long", IDENTITY, protocol_action(1, 6))


@permission("identity-columns.mark")
def identity_column_with_values_given() -> TableFiles:
    return _build_table_with_column_metadata("long", {**IDENTITY, IDENTITY_HIGH_WATER_MARK: -4}, protocol_action(1, 6))


@permission("identity-columns.explicit-insert")
def identity_column_that_users_may_fill() -> TableFiles:
    return _build_table_with_column_metadata(
        "long", {**IDENTITY, IDENTITY_EXPLICIT_INSERT: True}, protocol_action(1, 6)
    )


DEFAULTS_PROTOCOL = protocol_action(1, 7, None, ["allowColumnDefaults"])


@permission("default-columns.key")
def default_of_a_column() -> TableFiles:
    return _build_table_with_column_metadata("long", {"CURRENT_DEFAULT": "7"}, DEFAULTS_PROTOCOL)


@permission("default-columns.later")
def default_given_and_changed() -> TableFiles:
    files = log_only.build_table(protocol=DEFAULTS_PROTOCOL)
    for version, default in ((3, "7"), (4, "length('a')")):
        first = {"name": "id", "type": "long", "nullable": True, "metadata": {"CURRENT_DEFAULT": default}}
        files.commits[version] = [commit_info_action(version), metadata_action([first, ("name", "string")])]
    return files


@permission("clustering.configuration")
def clustering_columns_as_the_example_lists_them() -> TableFiles:
    return build_clustered_table()


@permission("clustering.configuration")
def clustering_columns_in_another_case() -> TableFiles:
    """Without column mapping, names are case-insensitive, and both spellings name the same column."""
    files = build_clustered_table()
    files.commits[0][-1] = domain_action("delta.clustering", json.dumps({"clusteringColumns": ["ID", ["Id"]]}))
    return files


@permission("clustering.configuration", "rows")
def clustered_by_a_column_that_older_files_lack() -> TableFiles:
    """Files older than the column have no statistics of it, even when they are added again."""
    files = build_table_with_data(protocol=CLUSTERING_PROTOCOL)
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": []})))
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"a": "b"}}}
    files.commits[3] = [commit_info_action(3), metadata_action([*DATA_FIELDS, ("day", "date")])]
    files.commits[4] = [
        commit_info_action(4),
        domain_action("delta.clustering", json.dumps({"clusteringColumns": [["day"]]})),
    ]
    files.commits[5] = [commit_info_action(5), again]
    return files


@permission("clustering.further-domains")
def clustering_with_state_of_its_own() -> TableFiles:
    return build_clustered_table(domain_action("org.example.zorder", '{"curve": "hilbert"}'))


ROW_ID_MARK = domain_action("delta.rowTracking", '{"rowIdHighWaterMark": 29}')
R2_ROW_ID_MARK = {"rowIdHighWaterMark": {"highWaterMark": 29}}
"""Row id mark of r2, where later revisions use the domain and ignore this action."""
ROW_TRACKING_PROTOCOL = protocol_action(1, 7, None, ["rowTracking", "domainMetadata"])


@permission("row-tracking.supported")
def rows_without_ids_from_before_the_feature() -> TableFiles:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), deepcopy(ROW_TRACKING_PROTOCOL)]
    return files


@permission("row-tracking.enabled")
def row_tracking_enabled_after_files_got_ids() -> TableFiles:
    files = log_only.build_table(protocol=ROW_TRACKING_PROTOCOL)
    for version, which, base in ((1, 0, 0), (1, 1, 10), (2, 0, 20)):
        get_action(files, version, "add", which).update(baseRowId=base, defaultRowCommitVersion=version)
    get_action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    files.commits[1] += [ROW_ID_MARK, R2_ROW_ID_MARK]
    configuration = {
        ROW_TRACKING: "true",
        ROW_ID_COLUMN: "_row_id",
        ROW_COMMIT_VERSION_COLUMN: "_row_commit_version",
    }
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration=configuration)]
    return files


def _build_widened_table(*steps: Sequence[str]) -> TableFiles:
    """Build a table whose columns are widened step by step, one step per commit."""
    enabled = {TYPE_WIDENING: "true"}
    names = [f"c{number}" for number in range(len(steps))]
    files = log_only.build_table_with_features(
        "typeWidening",
        configuration=enabled,
        fields=[(name, types[0]) for name, types in zip(names, steps, strict=True)],
    )
    for turn in range(1, max(map(len, steps))):
        fields = [_build_widened_field(name, types[: turn + 1]) for name, types in zip(names, steps, strict=True)]
        files.commits[2 + turn] = [commit_info_action(2 + turn), metadata_action(fields, configuration=enabled)]
    return files


def _build_widened_field(name: str, types: Sequence[str]) -> dict[str, Any]:
    changes = [{"fromType": old, "toType": new} for old, new in pairwise(types)]
    metadata = {TYPE_CHANGES: changes} if changes else {}
    return {"name": name, "type": types[-1], "nullable": True, "metadata": metadata}


@permission("type-widening.integers")
def integers_widened() -> TableFiles:
    return _build_widened_table(("byte", "short", "integer", "long"), ("byte", "long"))


@permission("type-widening.floats")
def numbers_widened_to_double() -> TableFiles:
    return _build_widened_table(("float", "double"), ("byte", "double"), ("short", "double"), ("integer", "double"))


@permission("type-widening.decimals")
def decimals_widened() -> TableFiles:
    return _build_widened_table(("decimal(6,2)", "decimal(10,4)", "decimal(38,4)"))


@permission("type-widening.integers-to-decimals")
def integers_widened_to_decimals() -> TableFiles:
    return _build_widened_table(
        ("byte", "decimal(10,0)"), ("integer", "decimal(12,2)"), ("long", "decimal(20,0)", "decimal(38,18)")
    )


@permission("type-widening.dates")
def date_widened_to_timestamp() -> TableFiles:
    files = _build_widened_table(("date", "timestamp_ntz"))
    features = ["typeWidening", "timestampNtz"]
    files.commits[0][1] = protocol_action(3, 7, features, features)
    return files


def _build_iceberg_table(version: str) -> TableFiles:
    """Build a table with column mapping by name and Iceberg compatibility."""
    files = log_only.build_table_with_column_mapping("name")
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", f"icebergCompat{version}"])
    get_action(files, 0, "metaData")["configuration"][f"delta.enableIcebergCompat{version}"] = "true"
    return files


@permission("iceberg-v1.enabled")
def compatible_with_iceberg_v1() -> TableFiles:
    return _build_iceberg_table("V1")


@permission("iceberg-v2.enabled")
def compatible_with_iceberg_v2() -> TableFiles:
    return _build_iceberg_table("V2")


VARIANT_FIELDS = [("id", "long"), ("v", "variant")]


@permission("variant.null-counts")
def nulls_of_a_variant_counted() -> TableFiles:
    files = log_only.build_table_with_features("variantType", fields=VARIANT_FIELDS)
    files.commits[2][1] = add_action("c.parquet", stats='{"numRecords": 10, "nullCount": {"id": 0, "v": 3}}')
    return files


@permission("variant.other-uses")
def variant_with_constraint_default_and_change_data() -> TableFiles:
    variant = {"name": "v", "type": "variant", "nullable": True, "metadata": {"CURRENT_DEFAULT": "NULL"}}
    configuration = {"delta.constraints.known": "v IS NOT NULL", CHANGE_DATA_FEED: "true"}
    writers = ["checkConstraints", "allowColumnDefaults", "changeDataFeed"]
    fields = [("id", "long"), variant]
    return log_only.build_table_with_features("variantType", writer=writers, fields=fields, configuration=configuration)


@permission("catalog-managed.ratified-by-publishing")
def commits_ratified_by_publishing() -> TableFiles:
    return catalog_managed.build_managed_table()


@permission("catalog-managed.checksum-before-publishing")
def checksum_of_a_version_not_published() -> TableFiles:
    files = log_only.build_table_with_transaction_checksum("2a")
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[3] = {**body, "inCommitTimestampOpt": 1_700_000_000_003, "txnId": "3a"}
    return files
