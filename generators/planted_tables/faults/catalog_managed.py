"""Planted faults of catalog-managed tables: staged and published commits, and derived files of unpublished commits."""

from hypothesis import strategies as st

from deltaspec_generators.action_lines import Line, encode_lines
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import LOG, TableFiles, add_action, get_action, protocol_action
from planted_tables.bases.catalog_managed import (
    FEATURES,
    FIRST_UUID,
    SECOND_UUID,
    add_staged_commit,
    build_managed_table,
    transaction_commit_info,
)
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("catalog-managed.supported")
def managed_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    files.commits[0][1] = protocol_action(3, 7, draw_one(draw, [], ["vacuumProtocolCheck"]), [*FEATURES])
    if get_action(files, 0, "protocol")["readerFeatures"]:
        get_action(files, 0, "protocol")["writerFeatures"].append("vacuumProtocolCheck")
    return files


@planted_fault("catalog-managed.staged-content")
def staged_commit_of_another_kind(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    add = add_action("d.parquet", rows=1)
    wrong: Line = draw_one(
        draw,
        "not json",
        {**add, "remove": {"path": "b.parquet", "dataChange": True}},
        {"add": {"path": "d.parquet"}},
        {"checkpointMetadata": {"version": 3}},
    )
    add_staged_commit(files, 3, FIRST_UUID, [transaction_commit_info(3), wrong, add])
    return files


@planted_fault("catalog-managed.staged-names")
def uuid_of_an_attempt_at_another_version(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    later = draw_one(draw, 4, 5)
    for version in (3, later):
        add_staged_commit(
            files, version, FIRST_UUID, [transaction_commit_info(version), add_action(f"{version}.parquet", rows=1)]
        )
    add_staged_commit(files, 3, SECOND_UUID, [transaction_commit_info(3), add_action("e.parquet", rows=1)])
    return files


@planted_fault("catalog-managed.published-names")
def published_under_another_name(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    lines = encode_lines([transaction_commit_info(3), add_action("d.parquet", rows=1)])
    files.extra[LOG + draw_one(draw, "3.json", f"{3:019d}.json", f"{3:020d}.{FIRST_UUID}.json")] = lines
    return files


@planted_fault("commit-info.known-fields")
def timestamp_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    get_action(files, 2, "commitInfo")["inCommitTimestamp"] = draw_one(draw, "1700000000002", 1.5, True, 2**63, [1])
    return files


@planted_fault("commit-info.known-fields")
def transaction_id_of_another_type(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    get_action(files, 2, "commitInfo")["txnId"] = draw_one(draw, 7, {"id": "a"}, ["a"], False)
    return files


@planted_fault("commit-info.transaction-id-unique")
def transaction_id_repeated(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    later = draw_one(draw, 1, 2)
    get_action(files, later, "commitInfo")["txnId"] = get_action(files, later - 1, "commitInfo")["txnId"]
    return files


@planted_fault("catalog-managed.published-copies-ratified")
def published_with_other_actions(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table()
    staged = [transaction_commit_info(2, retried=draw_one(draw, 0, 7)), *files.commits[2][1:]]
    at = draw_one(draw, 1, 2)
    staged[at] = draw_one(draw, add_action("d.parquet", rows=10), {"remove": {"path": "b.parquet", "dataChange": True}})
    add_staged_commit(files, 2, FIRST_UUID, staged)
    return files


@planted_fault("catalog-managed.published-copies-ratified")
def published_before_the_one_before(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table(last_remove=False)
    add_staged_commit(files, 1, FIRST_UUID, files.commits.pop(1))
    return files


@planted_fault("catalog-managed.published-before-maintenance")
def checkpoint_of_what_is_only_staged(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table(last_remove=False)
    rows = [line for version in (0, 1, 2) for line in files.commits[version][1:]]
    lines = files.commits.pop(2)
    if draw_one(draw, True, False):
        add_staged_commit(files, 2, FIRST_UUID, lines)
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files


@planted_fault("catalog-managed.published-before-maintenance")
def compaction_of_what_is_only_staged(draw: st.DrawFn) -> TableFiles:
    files = build_managed_table(last_remove=False)
    start = draw_one(draw, 0, 1)
    rows = [line for version in range(start, 3) for line in files.commits[version][1:]]
    add_staged_commit(files, 2, FIRST_UUID, files.commits.pop(2))
    files.compactions[start, 2] = rows
    return files
