"""Planted faults of actions: legacy formats, domains, change data, rows stated to be unchanged."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec.protocol.time_units import DAY_MS
from deltaspec_generators.small_tables import add_data_file, add_rewrite, build_rows, build_table_with_data
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    inline_vector_descriptor,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import (
    DOMAIN_METADATA_PROTOCOL,
    build_change_rows,
    build_partitioned_change_table,
    build_rearranged_table,
    build_updated_table,
    legacy_row_id_mark_action,
)
from planted_tables.bases.checkpoints import build_table_without_tombstone
from planted_tables.bases.retention import REMOVED_MS
from planted_tables.faults.registry import draw_one, planted_fault


def _build_table_with_domain(configuration: Any) -> TableFiles:
    """Build a table with a user domain that has this configuration."""
    files = log_only.build_table(protocol=DOMAIN_METADATA_PROTOCOL)
    body = {"domain": "app.settings", "configuration": configuration, "removed": False}
    files.commits[2].append({"domainMetadata": body})
    return files


@planted_fault("domain.configuration-string")
def configuration_of_domain_is_a_map(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_domain(draw_one(draw, {}, {"mode": "fast"}))


@planted_fault("domain.configuration-map")
def configuration_of_domain_is_no_map(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_domain(draw_one(draw, ["mode"], 7, {"mode": 7}, {"mode": {}}))


@planted_fault("row-id-mark.fields")
def mark_without_a_number(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    broken = draw_one(draw, {}, {"highWaterMark": "9"}, {"highWaterMark": 2**63}, {"highWaterMark": None})
    files.commits[2].append({"rowIdHighWaterMark": {"preservedRowIds": True, **broken}})
    return files


@planted_fault("row-id-mark.preserved")
def mark_that_says_not_whether_ids_were_kept(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(
        legacy_row_id_mark_action(9, **draw_one(draw, {}, {"preservedRowIds": "yes"}, {"preservedRowIds": None}))
    )
    return files


@planted_fault("domain.pre-image")
def domain_removed_with_another_configuration(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_domain('{"mode":"fast"}')
    files.commits[3] = [commit_info_action(3), domain_action("app.settings", draw_one(draw, "", "{}"), removed=True)]
    return files


@planted_fault("domain.demands-on-readers")
def unknown_system_domain_for_readers(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=DOMAIN_METADATA_PROTOCOL)
    files.commits[2].append(domain_action(draw_one(draw, "delta.rowFilters", "delta.encodings")))
    return files


@planted_fault("domain.demands-on-writers", revisions=("r3", "current"))
def system_domain_of_an_absent_feature(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=DOMAIN_METADATA_PROTOCOL)
    clustered = domain_action("delta.clustering", '{"clusteringColumns":["id"]}')
    files.commits[2].append(draw_one(draw, clustered, domain_action("delta.rowTracking", '{"rowIdHighWaterMark":9}')))
    return files


@planted_fault("domain.user-naming")
def domain_named_like_another(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_domain("{}")
    files.commits[3] = [
        commit_info_action(3),
        domain_action(draw_one(draw, "App.settings", "Delta.mine", "DELTA.x", "", " ")),
    ]
    return files


@planted_fault("domain.preserved")
def domain_of_others_dropped_from_checkpoint(_: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=DOMAIN_METADATA_PROTOCOL)
    files.commits[1].append(domain_action("com.example.unheard", "1"))
    return files


@planted_fault("remove.tombstone-kept")
def tombstone_forgotten(draw: st.DrawFn) -> TableFiles:
    files = build_table_without_tombstone()
    files.clock_ms = REMOVED_MS + draw(st.integers(0, 7)) * DAY_MS
    return files


@planted_fault("add.logical-file-key")
def logical_file_added_and_removed(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_features("deletionVectors", configuration={DELETION_VECTORS: "true"})
    vector = draw_one(draw, {}, {"deletionVector": inline_vector_descriptor()})
    add = add_action("d.parquet", rows=10, **vector)
    files.commits[3] = [commit_info_action(3), add, remove_action(add)]
    return files


@planted_fault("cdc.partition-directories")
def change_file_beside_its_partition(draw: st.DrawFn) -> TableFiles:
    return build_partitioned_change_table(draw_one(draw, "_change_data/cdc-0.parquet", "_change_data/p=x.parquet"))


def _build_update_without_changes(protocol: dict[str, Any]) -> TableFiles:
    files, _ = build_updated_table()
    files.commits[0][1] = protocol
    cdc = files.commits[2].pop()
    assert isinstance(cdc, dict)
    del files.data[cdc["cdc"]["path"]]
    return files


@planted_fault("cdc.enabled-before-features", level="rows")
def update_without_changes_at_version_4(draw: st.DrawFn) -> TableFiles:
    return _build_update_without_changes(draw_one(draw, protocol_action(1, 4), protocol_action(1, 6)))


@planted_fault("cdc.enabled-with-feature", level="rows")
def update_without_changes_with_feature(draw: st.DrawFn) -> TableFiles:
    listed = draw_one(draw, ["changeDataFeed"], ["changeDataFeed", "appendOnly"])
    return _build_update_without_changes(protocol_action(1, 7, None, listed))


@planted_fault("data-files.change-type-column", level="rows")
def change_types_in_a_data_file(draw: st.DrawFn) -> TableFiles:
    files, _ = build_updated_table()
    kinds = draw(st.lists(st.sampled_from(["insert", None]), min_size=10, max_size=10).filter(any))
    files.commits[3] = [
        commit_info_action(3),
        add_data_file(files, "c.parquet", build_change_rows(build_rows(20), kinds), stats=None),
    ]
    return files


@planted_fault("add.unchanged-rows")
def new_rows_without_data_change(draw: st.DrawFn) -> TableFiles:
    counts = draw(st.lists(st.integers(0, 9), max_size=3))
    return build_rearranged_table(counts, [sum(counts) + draw(st.integers(1, 9))], stated_by_removes=False)


@planted_fault("remove.unchanged-rows")
def lost_rows_without_data_change(draw: st.DrawFn) -> TableFiles:
    counts = draw(st.lists(st.integers(0, 9), max_size=3))
    return build_rearranged_table([sum(counts) + draw(st.integers(1, 9))], counts)


@planted_fault("add.unchanged-rows", level="rows")
def row_replaced_without_data_change(draw: st.DrawFn) -> TableFiles:
    files, rows = build_table_with_data(), pa.concat_tables([build_rows(10), build_rows(20)])
    damaged = draw(st.integers(10, 29))
    ids = [damaged + 100 if each == damaged else each for each in rows["id"].to_pylist()]
    return add_rewrite(files, rows.set_column(0, "id", pa.array(ids)), states_counts=draw(st.booleans()))


@planted_fault("remove.unchanged-rows", level="rows")
def row_lost_without_data_change_or_count(draw: st.DrawFn) -> TableFiles:
    files, rows = build_table_with_data(), pa.concat_tables([build_rows(10), build_rows(20)])
    return add_rewrite(files, rows.slice(draw(st.integers(1, 19))), states_counts=False)


@planted_fault("remove.tags-with-extended-metadata")
def tags_lost_with_the_file(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    get_action(files, 1, "add")["tags"] = {"clustered": "yes"}
    get_action(files, 2, "remove").update(draw_one(draw, {}, {"tags": None}, {"tags": {}}))
    return files
