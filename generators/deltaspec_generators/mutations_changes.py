"""Tables broken in their change data; level `rows` shows it."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.action_bases import CHANGES, FED, cdc, changes_of, updated, updated_by_vector, with_changes
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action, remove_action
from deltaspec_generators.data_bases import FIELDS, rows, stored
from deltaspec_generators.mutations import mutation, pick


def _replaced(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(place).type))


@mutation("cdc.change-type-column", level="rows")
def change_type_absent(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    kept = table.drop_columns(["_change_type"])
    return with_changes(pick(draw, kept, kept.append_column("change_type", table["_change_type"])))


@mutation("cdc.change-type-column", level="rows")
def change_type_as_a_number(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    numbers = pick(draw, pa.array([1, 2, 3], pa.int32()), pa.array([0.5, 1.5, None], pa.float64()))
    place = table.schema.get_field_index("_change_type")
    return with_changes(table.set_column(place, "_change_type", numbers))


@mutation("cdc.change-types", level="rows")
def change_type_of_no_kind(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    odd = pick(draw, "upsert", "DELETE", "", None)
    return with_changes(_replaced(table, "_change_type", ["update_preimage", "update_postimage", odd]))


@mutation("cdc.no-commit-columns", level="rows")
def commit_version_stored(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    return with_changes(table.append_column(pick(draw, "_commit_version", "_commit_timestamp"), pa.array([2, 2, 2])))


@mutation("cdc.stored-partition-values", level="rows")
def change_file_of_another_partition(draw: st.DrawFn) -> TableFiles:
    files = TableFiles()
    fields, partition = [*FIELDS, ("p", "integer")], {"p": "1"}
    files.commits[0] = [commit_info(0), protocol_action(1, 4), metadata_action(fields, ["p"], FED)]
    add = stored(files, "a.parquet", rows(), partition=partition)
    files.commits[1] = [commit_info(1), add]
    table = changes_of(rows(5, 5), ["delete"] * 5).append_column(
        "p", pa.array(pick(draw, [2] * 5, [1, 1, 1, 1, None]), pa.int32())
    )
    files.commits[2] = [
        commit_info(2, operation="DELETE"),
        stored(files, "b.parquet", rows(0, 5), partition=partition),
        remove_action(add),
        cdc(files, "_change_data/p=1/cdc-0.parquet", table, partitionValues=partition),
    ]
    return files


@mutation("cdc.images-in-pairs", level="rows")
def preimage_called_a_delete(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    kinds = pick(draw, ["delete", "update_postimage", "delete"], ["update_preimage", "insert", "delete"])
    return with_changes(_replaced(table, "_change_type", kinds))


@mutation("cdc.whole-changes", level="rows")
def change_left_out(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    return with_changes(pick(draw, table.slice(0, 2), pa.concat_tables([table, table.slice(2)])))


@mutation("cdc.whole-changes", level="rows")
def change_of_another_row(draw: st.DrawFn) -> TableFiles:
    _, table = updated()
    ways: dict[str, list[Any]] = {
        "id": [3, 3, 5],
        "name": ["name 003", "changed", "name 004"],
        "price": [1.5, 1.0, 2.0],
    }
    name = pick(draw, *ways)
    return with_changes(_replaced(table, name, ways[name]))


@mutation("cdc.for-updates", level="rows")
def update_without_changes(draw: st.DrawFn) -> TableFiles:
    files, _ = updated()
    files.commits[2].pop()
    del files.data[CHANGES]
    if draw(st.booleans()):
        return files
    return updated_by_vector(pick(draw, "UPDATE", "MERGE", None))
