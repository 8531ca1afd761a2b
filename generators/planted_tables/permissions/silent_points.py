"""Valid twins of tables that use something that the protocol leaves open: the same place, in a defined form."""

import json

from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, get_action
from planted_tables.bases import log_only
from planted_tables.permissions.registry import permission


@permission("commit-info.free-form", revisions=("current",))
def commit_infos_that_agree() -> TableFiles:
    files = log_only.build_table_with_timestamps()
    files.commits[1].append(commit_info_action(1, inCommitTimestamp=1_700_000_000_001))
    return files


@permission("schema.void")
def nullable_void_columns() -> TableFiles:
    array = {"type": "array", "elementType": "void", "containsNull": True}
    files = log_only.build_table(fields=[("id", "long"), ("v", "void"), ("a", array)])
    files.commits = {0: files.commits[0]}
    return files


@permission("partition-values.timestamp-in-utc", revisions=("current",))
def partition_values_in_every_form() -> TableFiles:
    """Values of binary columns are ASCII; fractions of timestamps have six digits, and UTC is `Z`."""
    fields = [("id", "long"), ("d", "date"), ("b", "binary"), ("t", "timestamp")]
    files = log_only.build_table(fields=fields, partition_columns=["d", "b", "t"])
    values = [
        ("2024-03-01", "\x01\x02\x7f", "2024-03-01T10:11:12.123456Z"),
        (None, "a", "2024-03-01T10:11:12.000000Z"),
        ("0001-01-01", None, None),
    ]
    adds = [
        add_action(f"{name}.parquet", rows=1, partition={"d": day, "b": data, "t": time})
        for name, (day, data, time) in zip("xyz", values, strict=True)
    ]
    files.commits = {0: files.commits[0], 1: [commit_info_action(1), *adds]}
    return files


@permission("statistics.optional")
def statistics_of_partition_columns_that_agree() -> TableFiles:
    files = log_only.build_table(partition_columns=["name"], partition={"name": "a"})
    for stats in (
        {"minValues": {"name": "a", "id": 1}, "maxValues": {"name": "a", "id": 2}, "nullCount": {"name": 0}},
        {"tightBounds": False, "minValues": {"name": ""}, "maxValues": {"name": "b"}, "nullCount": {"name": 3}},
    ):
        name = f"{len(files.commits)}.parquet"
        add = add_action(name, partition={"name": "a"}, stats=json.dumps({"numRecords": 10, **stats}))
        files.commits[len(files.commits)] = [commit_info_action(len(files.commits)), add]
    return files


@permission("collations.statistics")
def statistics_with_keys_of_a_proposal() -> TableFiles:
    files = log_only.build_table()
    stats = {"numRecords": 10, "statsWithCollation": {"spark.UTF8_LCASE.75.1": {"minValues": {"name": "a"}}}}
    get_action(files, 2, "add")["stats"] = json.dumps(stats)
    return files


@permission("configuration.codec-names")
def checkpoint_with_the_requested_codec() -> TableFiles:
    configuration = {"delta.parquet.compression.codec": "ZSTD", "delta.parquet.format.version": "2.12.0"}
    files = log_only.build_checkpointed_table(configuration=configuration)
    files.checkpoints[0].parquet_options = {"compression": "zstd", "data_page_version": "2.0"}
    return files


@permission("last-checkpoint.optional-fields", revisions=("r3", "current"))
def hint_that_counts_actions_of_sidecars() -> TableFiles:
    files = log_only.build_v2_checkpointed_table()
    files.last_checkpoint = {"version": 1, "size": 6}
    return files
