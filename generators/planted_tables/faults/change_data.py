"""Planted faults of change data, visible at level `rows`."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from deltaspec_generators.tables.strategies import variant_arrays, variant_values
from deltaspec_generators.values.variant_encoder import encode_variant
from planted_tables.bases.actions import (
    CHANGE_FEED_ENABLED,
    CHANGE_FILE_PATH,
    add_change_file,
    build_change_rows,
    build_table_updated_by_vector,
    build_updated_table,
    build_updated_table_with_changes,
)
from planted_tables.bases.variants import PLACES, build_table_with_changed_variant
from planted_tables.faults.registry import draw_one, planted_fault


def _replace_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, name, pa.array(values, table.schema.field(index).type))


@planted_fault("cdc.change-type-column", level="rows")
def change_type_absent(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    without_types = table.drop_columns(["_change_type"])
    return build_updated_table_with_changes(
        draw_one(draw, without_types, without_types.append_column("change_type", table["_change_type"]))
    )


@planted_fault("cdc.change-type-column", level="rows")
def change_type_as_a_number(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    numbers = draw_one(draw, pa.array([1, 2, 3], pa.int32()), pa.array([0.5, 1.5, None], pa.float64()))
    index = table.schema.get_field_index("_change_type")
    return build_updated_table_with_changes(table.set_column(index, "_change_type", numbers))


@planted_fault("cdc.change-types", level="rows")
def change_type_of_no_kind(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    invalid = draw_one(draw, "upsert", "DELETE", "", None)
    return build_updated_table_with_changes(
        _replace_column(table, "_change_type", ["update_preimage", "update_postimage", invalid])
    )


@planted_fault("cdc.no-commit-columns", level="rows")
def commit_version_stored(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    return build_updated_table_with_changes(
        table.append_column(draw_one(draw, "_commit_version", "_commit_timestamp"), pa.array([2, 2, 2]))
    )


@planted_fault("cdc.stored-partition-values", level="rows")
def change_file_of_another_partition(draw: st.DrawFn) -> TableFiles:
    files = TableFiles()
    fields, partition = [*FIELDS, ("p", "integer")], {"p": "1"}
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(fields, ["p"], CHANGE_FEED_ENABLED),
    ]
    add = add_data_file(files, "a.parquet", build_rows(), partition=partition)
    files.commits[1] = [commit_info_action(1), add]
    table = build_change_rows(build_rows(5, 5), ["delete"] * 5).append_column(
        "p", pa.array(draw_one(draw, [2] * 5, [1, 1, 1, 1, None]), pa.int32())
    )
    files.commits[2] = [
        commit_info_action(2, operation="DELETE"),
        add_data_file(files, "b.parquet", build_rows(0, 5), partition=partition),
        remove_action(add),
        add_change_file(files, "_change_data/p=1/cdc-0.parquet", table, partitionValues=partition),
    ]
    return files


@planted_fault("cdc.images-in-pairs", level="rows")
def preimage_called_a_delete(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    kinds = draw_one(draw, ["delete", "update_postimage", "delete"], ["update_preimage", "insert", "delete"])
    return build_updated_table_with_changes(_replace_column(table, "_change_type", kinds))


@planted_fault("cdc.whole-changes", level="rows")
def change_left_out(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    return build_updated_table_with_changes(
        draw_one(draw, table.slice(0, 2), pa.concat_tables([table, table.slice(2)]))
    )


@planted_fault("cdc.whole-changes", level="rows")
def change_of_another_row(draw: st.DrawFn) -> TableFiles:
    _, table = build_updated_table()
    changes: dict[str, list[Any]] = {
        "id": [3, 3, 5],
        "name": ["name 003", "changed", "name 004"],
        "price": [1.5, 1.0, 2.0],
    }
    name = draw_one(draw, *changes)
    return build_updated_table_with_changes(_replace_column(table, name, changes[name]))


@planted_fault("cdc.whole-changes", level="rows", revisions=("current",))
def change_of_another_variant(draw: st.DrawFn) -> TableFiles:
    """The postimage has another variant than the new file, at any nesting, shredded or not."""
    old, new, wrong = draw(st.lists(variant_values(), min_size=3, max_size=3, unique_by=encode_variant))
    return build_table_with_changed_variant(
        draw(st.sampled_from(PLACES)),
        before=draw(variant_arrays([old])),
        after=draw(variant_arrays([new])),
        changes=draw(variant_arrays([old, wrong])),
    )


@planted_fault("cdc.for-updates", level="rows")
def update_without_changes(draw: st.DrawFn) -> TableFiles:
    files, _ = build_updated_table()
    files.commits[2].pop()
    del files.data[CHANGE_FILE_PATH]
    if draw(st.booleans()):
        return files
    return build_table_updated_by_vector(draw_one(draw, "UPDATE", "MERGE", None))
