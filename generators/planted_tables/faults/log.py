"""Planted faults of the log directory, of commits and of lines."""

import json

from hypothesis import strategies as st

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    IN_COMMIT_TIMESTAMPS,
    IN_COMMIT_TIMESTAMPS_SINCE_TIME,
    IN_COMMIT_TIMESTAMPS_SINCE_VERSION,
)
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    protocol_action,
    remove_action,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.retention import build_state_rows_at_2
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("log.versions-contiguous")
def older_commit_missing(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows_at_2(files)))
    del files.commits[1]
    return files


@planted_fault("compaction.equals-replay")
def compaction_of_the_future(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    files.compactions[draw_one(draw, (1, 2), (2, 3), (5, 9))] = files.compactions.pop((1, 2))
    del files.commits[2]
    return files


@planted_fault("compaction.range-ascends")
def compaction_of_one_version(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.compactions[2, draw_one(draw, 1, 2)] = files.commits[2][1:]
    return files


@planted_fault("checkpoint.multipart-parts")
def multipart_of_one(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].naming = "multipart"
    return files


@planted_fault("checkpoint.after-commit")
def checkpoint_of_the_future(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].version = 2
    files.checkpoints[0].rows = [
        *log_only.build_state_rows(files)[:2],
        files.commits[1][2],
        files.commits[2][1],
        files.commits[2][2],
    ]
    del files.commits[2]
    return files


@planted_fault("log.cleanup-keeps-commit-of-checkpoint")
def commit_of_checkpoint_cleaned_up(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    files.checkpoints.append(CheckpointFiles(1, rows=[*log_only.build_state_rows(files)]))
    del files.commits[0], files.commits[1]
    return files


@planted_fault("log.cleanup-keeps-commit-of-checkpoint")
def commit_of_checkpoint_cleaned_up_in_vain(draw: st.DrawFn) -> TableFiles:
    """No feature needs the commit."""
    files = log_only.build_checkpointed_table(protocol=draw_one(draw, protocol_action(1, 2), protocol_action(2, 5)))
    del files.commits[0], files.commits[1]
    return files


@planted_fault("checksum.after-commit")
def checksum_of_the_future(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_checksum()
    files.checksums = {draw_one(draw, 3, 9): files.checksums[2]}
    return files


@planted_fault("checkpoint.no-multipart-with-v2")
def multipart_in_v2_table(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(
        "multipart", protocol=protocol_action(3, 7, ["v2Checkpoint"], ["v2Checkpoint"])
    )
    files.checkpoints[0].parts = 2
    return files


@planted_fault("checkpoint.v2-needs-feature")
def uuid_name_without_feature(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.checkpoints[0].rows.insert(0, {"checkpointMetadata": {"version": 1}})
    return files


@planted_fault("log.commit-name")
def commit_name_of_19_digits(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.extra[LOG + draw_one(draw, f"{3:019d}.json", f"{3:021d}.json", "3.json")] = b"{}\n"
    return files


@planted_fault("protocol.one-a-version")
def two_protocols(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[0].append(draw_one(draw, protocol_action(1, 2), protocol_action(1, 3)))
    return files


@planted_fault("metadata.one-a-version")
def two_metadata(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[0].append(files.commits[0][2])
    return files


@planted_fault("metadata.in-first-version")
def metadata_comes_late(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[1].insert(0, files.commits[0].pop())
    return files


@planted_fault("reconciliation.one-protocol")
def protocol_comes_late(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[1].insert(0, files.commits[0].pop(1))
    return files


@planted_fault("in-commit-timestamp.present")
def timestamp_absent(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    files.commits[2][0] = commit_info_action(2)
    return files


@planted_fault("in-commit-timestamp.commit-info-first")
def commit_info_last(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    lines = files.commits[draw_one(draw, 0, 1, 2)]
    lines.append(lines.pop(0))
    return files


@planted_fault("in-commit-timestamp.increases")
def timestamp_stands_still(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    get_action(files, 2, "commitInfo")["inCommitTimestamp"] -= draw_one(draw, 1, 2, 1000)
    return files


@planted_fault("in-commit-timestamp.enablement-recorded")
def enablement_forgotten(draw: st.DrawFn) -> TableFiles:
    """Timestamps are enabled by version 1; the properties are wrong there or removed by version 2."""
    files = log_only.build_table_with_timestamps()
    metadata = files.commits[0].pop()
    assert isinstance(metadata, dict)
    enabled = metadata["metaData"]["configuration"]
    files.commits[0].append({"metaData": {**metadata["metaData"], "configuration": {}}})
    version, timestamp = IN_COMMIT_TIMESTAMPS_SINCE_VERSION, IN_COMMIT_TIMESTAMPS_SINCE_TIME
    correct = {**enabled, version: "1", timestamp: "1700000000001"}
    wrong = draw_one(
        draw, enabled, {**correct, version: "0"}, {**correct, timestamp: "1700000000000"}, {**enabled, version: "1"}
    )
    late = draw_one(draw, False, True)
    files.commits[1].append({"metaData": {**metadata["metaData"], "configuration": correct if late else wrong}})
    if late:
        files.commits[2].append({"metaData": {**metadata["metaData"], "configuration": wrong}})
    return files


@planted_fault("reconciliation.no-repeated-actions")
def domain_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1] += [domain_action("mine", "1"), domain_action("mine", draw_one(draw, "1", "2"))]
    return files


@planted_fault("reconciliation.no-repeated-actions")
def transaction_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[1] += [txn_action("app", 1), txn_action("app", draw_one(draw, 1, 2))]
    return files


@planted_fault("append-only.no-removal")
def removal_from_append_only(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={APPEND_ONLY: draw_one(draw, "true", "TRUE")})


@planted_fault("append-only.no-removal")
def removal_with_change_of_append_only(draw: st.DrawFn) -> TableFiles:
    before, after = draw_one(draw, ({}, {"delta.appendOnly": "true"}), ({"delta.appendOnly": "true"}, {}))
    files = log_only.build_table(configuration=before, last_remove=False)
    metadata = {**get_action(files, 0, "metaData"), "configuration": after}
    removed = remove_action(add_action("a.parquet", rows=10))
    files.commits[3] = [commit_info_action(3), {"metaData": metadata}, removed]
    return files


@planted_fault("commit-info.transaction-id")
def transaction_id_absent(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    body = get_action(files, 0, "protocol")
    body.update(minReaderVersion=3, readerFeatures=["catalogManaged"])
    body["writerFeatures"].append("catalogManaged")
    for version in (0, 1):
        get_action(files, version, "commitInfo")["txnId"] = f"txn-{version}"
    return files


@planted_fault("catalog-managed.in-commit-timestamps")
def catalog_managed_without_timestamps(draw: st.DrawFn) -> TableFiles:
    configuration = draw_one(draw, {}, {IN_COMMIT_TIMESTAMPS: "false"})
    files = log_only.build_table_with_features(
        "catalogManaged", writer=["inCommitTimestamp"], configuration=configuration
    )
    for version in files.commits:
        get_action(files, version, "commitInfo")["txnId"] = f"txn-{version}"
    return files


@planted_fault("reconciliation.checkpoint-actions-not-in-commits")
def checkpoint_action_in_commit(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_features("v2Checkpoint")
    sidecar = {"sidecar": {"path": "x.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    files.commits[2].append(draw_one(draw, {"checkpointMetadata": {"version": 2}}, sidecar))
    return files


@planted_fault("log.commit-lines")
def commit_without_lines(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[3] = []
    return files


@planted_fault("log.commit-lines")
def line_cut_short(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    line = json.dumps(files.commits[2][1])
    cut = draw(st.integers(1, len(line) - 1))
    files.commits[2][1] = draw_one(draw, line[:cut], b"\xff\xfe" + line.encode(), "[1]", "null", "NaN")
    return files


@planted_fault("log.one-action-a-line")
def two_actions_in_a_line(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    first, second = files.commits[1][1:]
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    files.commits[1] = [files.commits[1][0], {**first, **txn_action("app", 1)}, second]
    return files


@planted_fault("log.one-action-a-line")
def unrecognized_key_in_a_line(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    at = draw(st.integers(0, len(files.commits[1]) - 1))
    action, key = files.commits[1][at], draw_one(draw, {"checksum": "c0ffee"}, {"Add": {}}, {"a": 1, "b": [2]})
    assert isinstance(action, dict)
    files.commits[1][at] = draw_one(draw, {**action, **key}, {**key, **action})
    return files


@planted_fault("log.one-action-a-line")
def line_without_an_action(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[1].append(draw_one(draw, "{}", '{"add":null}'))
    return files


@planted_fault("log.commit-lines")
def key_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    line = json.dumps(files.commits[1][1])
    files.commits[1][1] = line.replace(
        '"size": 1000', draw_one(draw, '"size":1000,"size":1000', '"size": 1000, "si\\u007ae":1000')
    )
    return files


@planted_fault("log.commit-lines")
def half_a_pair_escaped(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    half = draw_one(draw, r"\ud800", r"\udc00", r"a\udbff-")
    files.commits[2].append(f'{{"{draw_one(draw, "txn", "future")}":{{"appId":"{half}","version":1}}}}')
    return files


@planted_fault("log.commit-lines")
def half_a_pair_as_octets(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    half = draw_one(draw, "\ud800", "a\udfff-", "\ud83d\ude00").encode(errors="surrogatepass")
    lines = encode_lines(files.commits[2]) + b'{"future":{"text":"' + half + b'"}}\n'
    files.extra[LOG + commit_name(2)] = lines
    return files


@planted_fault("metadata.schema-string")
def half_a_pair_in_schema(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    metadata = get_action(files, 0, "metaData")
    schema = json.loads(metadata["schemaString"])
    schema["fields"][0]["metadata"]["comment"] = draw_one(draw, "\ud800", "a\udfff-")
    metadata["schemaString"] = json.dumps(schema)
    return files


@planted_fault("statistics.form")
def half_a_pair_in_statistics(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    statistics = {"numRecords": 5, "minValues": {"name": draw_one(draw, "\ud800", "a\udfff-")}}
    get_action(files, 2, "add")["stats"] = json.dumps(statistics)
    return files


@planted_fault("log.commit-lines")
def odd_line_end(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    line = json.dumps(files.commits[1][1])
    files.commits[1][1] = draw_one(draw, line + "\r", "\ufeff" + line, "\n" + line)
    return files
