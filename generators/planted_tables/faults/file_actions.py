"""Planted faults of file actions, repeated actions on a path, and deletion-vector descriptors."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.files import z85
from deltaspec.protocol.files.deletion_vectors import encode_bitmap
from deltaspec.protocol.property_names import CHANGE_DATA_FEED
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.faults.registry import draw_one, planted_fault


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


@planted_fault("add.path-encoding")
def path_malformed(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(),
        path=draw_one(draw, "", "a%2.parquet", "a b.parquet", "a%zz", 'a"b.parquet', "a%ff.parquet"),
    )


@planted_fault("add.path-encoding")
def path_beyond_ascii(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, "é.parquet", "日本/a.parquet"))


@planted_fault("add.path-encoding")
def path_with_colon(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, "p=1:2.parquet", "12:30/a.parquet"))


@planted_fault("add.path")
def path_out_of_table(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(), path=draw_one(draw, "../a.parquet", "x/../../a.parquet", "%2e%2e/a.parquet", "./../a")
    )


@planted_fault("add.path")
def path_spelled_anew(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    get_action(files, 2, "remove")["path"] = draw_one(draw, "%61.parquet", "a%2eparquet")
    return files


@planted_fault("data-files.location")
def file_in_hidden_directory(draw: st.DrawFn) -> TableFiles:
    paths = ("_tmp/c.parquet", "x/_y/c.parquet", "_delta_log/c.parquet", "%5Ftmp/c.parquet")
    later_paths = ("_day=1/_tmp/c.parquet", "_change_data/_tmp/c.parquet", "x/_change_data/c.parquet")
    return _edit_last_add(log_only.build_table(), path=draw_one(draw, *paths, *later_paths))


@planted_fault("cdc.location")
def change_file_elsewhere(draw: st.DrawFn) -> TableFiles:
    return _build_change_table(path=draw_one(draw, "cdc-0.parquet", "x/_change_data/cdc-0.parquet"))


@planted_fault("cdc.no-data-change")
def change_file_with_data_change(draw: st.DrawFn) -> TableFiles:
    return _build_change_table(dataChange=True)


@planted_fault("cdc.fields")
def change_file_twice(draw: st.DrawFn) -> TableFiles:
    files = _build_change_table()
    files.commits[2].append(files.commits[2][-1])
    return files


@planted_fault("add.partition-values")
def partition_value_absent(draw: st.DrawFn) -> TableFiles:
    return _build_partitioned_table()


@planted_fault("add.partition-values")
def partition_value_too_many(draw: st.DrawFn) -> TableFiles:
    return _build_partitioned_table(p="1", q=draw_one(draw, "1", None))


@planted_fault("partition-values.serialization")
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


@planted_fault("partition-values.serialization")
def partition_value_oddly_spelled(draw: st.DrawFn) -> TableFiles:
    kind, text = draw_one(draw, ("integer", "+1"), ("integer", "01"), ("boolean", "TRUE"), ("long", "-0"))
    return _build_partitioned_table(kind, p=text)


@planted_fault("partition-values.serialization")
def timestamp_partition_value_in_no_form(draw: st.DrawFn) -> TableFiles:
    day, time = "2024-03-01", "10:00:00"
    text = draw_one(
        draw,
        *(f"{day} {time}Z", f"{day}T{time}", f"{day} {time}+01:00", f"{day}T{time}-0500", day),
        *(f"{day} {time}.1234567", f"{day}T{time}.123456789Z", f"{day} {time}+00:00"),
    )
    return _build_partitioned_table("timestamp", p=text)


@planted_fault("partition-values.serialization")
def date_or_timestamp_without_leading_zeros(draw: st.DrawFn) -> TableFiles:
    kind, text = draw_one(draw, ("date", "2024-1-2"), ("date", "24-01-02"), ("timestamp", "2024-03-01T10:00:00+00:00"))
    return _build_partitioned_table(kind, p=text)


@planted_fault("partition-values.serialization")
def binary_partition_value_with_high_bytes(draw: st.DrawFn) -> TableFiles:
    return _build_partitioned_table("binary", p=draw_one(draw, "\u0080", "\u00ff", "a\u00e9", "\u20ac"))


@planted_fault("add.size")
def size_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), size=draw(st.integers(-(2**63), -1)))


@planted_fault("remove.extended-file-metadata")
def extended_metadata_absent(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    del get_action(files, 2, "remove")[draw_one(draw, "size", "partitionValues")]
    return files


@planted_fault("deletion-vectors.needs-feature")
def vector_without_feature(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), deletionVector=inline_vector_descriptor())


@planted_fault("deletion-vectors.needs-num-records")
def vector_without_num_records(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_vector(rows=None)
    return _edit_last_add(files, **draw_one(draw, {}, {"stats": "{}"}, {"stats": None}))


@planted_fault("statistics.form")
def statistics_malformed(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(
        log_only.build_table(), stats=draw_one(draw, "", "x", "[]", '{"numRecords":"1"}', '{"numRecords":1', "[" * 5000)
    )


@planted_fault("statistics.num-records")
def num_records_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), stats=f'{{"numRecords":{draw(st.integers(-1000, -1))}}}')


@planted_fault("statistics.null-count")
def null_count_impossible(draw: st.DrawFn) -> TableFiles:
    count = draw_one(draw, '{"id":11}', '{"id":-1}', '{"s":{"x":11}}', '{"id":1.5}', '{"id":"1"}')
    return _edit_last_add(log_only.build_table(), stats=f'{{"numRecords":10,"nullCount":{count}}}')


@planted_fault("statistics.null-count")
def null_count_misspelt(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), stats='{"numRecords":10,"nullCounts":{"id":0}}')


@planted_fault("statistics.form")
def statistics_with_unknown_keys(draw: st.DrawFn) -> TableFiles:
    """All keys are misspelled, or one of them, or another object surrounds the statistics."""
    stats = draw_one(
        draw,
        {"num_records": 10, "min_values": {"id": 1}},
        {"numRecords": 10, "minVals": {"id": 1}},
        {"numrecords": 10},
        {"numRecords": 10, "NullCount": {"id": 0}},
        {"stats": json.dumps({"numRecords": 10})},
    )
    return _edit_last_add(log_only.build_table(), stats=json.dumps(stats))


@planted_fault("statistics.mirrors-schema")
def statistics_of_another_partition(draw: st.DrawFn) -> TableFiles:
    kind, text, low, high = draw_one(
        draw, ("string", "a", "zz", "zz"), ("integer", "7", 8, 9), ("date", "2024-01-02", "2023-01-01", "2024-01-01")
    )
    bounds = {"minValues": {"p": low}, "maxValues": {"p": high}}
    stats = draw_one(draw, {"tightBounds": False, **bounds}, bounds, {"nullCount": {"p": 10}})
    files = _build_partitioned_table(kind, p=text)
    return _edit_last_add(files, stats=json.dumps({"numRecords": 10, **stats}))


@planted_fault("add.default-row-ids")
def row_id_below_zero(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), **draw_one(draw, {"baseRowId": -1}, {"defaultRowCommitVersion": -5}))


@planted_fault("row-tracking.commit-version")
def row_commit_version_ahead(draw: st.DrawFn) -> TableFiles:
    return _edit_last_add(log_only.build_table(), defaultRowCommitVersion=draw(st.integers(3, 100)))


@planted_fault("reconciliation.no-repeated-actions")
def path_added_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(add_action(draw_one(draw, "c.parquet"), rows=draw(st.integers(0, 20))))
    return files


@planted_fault("reconciliation.no-repeated-actions")
def path_removed_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append(files.commits[2][2])
    return files


@planted_fault("reconciliation.live-and-dead-disjoint")
def file_added_and_removed(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    added = files.commits[2][1]
    assert isinstance(added, dict)
    files.commits[2].insert(draw(st.integers(1, 3)), remove_action(added))
    return files


@planted_fault("consistency.unique-file-names")
def file_overwritten(draw: st.DrawFn) -> TableFiles:
    """A live file, or one that an earlier version removed, is added with another size."""
    files = log_only.build_table()
    again = add_action(draw_one(draw, "a.parquet", "b.parquet"), rows=10)
    again["add"]["size"] += draw(st.sampled_from([-1, 1, 2**40]))
    files.commits[3] = [commit_info_action(3), again]
    return files


@planted_fault("remove.of-its-file")
def removed_with_another_size(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    removed = get_action(files, 2, "remove")
    removed["size"] = draw_one(draw, 0, removed["size"] + 1, 2**40)
    return files


@planted_fault("remove.of-its-file")
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


@planted_fault("add.live-vector-removed")
def live_file_kept_under_another_vector(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_vector()
    files.commits[2].append(
        add_action("b.parquet", rows=10, deletionVector=inline_vector_descriptor([draw(st.integers(0, 9))]))
    )
    return files


@planted_fault("add.logical-file-key")
def live_vector_missed_by_the_remove(draw: st.DrawFn) -> TableFiles:
    """The remove has another vector than the live file, or none."""
    files = log_only.build_table_with_vector()
    removed = remove_action({"add": get_action(files, 2, "add")})
    removed["remove"].pop("deletionVector")
    if draw(st.booleans()):
        removed["remove"]["deletionVector"] = inline_vector_descriptor([draw(st.integers(4, 9))])
    files.commits[3] = [commit_info_action(3), removed]
    return files


def _build_vector_table(**changes: Any) -> TableFiles:
    descriptor = {**inline_vector_descriptor(), **changes}
    return log_only.build_table_with_vector({name: value for name, value in descriptor.items() if value is not None})


_STORED = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1}


@planted_fault("deletion-vectors.storage-type")
def storage_type_unknown(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(storageType=draw_one(draw, "x", "", "U"))


@planted_fault("deletion-vectors.path")
def vector_without_a_file(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(
        **draw_one(
            draw, _STORED | {"pathOrInlineDv": "short"}, _STORED | {"storageType": "p", "pathOrInlineDv": "x.bin"}
        )
    )


@planted_fault("deletion-vectors.offset")
def inline_with_offset(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(offset=draw_one(draw, 0, 1))


@planted_fault("deletion-vectors.offset-start")
def stored_without_offset(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(**_STORED | {"offset": draw_one(draw, None, 0)})


@planted_fault("deletion-vectors.size")
def vector_size_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(**_STORED | {"sizeInBytes": draw_one(draw, -1, 0, 11)})


@planted_fault("deletion-vectors.cardinality")
def vector_cardinality_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_vector_table(cardinality=draw_one(draw, 1, 3, 10))


@planted_fault("deletion-vectors.cardinality")
def vector_empty(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_vector(inline_vector_descriptor([]))


@planted_fault("deletion-vectors.rows-exist")
def vector_beyond_file(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_vector(inline_vector_descriptor([0, draw(st.integers(10, 2**40))]))


@planted_fault("deletion-vectors.bitmap-format")
def vector_undecodable(draw: st.DrawFn) -> TableFiles:
    bitmap = bytearray(encode_bitmap([1, 3]))
    damage = draw_one(draw, "magic", "buckets", "cookie", "text")
    if damage == "text":
        return _build_vector_table(pathOrInlineDv=draw_one(draw, "abc", "~~~~~" * 7))
    bitmap[{"magic": 0, "buckets": 4, "cookie": 16}[damage]] ^= 0x55
    return _build_vector_table(pathOrInlineDv=z85.encode(bytes(bitmap) + bytes(-len(bitmap) % 4)))
