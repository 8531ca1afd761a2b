"""Mutations of file actions, repeated actions on a path, and deletion-vector descriptors."""

from typing import Any

from hypothesis import strategies as st

from deltaspec.model.property_names import CHANGE_DATA_FEED
from deltaspec.model.rows import z85
from deltaspec.model.rows.deletion_vectors import encode_bitmap
from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.mutations.registry import draw_one, mutation
from deltaspec_generators.table_files import TableFiles, add_action, protocol_action, remove_action


def _edit_last_add(files: TableFiles, **changes: Any) -> TableFiles:
    """Edit the add of the last version."""
    get_action(files, 2, "add").update(changes)
    return files


def _build_change_table(**changes: Any) -> TableFiles:
    """Build a table with change data feed and a cdc action in its last version."""
    files = log_only.build_table(
        protocol=protocol_action(1, 7, None, ["changeDataFeed"]), configuration={CHANGE_DATA_FEED: "true"}
    )
    body = {"path": "_change_data/cdc-0.parquet", "partitionValues": {}, "size": 10, "dataChange": False}
    files.commits[2].append({"cdc": {**body, **changes}})
    return files


def _build_partitioned_table(kind: str = "integer", **values: Any) -> TableFiles:
    files = log_only.build_table(fields=[("id", "long"), ("p", kind)], partition_columns=["p"], partition={"p": None})
    return _edit_last_add(files, partitionValues=values)


@mutation("add.path-encoding")
def path_malformed(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(),
        path=draw_one(draw, "", "a%2.parquet", "a b.parquet", "a%zz", 'a"b.parquet', "a%ff.parquet"),
    )


@mutation("add.path-encoding")
def path_beyond_ascii(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, "é.parquet", "日本/a.parquet"))


@mutation("add.path-encoding")
def path_with_colon(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, "p=1:2.parquet", "12:30/a.parquet"))


@mutation("add.path")
def path_out_of_table(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(), path=draw_one(draw, "../a.parquet", "x/../../a.parquet", "%2e%2e/a.parquet", "./../a")
    )


@mutation("add.path")
def path_spelled_anew(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    get_action(files, 2, "remove")["path"] = draw_one(draw, "%61.parquet", "a%2eparquet")
    return files


@mutation("data-files.location")
def file_in_hidden_directory(draw: st.DrawFn) -> TableFiles:
    paths = ("_tmp/c.parquet", "x/_y/c.parquet", "_delta_log/c.parquet", "%5Ftmp/c.parquet")
    later_paths = ("_day=1/_tmp/c.parquet", "_change_data/_tmp/c.parquet", "x/_change_data/c.parquet")
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, *paths, *later_paths))


@mutation("cdc.location")
def change_file_elsewhere(draw: st.DrawFn) -> TableFiles:
    return _build_change_table(path=draw_one(draw, "cdc-0.parquet", "x/_change_data/cdc-0.parquet"))


@mutation("cdc.no-data-change")
def change_file_with_data_change(draw: st.DrawFn) -> TableFiles:
    return _build_change_table(dataChange=True)


@mutation("cdc.fields")
def change_file_twice(draw: st.DrawFn) -> TableFiles:
    files = _build_change_table()
    files.commits[2].append(files.commits[2][-1])
    return files


@mutation("add.partition-values")
def partition_value_absent(draw: st.DrawFn) -> TableFiles:
    return _build_partitioned_table()


@mutation("add.partition-values")
def partition_value_too_many(draw: st.DrawFn) -> TableFiles:
    return _build_partitioned_table(p="1", q=draw_one(draw, "1", None))


@mutation("partition-values.serialization")
def partition_value_of_no_type(draw: st.DrawFn) -> TableFiles:
    choices = (
        ("integer", "x"),
        ("byte", "128"),
        ("date", "2024-02-30"),
        ("boolean", "yes"),
        ("timestamp", "now"),
        ("decimal(3,1)", "123.4"),
        ("double", "1,5"),
    )
    kind, text = draw_one(draw, *choices)
    return _build_partitioned_table(kind, p=text)


@mutation("partition-values.serialization")
def partition_value_oddly_spelled(draw: st.DrawFn) -> TableFiles:
    kind, text = draw_one(draw, ("integer", "+1"), ("integer", "01"), ("boolean", "TRUE"), ("date", "2024-1-2"))
    return _build_partitioned_table(kind, p=text)


@mutation("add.size")
def size_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), size=draw(st.integers(-(2**63), -1)))


@mutation("remove.extended-file-metadata")
def extended_metadata_absent(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    del get_action(files, 2, "remove")[draw_one(draw, "size", "partitionValues")]
    return files


@mutation("deletion-vectors.needs-feature")
def vector_without_feature(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), deletionVector=log_only.inline_vector_descriptor())


@mutation("deletion-vectors.needs-num-records")
def vector_without_num_records(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_vector(rows=None)
    return _edit_last_add(files, **draw_one(draw, {}, {"stats": "{}"}, {"stats": None}))


@mutation("statistics.form")
def statistics_malformed(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(), stats=draw_one(draw, "", "x", "[]", '{"numRecords":"1"}', '{"numRecords":1', "[" * 5000)
    )


@mutation("statistics.num-records")
def num_records_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), stats=f'{{"numRecords":{draw(st.integers(-1000, -1))}}}')


@mutation("statistics.null-count")
def null_count_impossible(draw: st.DrawFn) -> TableFiles:
    count = draw_one(draw, '{"id":11}', '{"id":-1}', '{"s":{"x":11}}', '{"id":1.5}', '{"id":"1"}')
    return _edit_last_add(log_only.build_table(), stats=f'{{"numRecords":10,"nullCount":{count}}}')


@mutation("statistics.null-count")
def null_count_misspelt(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), stats='{"numRecords":10,"nullCounts":{"id":0}}')


@mutation("add.default-row-ids")
def row_id_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), **draw_one(draw, {"baseRowId": -1}, {"defaultRowCommitVersion": -5}))


@mutation("row-tracking.commit-version")
def row_commit_version_ahead(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), defaultRowCommitVersion=draw(st.integers(3, 100)))


@mutation("reconciliation.no-repeated-actions")
def path_added_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(add_action(draw_one(draw, "c.parquet"), rows=draw(st.integers(0, 20))))
    return files


@mutation("reconciliation.no-repeated-actions")
def path_removed_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(files.commits[2][2])
    return files


@mutation("reconciliation.live-and-dead-disjoint")
def file_added_and_removed(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    added = files.commits[2][1]
    assert isinstance(added, dict)
    files.commits[2].insert(draw(st.integers(1, 3)), remove_action(added))
    return files


@mutation("consistency.unique-file-names")
def file_overwritten(draw: st.DrawFn) -> TableFiles:
    """A live file, or one that an earlier version removed, is added with another size."""
    files = log_only.build_table()
    again = add_action(draw_one(draw, "a.parquet", "b.parquet"), rows=10)
    again["add"]["size"] += draw(st.sampled_from([-1, 1, 2**40]))
    files.commits[3] = [log_only.commit_info_action(3), again]
    return files


@mutation("remove.of-its-file")
def removed_with_another_size(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    removed = get_action(files, 2, "remove")
    removed["size"] = draw_one(draw, 0, removed["size"] + 1, 2**40)
    return files


@mutation("remove.of-its-file")
def removed_from_another_partition(draw: st.DrawFn) -> TableFiles:
    choices: tuple[tuple[str, str | None, str | None], ...] = (
        ("integer", "1", "2"),
        ("integer", "1", None),
        ("string", None, "x"),
        ("string", "x", "X"),
        ("date", "2024-01-02", "2024-01-03"),
        ("double", "1.5", "1.25"),
        ("boolean", "true", "false"),
    )
    kind, added, removed = draw_one(draw, *choices)
    fields = [("id", "long"), ("p", kind), ("q", "string")]
    files = log_only.build_table(fields=fields, partition_columns=["p", "q"], partition={"p": added, "q": "x"})
    get_action(files, 2, "remove")["partitionValues"] = {"p": removed, "q": "x"}
    return files


@mutation("add.live-vector-removed")
def live_file_kept_under_another_vector(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_vector()
    files.commits[2].append(
        add_action("b.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor([draw(st.integers(0, 9))]))
    )
    return files


@mutation("add.logical-file-key")
def live_vector_missed_by_the_remove(draw: st.DrawFn) -> TableFiles:
    """The remove has another vector than the live file, or none."""
    files = log_only.build_table_with_vector()
    removed = remove_action({"add": get_action(files, 2, "add")})
    removed["remove"].pop("deletionVector")
    if draw(st.booleans()):
        removed["remove"]["deletionVector"] = log_only.inline_vector_descriptor([draw(st.integers(4, 9))])
    files.commits[3] = [log_only.commit_info_action(3), removed]
    return files


def _build_vector_table(**changes: Any) -> TableFiles:
    descriptor = {**log_only.inline_vector_descriptor(), **changes}
    return log_only.build_table_with_vector({name: value for name, value in descriptor.items() if value is not None})


_STORED = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1}


@mutation("deletion-vectors.storage-type")
def storage_type_unknown(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(storageType=draw_one(draw, "x", "", "U"))


@mutation("deletion-vectors.path")
def vector_without_a_file(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(
        **draw_one(
            draw, _STORED | {"pathOrInlineDv": "short"}, _STORED | {"storageType": "p", "pathOrInlineDv": "x.bin"}
        )
    )


@mutation("deletion-vectors.offset")
def inline_with_offset(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(offset=draw_one(draw, 0, 1))


@mutation("deletion-vectors.offset-start")
def stored_without_offset(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(**_STORED | {"offset": draw_one(draw, None, 0)})


@mutation("deletion-vectors.size")
def vector_size_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(**_STORED | {"sizeInBytes": draw_one(draw, -1, 0, 11)})


@mutation("deletion-vectors.cardinality")
def vector_cardinality_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(cardinality=draw_one(draw, 1, 3, 10))


@mutation("deletion-vectors.cardinality")
def vector_empty(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_vector(log_only.inline_vector_descriptor([]))


@mutation("deletion-vectors.rows-exist")
def vector_beyond_file(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_vector(log_only.inline_vector_descriptor([0, draw(st.integers(10, 2**40))]))


@mutation("deletion-vectors.bitmap-format")
def vector_undecodable(draw: st.DrawFn) -> TableFiles:
    bitmap = bytearray(encode_bitmap([1, 3]))
    damage = draw_one(draw, "magic", "buckets", "cookie", "text")
    if damage == "text":
        return _build_vector_table(pathOrInlineDv=draw_one(draw, "abc", "~~~~~" * 7))
    bitmap[{"magic": 0, "buckets": 4, "cookie": 16}[damage]] ^= 0x55
    return _build_vector_table(pathOrInlineDv=z85.encode(bytes(bitmap) + bytes(-len(bitmap) % 4)))
