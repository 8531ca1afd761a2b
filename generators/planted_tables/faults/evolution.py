"""Planted faults of protocols and features: names, upgrades, and use without support."""

from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import APPEND_ONLY, CHANGE_DATA_FEED, DELETION_VECTORS
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.feature_uses import FEATURE_USES, FeatureUse, append_commit
from planted_tables.faults.registry import draw_one, planted_fault


def _build_table(*arguments: Any) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(*arguments))


def _add_metadata(files: TableFiles, version: int, configuration: dict[str, str]) -> None:
    """Add the metadata of the table again with another configuration."""
    files.commits[version].append({"metaData": {**get_action(files, 0, "metaData"), "configuration": configuration}})


@planted_fault("protocol.field-names")
def protocol_as_the_samples_print_it(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    body = {"readerVersion": 2, "writerVersion": 7, "writerFeatures": ["columnMapping", "identityColumns"]}
    both = {**body, "readerVersion": 3, "readerFeatures": ["columnMapping"]}
    files.commits[2].append({"protocol": draw_one(draw, body, both)})
    return files


@planted_fault("protocol.breaking-changes")
def constraint_that_old_writers_pass_over(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    _add_metadata(files, 2, {"delta.constraints.positive": "id > 0"})
    return files


def _drop_used_feature(draw: st.DrawFn, revision: str) -> TableFiles:
    """Drop a feature by a protocol alone: from the lists, or with all others by lower versions."""
    use: FeatureUse = draw_one(draw, *(each for each in FEATURE_USES.values() if each.revisions[0] == revision))
    files = use.build_table()
    append_commit(files, draw_one(draw, use.build_protocol(supported=False), protocol_action(1, 1)))
    return files


@planted_fault("protocol.breaking-changes")
def feature_dropped_while_used(draw: st.DrawFn) -> TableFiles:
    return _drop_used_feature(draw, "r1")


@planted_fault("protocol.breaking-changes", revisions=("r2", "r3", "current"))
def row_tracking_dropped_while_used(draw: st.DrawFn) -> TableFiles:
    return _drop_used_feature(draw, "r2")


@planted_fault("protocol.breaking-changes", revisions=("r3", "current"))
def later_feature_dropped_while_used(draw: st.DrawFn) -> TableFiles:
    return _drop_used_feature(draw, "r3")


@planted_fault("protocol.breaking-changes", revisions=("current",))
def newest_feature_dropped_while_used(draw: st.DrawFn) -> TableFiles:
    return _drop_used_feature(draw, "current")


@planted_fault("protocol.breaking-changes")
def used_feature_left_out_by_an_upgrade(draw: st.DrawFn) -> TableFiles:
    """The new lists do not have a feature that the old versions implied."""
    name = draw_one(draw, "constraint", "change data", "mapping", "generated column", "identity column", "invariant")
    files = FEATURE_USES[name].build_table(protocol_action(2, 6))
    append_commit(files, FEATURE_USES[name].build_protocol(supported=False))
    return files


@planted_fault("protocol.breaking-changes")
def used_feature_of_a_later_version(draw: st.DrawFn) -> TableFiles:
    """The protocol returns to a legacy version that does not imply the feature."""
    name, version = draw_one(
        draw, ("constraint", 2), ("change data", 3), ("mapping", 4), ("generated column", 3), ("identity column", 5)
    )
    files = FEATURE_USES[name].build_table(protocol_action(2, 6))
    append_commit(files, protocol_action(1, version))
    return files


@planted_fault("protocol.new-tables-list-both")
def table_created_without_reader_list(draw: st.DrawFn) -> TableFiles:
    return _build_table(3, 7, None, ["appendOnly", "invariants"][: draw_one(draw, 0, 1, 2)])


@planted_fault("protocol.new-tables-list-writers")
def table_created_with_a_reader_list_too_many(draw: st.DrawFn) -> TableFiles:
    return _build_table(draw_one(draw, 1, 2), 7, [], ["appendOnly"])


def _build_upgraded_table(feature: str, configuration: dict[str, str], reader: int, writer: int) -> TableFiles:
    """Build a table that used a legacy feature but does not list it when it upgrades to table features."""
    files = log_only.build_table(protocol=protocol_action(reader, writer))
    _add_metadata(files, 1, configuration)
    _add_metadata(files, 2, {})
    other_features = [
        name for name in ("appendOnly", "invariants", "checkConstraints", "changeDataFeed") if name != feature
    ]
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, other_features)]
    return files


@planted_fault("protocol.upgrade-assumes-use")
def used_constraint_not_listed(draw: st.DrawFn) -> TableFiles:
    return _build_upgraded_table(
        "checkConstraints", {"delta.constraints.positive": "id > 0"}, 1, draw_one(draw, 3, 4, 6)
    )


@planted_fault("protocol.upgrade-lists-used")
def used_change_feed_not_listed(draw: st.DrawFn) -> TableFiles:
    """The protocol's example: the change data feed was enabled for a while."""
    return _build_upgraded_table("changeDataFeed", {CHANGE_DATA_FEED: "true"}, 1, draw_one(draw, 4, 5))


@planted_fault("table-features.no-table-of-readers-alone")
def table_of_reader_features_alone(draw: st.DrawFn) -> TableFiles:
    return _build_table(3, 7, ["v2Checkpoint"], [])


@planted_fault("table-features.added-on-both-sides")
def feature_added_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    files = _build_table(3, 7, [], ["appendOnly"])
    files.commits[2].append(
        protocol_action(3, 7, [], ["appendOnly", draw_one(draw, "deletionVectors", "columnMapping")])
    )
    return files


@planted_fault("table-features.reader-feature-on-both-sides", revisions=("r1", "r2"))
def old_timestamp_feature_in_one_list(draw: st.DrawFn) -> TableFiles:
    return _build_table(3, 7, [], [draw_one(draw, "timestampNTZ", "timestampNtz")])


@planted_fault("table-features.v2-checkpoint-on-both-sides")
def v2_checkpoint_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    versions = draw_one(draw, (3, []), (1, None))
    return _build_table(versions[0], 7, versions[1], ["v2Checkpoint"])


@planted_fault("vacuum-protocol-check.on-both-sides")
def vacuum_check_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    versions = draw_one(draw, (3, []), (2, None))
    return _build_table(versions[0], 7, versions[1], ["vacuumProtocolCheck"])


@planted_fault("table-features.name-of-row-ids")
def row_ids_by_another_name(draw: st.DrawFn) -> TableFiles:
    return _build_table(1, 7, None, [draw_one(draw, "delta.rowIds", "rowids")])


@planted_fault("table-features.name-of-row-tracking")
def row_tracking_by_another_name(draw: st.DrawFn) -> TableFiles:
    return _build_table(1, 7, None, [draw_one(draw, "rowIds", "delta.rowIds", "rowtracking")])


@planted_fault("table-features.name-of-timestamps-before")
def old_timestamp_feature_misspelt(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "timestampntz", "TimestampNTZ")
    return _build_table(3, 7, [name], [name])


@planted_fault("table-features.names-of-features-since-v2-checkpoints")
def feature_since_v2_checkpoints_misspelt(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "timestampNTZ", "v2checkpoint", "icebergcompatV2", "Clustering", "AllowColumnDefaults")
    readers = [name] if name in ("timestampNTZ", "v2checkpoint") else []
    return _build_table(3, 7, readers, [name])


@planted_fault("table-features.names-of-newest-features")
def newest_feature_misspelt(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "typewidening", "VariantType", "inCommitTimeStamp", "vacuumprotocolcheck", "catalogmanaged")
    return _build_table(3, 7, [] if name == "inCommitTimeStamp" else [name], [name])


@planted_fault("table-features.disabled")
def property_of_a_disabled_feature(draw: st.DrawFn) -> TableFiles:
    property_name = draw_one(draw, CHANGE_DATA_FEED, DELETION_VECTORS)
    return log_only.build_table(
        protocol=protocol_action(1, 7, None, ["appendOnly"]), configuration={property_name: "true"}
    )


@planted_fault("append-only.needs-support")
def append_only_without_support(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 1), protocol_action(1, 7, None, []))
    return log_only.build_table(protocol=protocol, configuration={APPEND_ONLY: "true"}, last_remove=False)


@planted_fault("append-only.lifted")
def append_only_lifted_by_something_else(draw: st.DrawFn) -> TableFiles:
    """A metadata change precedes the removal, but the property stays true."""
    files = log_only.build_table(configuration={APPEND_ONLY: "true"}, last_remove=False)
    files.commits[3] = [commit_info_action(3)]
    _add_metadata(files, 3, {APPEND_ONLY: draw_one(draw, "true", "TRUE"), "owner": "somebody"})
    added = add_action("a.parquet", rows=10)
    files.commits[4] = [commit_info_action(4), remove_action(added)]
    return files
