"""Valid tables of actions, data files and change data."""

from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import CHANGE_DATA_FEED, DELETION_VECTORS
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.actions import (
    DOMAIN_METADATA_PROTOCOL,
    add_change_file,
    build_change_rows,
    build_partitioned_change_table,
    build_rearranged_table,
    build_table_updated_by_vector,
    build_updated_table,
    legacy_row_id_mark_action,
)
from planted_tables.permissions.registry import permission

_PARTITIONED: dict[str, Any] = {
    "fields": (("id", "long"), ("p", "string")),
    "partition_columns": ["p"],
    "partition": {"p": "x"},
}


@permission("remove.of-its-file")
def removed_with_another_spelling() -> TableFiles:
    """The remove spells the same number differently, and a null value as empty text."""
    fields = [("id", "long"), ("x", "double"), ("p", "string")]
    files = log_only.build_table(fields=fields, partition_columns=["x", "p"], partition={"x": "1.50", "p": None})
    get_action(files, 2, "remove")["partitionValues"] = {"x": "1.5", "p": ""}
    return files


@permission("remove.of-its-file")
def removed_without_size_and_partition_values() -> TableFiles:
    files = log_only.build_table(**_PARTITIONED)
    for name in ("size", "partitionValues", "extendedFileMetadata"):
        del get_action(files, 2, "remove")[name]
    return files


@permission("remove.of-its-file")
def removed_with_the_size_0_of_earlier_releases() -> TableFiles:
    files = log_only.build_table()
    removed = get_action(files, 2, "remove")
    del removed["partitionValues"]
    removed.update(size=0, extendedFileMetadata=False)
    return files


@permission("data-files.partition-directories")
def files_of_a_partition_anywhere() -> TableFiles:
    files = log_only.build_table(**_PARTITIONED, last_remove=False)
    named = ("p=x/d.parquet", "q=y/e.parquet", "deep/down/f.parquet")
    adds = [add_action(path, rows=10, partition={"p": "x"}) for path in named]
    files.commits[3] = [commit_info_action(3), *adds]
    return files


@permission("metadata.optional-fields")
def metadata_named_and_described() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 0, "metaData").update(name="orders", description="of a shop", createdTime=1_700_000_000_000)
    return files


@permission("metadata.optional-fields")
def metadata_of_required_fields_alone() -> TableFiles:
    files = log_only.build_table()
    body = get_action(files, 0, "metaData")
    body.pop("createdTime", None)
    body.update(name=None, description=None)
    return files


@permission("metadata.format-parquet")
def format_of_new_tables() -> TableFiles:
    return log_only.build_table()


def _build_vector_table() -> TableFiles:
    return log_only.build_table_with_features("deletionVectors", configuration={DELETION_VECTORS: "true"})


@permission("add.logical-file")
def logical_files_with_and_without_vector() -> TableFiles:
    files = _build_vector_table()
    added = add_action("d.parquet", rows=10, deletionVector=inline_vector_descriptor())
    files.commits[3] = [commit_info_action(3), added, add_action("e.parquet", rows=10)]
    return files


@permission("add.replaced-vector")
def path_removed_and_added_under_another_vector() -> TableFiles:
    files = _build_vector_table()
    bare = add_action("c.parquet", rows=10)
    first = add_action("c.parquet", rows=10, deletionVector=inline_vector_descriptor((1,)))
    second = add_action("c.parquet", rows=10, deletionVector=inline_vector_descriptor((1, 3)))
    files.commits[3] = [commit_info_action(3), first, remove_action(bare)]
    files.commits[4] = [commit_info_action(4), remove_action(first), second]
    return files


@permission("add.named-by-change-data")
def file_added_and_named_by_change_data() -> TableFiles:
    files = log_only.build_table()
    path = "_change_data/shared.parquet"
    body = {"path": path, "partitionValues": {}, "size": 1000, "dataChange": False}
    files.commits[3] = [commit_info_action(3), add_action(path, rows=10), {"cdc": body}]
    return files


@permission("add.named-by-change-data")
def file_removed_and_named_by_change_data() -> TableFiles:
    files = log_only.build_table(last_remove=False)
    path = "_change_data/shared.parquet"
    body = {"path": path, "partitionValues": {}, "size": 1000, "dataChange": False}
    add = add_action(path, rows=10)
    files.commits[3] = [commit_info_action(3), add]
    files.commits[4] = [commit_info_action(4), remove_action(add), {"cdc": body}]
    return files


@permission("add.committed-again")
def file_committed_again_with_other_statistics() -> TableFiles:
    files = log_only.build_table()
    again = add_action("b.parquet", dataChange=False, tags={"analyzed": "yes"})
    again["add"]["stats"] = '{"numRecords":10,"minValues":{"id":0},"maxValues":{"id":9},"nullCount":{"id":0}}'
    files.commits[3] = [commit_info_action(3), again]
    files.commits[4] = [commit_info_action(4), add_action("b.parquet", rows=10)]
    return files


@permission("add.rearranged")
def rows_moved_to_one_file() -> TableFiles:
    return build_rearranged_table([4, 5], [9], stated_by_removes=False)


@permission("add.rearranged")
def rows_moved_by_adds_and_removes_that_say_so() -> TableFiles:
    files = build_rearranged_table([4, 5], [3, 6], stated_by_removes=False)
    for which in (0, 1):
        get_action(files, 3, "remove", which)["dataChange"] = False
    return files


@permission("add.optional-fields")
def adds_with_all_that_is_optional() -> TableFiles:
    files = _build_vector_table()
    more = {"tags": {"a": "b", "c": None}, "deletionVector": inline_vector_descriptor()}
    files.commits[3] = [commit_info_action(3), add_action("d.parquet", rows=10, **more)]
    bare = {"stats": None, "tags": None, "deletionVector": None}
    files.commits[4] = [commit_info_action(4), add_action("e.parquet", **bare)]
    return files


@permission("add.row-ids")
def file_with_a_base_row_id() -> TableFiles:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), add_action("d.parquet", rows=10, baseRowId=4071)]
    return files


@permission("add.default-row-commit-version")
def file_with_the_version_that_first_added_it() -> TableFiles:
    files = log_only.build_table()
    known = add_action("d.parquet", rows=10, baseRowId=0, defaultRowCommitVersion=3)
    files.commits[3] = [commit_info_action(3), known]
    files.commits[4] = [commit_info_action(4), {"add": {**known["add"], "dataChange": False, "tags": {"a": "b"}}}]
    return files


@permission("add.clustering-provider")
def file_that_names_what_clustered_it() -> TableFiles:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), add_action("d.parquet", rows=10, clusteringProvider="liquid")]
    return files


@permission("remove.optional-fields")
def removes_with_and_without_what_is_optional() -> TableFiles:
    files = _build_vector_table()
    full = add_action("d.parquet", rows=10, tags={"a": "b"}, baseRowId=7, deletionVector=inline_vector_descriptor())
    files.commits[3] = [commit_info_action(3), full]
    files.commits[4] = [
        commit_info_action(4),
        remove_action(full),
        {"remove": {"path": "b.parquet", "dataChange": True}},
    ]
    return files


@permission("remove.default-row-commit-version")
def remove_with_the_version_of_its_add() -> TableFiles:
    files = log_only.build_table()
    known = add_action("d.parquet", rows=10, baseRowId=0, defaultRowCommitVersion=3)
    files.commits[3] = [commit_info_action(3), known]
    files.commits[4] = [commit_info_action(4), remove_action(known)]
    return files


@permission("remove.statistics")
def remove_with_the_statistics_of_its_add() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 2, "remove")["stats"] = '{"numRecords":10}'
    return files


@permission("remove.size", level="files")
def remove_with_the_length_of_its_file() -> TableFiles:
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(FIELDS)]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2), remove_action(add), add_data_file(files, "b.parquet", build_rows())]
    return files


@permission("cdc.optional-fields")
def change_file_with_tags() -> TableFiles:
    files = build_partitioned_change_table("_change_data/p=x/cdc-0.parquet")
    get_action(files, 2, "cdc")["tags"] = {"a": "b"}
    return files


@permission("cdc.optional", level="rows")
def update_without_change_data_where_nobody_asked() -> TableFiles:
    files, _ = build_updated_table()
    get_action(files, 0, "metaData")["configuration"] = {}
    files.commits[2].pop()
    return files


@permission("cdc.optional", level="rows")
def rows_replaced_by_others_without_change_data() -> TableFiles:
    return build_table_updated_by_vector("WRITE")


@permission("cdc.none-for-whole-files", level="rows")
def inserts_and_whole_files_without_change_data() -> TableFiles:
    files = TableFiles()
    feed_enabled = {CHANGE_DATA_FEED: "true"}
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=feed_enabled),
    ]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2, operation="DELETE"), remove_action(add)]
    return files


@permission("cdc.shared-with-add", level="rows")
def data_file_that_is_a_change_file_too() -> TableFiles:
    files = TableFiles()
    feed_enabled = {CHANGE_DATA_FEED: "true"}
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=feed_enabled),
    ]
    table = build_change_rows(build_rows(), ["insert"] * 10)
    named = add_change_file(files, "a.parquet", table)
    add = add_action("a.parquet", rows=10, size=named["cdc"]["size"])
    files.commits[1] = [commit_info_action(1), add, named]
    return files


@permission("data-files.change-type-column-allowed", level="rows")
def data_file_with_a_column_of_change_types() -> TableFiles:
    files = TableFiles()
    feed_enabled = {CHANGE_DATA_FEED: "true"}
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=feed_enabled),
    ]
    table = build_rows().append_column("_change_type", pa.nulls(10, pa.string()))
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", table, stats='{"numRecords":10}')]
    return files


@permission("transaction.last-updated")
def transactions_with_and_without_a_time() -> TableFiles:
    files = log_only.build_table()
    files.commits[1].append(txn_action("a", 3, lastUpdated=1_700_000_000_000))
    files.commits[2] += [txn_action("a", 2), txn_action("b", 1, lastUpdated=None)]
    return files


@permission("commit-info.optional")
def commits_without_provenance() -> TableFiles:
    files = log_only.build_table()
    for lines in files.commits.values():
        del lines[0]
    return files


@permission("commit-info.free-form")
def provenance_of_any_form() -> TableFiles:
    files = log_only.build_table()
    info = {"operation": {"name": ["WRITE", None]}, "timestamp": "yesterday", "tags": [1, 2.5], "ä b": [[[{}]]]}
    files.commits[1][0] = {"commitInfo": info}
    files.commits[2][0] = {"commitInfo": {"inCommitTimestamp": "5", "txnId": 7}}
    return files


@permission("commit-info.free-form", revisions=("current",))
def timestamp_of_the_commit_that_disables_in_commit_timestamps() -> TableFiles:
    """The field is no longer a timestamp of the protocol, so it may decrease."""
    files = log_only.build_table_with_timestamps()
    metadata = {**get_action(files, 0, "metaData"), "configuration": {}}
    files.commits[3] = [{"commitInfo": {"inCommitTimestamp": 5}}, {"metaData": metadata}]
    return files


@permission("commit-info.free-form")
def provenance_that_is_no_object() -> TableFiles:
    files = log_only.build_table()
    files.commits[1][0] = {"commitInfo": "loaded by hand"}
    files.commits[2][0] = {"commitInfo": [1, {}]}
    return files


@permission("row-id-mark.preserved-gone")
def mark_alone() -> TableFiles:
    files = log_only.build_table()
    files.commits[1].append(legacy_row_id_mark_action(19))
    files.commits[2].append(legacy_row_id_mark_action(29, preservedRowIds="an unknown field"))
    return files


@permission("row-id-mark.gone")
def mark_that_older_writers_left() -> TableFiles:
    files = log_only.build_table()
    files.commits[2] += [legacy_row_id_mark_action(29, preservedRowIds=True), {"rowIdHighWaterMark": {"anything": []}}]
    return files


@permission("domain.user-controlled")
def domains_of_users() -> TableFiles:
    files = log_only.build_table(protocol=DOMAIN_METADATA_PROTOCOL)
    files.commits[1] += [domain_action("com.example.settings", '{"a":"1"}'), domain_action("deltas", "not JSON")]
    files.commits[2] += [domain_action("com.example.settings", '{"a":"2"}')]
    files.commits[3] = [commit_info_action(3), domain_action("deltas", "not JSON", removed=True)]
    return files
