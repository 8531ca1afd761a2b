"""Planted faults of row ids that the log assigns, and of their high-water mark."""

import json

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action
from planted_tables.bases.actions import legacy_row_id_mark_action
from planted_tables.bases.row_ids import COLUMNS, build_r1_tracked_table, build_tracked_table, row_id_mark_domain
from planted_tables.faults.registry import draw_one, planted_fault


def _draw_tracked_table(draw: st.DrawFn) -> TableFiles:
    return build_tracked_table(enabled=draw(st.booleans()))


@planted_fault("row-tracking.unique-default-ids")
def row_ids_given_twice(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    get_action(files, 2, "add")["baseRowId"] = draw(st.integers(1, 19))  # b has 10 to 19
    return files


@planted_fault("row-tracking.high-water-mark")
def high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    files.commits[2][-1] = row_id_mark_domain(draw(st.integers(0, 28)))
    return files


@planted_fault("row-tracking.high-water-mark")
def row_ids_beyond_64_bits(draw: st.DrawFn) -> TableFiles:
    """The mark is the highest 64-bit number, and the last row of a file has a higher id."""
    files = _draw_tracked_table(draw)
    get_action(files, 2, "add")["baseRowId"] = 2**63 - 1 - draw(st.integers(0, 8))
    files.commits[2][-1] = row_id_mark_domain(2**63 - 1, "rowIdHighWaterMark")
    return files


@planted_fault("row-tracking.mark-in-domain")
def high_water_mark_absent(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    for version in (1, 2):
        files.commits[version].pop()
    return files


@planted_fault("row-tracking.mark-of-action")
def older_high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    files.commits[2][-2] = legacy_row_id_mark_action(draw(st.integers(0, 28)))
    return files


@planted_fault("row-tracking.mark-raised")
def older_high_water_mark_absent(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    for version in (1, 2):
        del files.commits[version][-2]
    return files


@planted_fault("row-ids.mark-covers-ids")
def first_high_water_mark_behind(draw: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table()
    files.commits[2][-1] = legacy_row_id_mark_action(draw(st.integers(0, 28)), preservedRowIds=draw(st.booleans()))
    return files


@planted_fault("row-ids.mark-with-new-files")
def first_high_water_mark_absent(_: st.DrawFn) -> TableFiles:
    files = build_r1_tracked_table()
    for version in (1, 2):
        files.commits[version].pop()
    return files


@planted_fault("row-tracking.base-row-id")
def base_row_id_absent(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    del get_action(files, 2, "add")["baseRowId"]
    return files


@planted_fault("row-tracking.commit-version")
def default_row_commit_version_absent(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    del get_action(files, 2, "add")["defaultRowCommitVersion"]
    return files


@planted_fault("remove.row-ids")
def row_ids_left_out_of_remove(draw: st.DrawFn) -> TableFiles:
    files = _draw_tracked_table(draw)
    removed = get_action(files, 2, "remove")
    removed.update(draw_one(draw, {"baseRowId": None}, {"defaultRowCommitVersion": None}, {"baseRowId": 7}))
    return files


@planted_fault("row-tracking.column-names")
def hidden_column_without_a_name(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    del get_action(files, 0, "metaData")["configuration"][draw_one(draw, *COLUMNS)]
    return files


@planted_fault("row-tracking.column-names-unique")
def column_with_the_name_of_a_former_hidden_column(draw: st.DrawFn) -> TableFiles:
    """A commit changes the property, and the same or a later one adds the column."""
    files = build_tracked_table()
    metadata = get_action(files, 0, "metaData")
    name = draw_one(draw, *COLUMNS)
    renamed = {**metadata, "configuration": {**metadata["configuration"], name: "another"}}
    field = {"name": COLUMNS[name], "type": "long", "nullable": True, "metadata": {}}
    schema = json.loads(metadata["schemaString"])
    text = json.dumps({**schema, "fields": [*schema["fields"], field]})
    version = max(files.commits) + 1
    if draw(st.booleans()):
        files.commits[version] = [commit_info_action(version), {"metaData": renamed}]
        version += 1
    files.commits[version] = [commit_info_action(version), {"metaData": {**renamed, "schemaString": text}}]
    return files


@planted_fault("row-tracking.column-names-unique")
def hidden_column_of_a_taken_name(draw: st.DrawFn) -> TableFiles:
    files = build_tracked_table()
    get_action(files, 0, "metaData")["configuration"][draw_one(draw, *COLUMNS)] = draw_one(draw, "id", "name")
    return files
