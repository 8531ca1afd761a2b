"""Planted faults of metadata cleanup, and of file names and locations in the log directory."""

from hypothesis import strategies as st

from deltaspec.protocol.log import file_names
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import LOG, TableFiles, encode_table, get_action
from planted_tables.bases import log_only
from planted_tables.bases.retention import build_state_rows_at_2, build_table_cleaned_up_at_2
from planted_tables.faults.registry import draw_one, planted_fault

_UUID = "00000000-0000-4000-8000-000000000007"


def _build_table_with_feature(feature: str) -> TableFiles:
    """Build three commits without a remove, with a feature that only writers of newer protocols support."""
    if feature == "inCommitTimestamp":
        return log_only.build_table_with_timestamps(last_remove=False)
    return log_only.build_table_with_features(feature, last_remove=False)


@planted_fault("cleanup.keeps-cutoff-checkpoint")
def checkpoint_of_kept_commits_deleted(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_feature("v2Checkpoint")
    files.checkpoints.append(CheckpointFiles(2, rows=build_state_rows_at_2(files)))
    del files.commits[0]
    return files


@planted_fault("cleanup.deletes-compactions")
def compaction_left_behind(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_feature("v2Checkpoint")
    start, end = draw_one(draw, (0, 1), (1, 2))
    files.compactions[start, end] = [
        row
        for version in (start, end)
        for row in files.commits[version]
        if isinstance(row, dict) and "commitInfo" not in row
    ]
    return build_table_cleaned_up_at_2(files)


@planted_fault("cleanup.deletes-checksums")
def checksum_left_behind(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_feature(draw_one(draw, "vacuumProtocolCheck", "inCommitTimestamp"))
    files.checksums[draw_one(draw, 0, 1)] = {
        "tableSizeBytes": 0,
        "numFiles": 0,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": get_action(files, 0, "metaData"),
        "protocol": get_action(files, 0, "protocol"),
    }
    return build_table_cleaned_up_at_2(files)


@planted_fault("cleanup.deletes-staged-commits")
def staged_commit_left_behind(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps(last_remove=False)
    body = get_action(files, 0, "protocol")
    body.update(minReaderVersion=3, readerFeatures=["catalogManaged"])
    body["writerFeatures"].append("catalogManaged")
    for version in (0, 1, 2):
        get_action(files, version, "commitInfo")["txnId"] = f"txn-{version}"
    files.extra[LOG + file_names.staged_commit_name(draw_one(draw, 0, 1), _UUID)] = b'{"commitInfo":{}}\n'
    return build_table_cleaned_up_at_2(files)


@planted_fault("checkpoint.cleanup-keeps-a-base")
def cleaned_up_without_a_checkpoint(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(last_remove=False)
    for version in draw_one(draw, (0,), (0, 1)):
        del files.commits[version]
    return files


@planted_fault("cleanup.keeps-later-commits")
def commit_after_the_checkpoint_deleted(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(last_remove=False)
    files.checkpoints.append(CheckpointFiles(0, rows=[*files.commits[0][1:]]))
    for version in draw_one(draw, (1,), (0, 1)):
        del files.commits[version]
    return files


@planted_fault("checkpoint.in-log-folder")
def checkpoint_in_another_folder(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(last_remove=False)
    name = files.checkpoints[0].names[0]
    content = encode_table(files)[LOG + name]
    files.checkpoints.clear()
    files.extra[draw_one(draw, f"{LOG}checkpoints/{name}", f"_checkpoints/{name}", name)] = content
    del files.commits[0], files.commits[1]
    return files


@planted_fault("sidecar.protected-from-cleanup")
def sidecar_cleaned_up(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_v2_checkpointed_table(draw_one(draw, "uuid-json", "uuid-parquet"))
    files.missing.add(f"{LOG}_sidecars/{files.checkpoints[0].sidecars[0].name}")
    del files.commits[0]
    return files


def _build_table_with_log_file(name: str) -> TableFiles:
    """Build a valid table with an extra file in its log directory."""
    files = log_only.build_table()
    files.extra[LOG + name] = b"{}\n"
    return files


@planted_fault("checkpoint.version-in-name")
def version_of_checkpoint_cut_short(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(
        draw_one(draw, "1.checkpoint.parquet", f"{1:019d}.checkpoint.parquet", f"{1:021d}.checkpoint.parquet")
    )


@planted_fault("checkpoint.padding")
def numbers_not_padded(draw: st.DrawFn) -> TableFiles:
    part = f"{1:020d}.checkpoint.1.2.parquet"
    return _build_table_with_log_file(
        draw_one(draw, part, f"{1:020d}.checkpoint.{1:09d}.{2:09d}.parquet", f"1.checkpoint.{_UUID}.json")
    )


@planted_fault("checkpoint.classic-name")
def classic_name_of_another_kind(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(draw_one(draw, f"{1:020d}.checkpoint.json", f"{1:020d}.checkpoint..parquet"))


@planted_fault("checkpoint.multipart-name")
def part_beyond_the_last(draw: st.DrawFn) -> TableFiles:
    part, parts = draw_one(draw, (3, 2), (0, 2))
    return _build_table_with_log_file(file_names.multipart_checkpoint_name(1, part, parts))


@planted_fault("checkpoint.uuid-name")
def name_with_something_else_than_a_uuid(draw: st.DrawFn) -> TableFiles:
    middle = draw_one(draw, "v2", _UUID.replace("-", ""), _UUID[:-1])
    return _build_table_with_log_file(f"{1:020d}.checkpoint.{middle}.{draw_one(draw, 'json', 'parquet')}")


@planted_fault("compaction.name")
def compaction_of_one_number(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(draw_one(draw, f"{1:020d}.compacted.json", "1.2.compacted.json"))


@planted_fault("checksum.name")
def checksum_name_of_18_digits(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(draw_one(draw, f"{2:018d}.crc", "2.crc"))


@planted_fault("log.staged-commits")
def staged_commit_misplaced(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(f"{3:020d}.{_UUID}.json")


@planted_fault("log.staged-commits")
def staged_commit_misspelt(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_log_file(file_names.STAGED_COMMITS + draw_one(draw, f"{3:020d}.json", f"3.{_UUID}.json"))
