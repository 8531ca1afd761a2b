"""Planted faults of tables that use proposals which engines write."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.proposals import build_materialized_table, build_protected_table
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("materialized-partitions.stored", "footers")
def partition_column_not_materialized(draw: st.DrawFn) -> TableFiles:
    return build_materialized_table(last_is_cut=True)


@planted_fault("checkpoint-protection.removal")
def protection_dropped_before_history(draw: st.DrawFn) -> TableFiles:
    files = build_protected_table(draw_one(draw, 1, 2, 3))
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, [])]
    return files


@planted_fault("materialized-partitions.property")
def partition_column_property_unreadable(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, "maybe", "1", "yes", "")
    return log_only.build_table(configuration={"delta.writePartitionColumnsToParquet": value})


@planted_fault("materialized-partitions.property-followed", "footers")
def partition_columns_against_property(draw: st.DrawFn) -> TableFiles:
    value, last_is_cut = draw_one(draw, ("true", True), ("false", False))
    files = build_materialized_table(feature=False, last_is_cut=last_is_cut)
    get_action(files, 0, "metaData")["configuration"] = {"delta.writePartitionColumnsToParquet": value}
    return files


@planted_fault("checkpoint-protection.property")
def protected_version_unreadable(draw: st.DrawFn) -> TableFiles:
    files = build_protected_table(1)
    value = draw_one(draw, "-1", "1.0", "true", "", "v2")
    get_action(files, 0, "metaData")["configuration"]["delta.requireCheckpointProtectionBeforeVersion"] = value
    return files


@planted_fault("collations.schema")
def collation_malformed(draw: st.DrawFn) -> TableFiles:
    found = draw_one(
        draw, {"name": "ICU"}, {"name": "ICU.de.72"}, {"other": "ICU.de"}, {"name": 1}, "ICU.de", {"name": ""}
    )
    return _build_collated_table(found, ["collations", "domainMetadata"])


@planted_fault("collations.schema")
def collation_without_feature(draw: st.DrawFn) -> TableFiles:
    return _build_collated_table({"name": draw_one(draw, "ICU.de_DE", "spark.UTF8_LCASE")}, [])


def _build_collated_table(recorded: Any, features: list[str]) -> TableFiles:
    name = {"name": "name", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": recorded}}
    return log_only.build_table(protocol=protocol_action(1, 7, None, features), fields=[("id", "long"), name])


# previews


@planted_fault("table-features.reader-feature-on-both-sides", revisions=("current",))
def preview_listed_for_writers_only(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "variantType-preview", "typeWidening-preview", "deletionVectors-preview", "geospatial")
    reader, listed = draw_one(draw, (1, None), (3, []))
    return log_only.build_table(protocol=protocol_action(reader, 7, listed, [name]))


@planted_fault("table-features.writer-feature-for-writers", revisions=("current",))
def proposed_writer_feature_in_both_lists(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "checkpointProtection", "materializePartitionColumns", "inCommitTimestamp-preview")
    return log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))


@planted_fault("table-features.required-features", revisions=("current",))
def proposal_without_required_feature(draw: st.DrawFn) -> TableFiles:
    readers, writers = draw_one(
        draw,
        ([], ["collations"]),
        (["timestampNanos"], []),
        (["columnMapping"], ["icebergWriterCompatV1"]),
        (["columnMapping"], ["icebergWriterCompatV3"]),
        (["columnUpdates"], []),
    )
    return log_only.build_table(protocol=protocol_action(3, 7, readers, [*readers, *writers]))


@planted_fault("table-features.required-features", revisions=("current",))
def preview_without_required_feature(draw: st.DrawFn) -> TableFiles:
    readers, writers = draw_one(
        draw, (["variantShredding-preview"], []), ([], ["clustering-preview"]), ([], ["rowTracking-dev"])
    )
    return log_only.build_table(protocol=protocol_action(3, 7, readers, [*readers, *writers]))
