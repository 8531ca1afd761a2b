"""Mutations of what a catalog-managed table shows: staged commits, and what is made of unpublished ones."""

from typing import Any

from hypothesis import strategies as st

from deltaspec.model.file_names import staged_commit_name
from deltaspec_generators import bases
from deltaspec_generators.bases import action, commit_info
from deltaspec_generators.builder import LOG, TableFiles, add_action, protocol_action
from deltaspec_generators.checkpoint_files import CheckpointFiles
from deltaspec_generators.json_lines import Line, json_lines
from deltaspec_generators.mutations import mutation, pick

FIRST, SECOND = "016ae953-37a9-438e-8683-9a9a4a79a395", "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032"
FEATURES = ["catalogManaged", "inCommitTimestamp"]


def managed(**more: Any) -> TableFiles:
    """`bases.plain`, managed by a catalog; the transaction of version v is `txn-v`."""
    files = bases.plain(
        protocol=protocol_action(3, 7, ["catalogManaged"], FEATURES),
        configuration={"delta.enableInCommitTimestamps": "true"},
        **more,
    )
    for version, lines in files.commits.items():
        lines[0] = of_transaction(version)
    return files


def of_transaction(version: int, retried: int = 0) -> dict[str, Any]:
    """The commitInfo of a version of `managed`, or of a further attempt of its transaction."""
    return commit_info(version, inCommitTimestamp=1_700_000_000_000 + version + retried, txnId=f"txn-{version}")


def stage(files: TableFiles, version: int, uuid: str, lines: list[Line] | bytes) -> None:
    """Put a staged commit into the table."""
    data = lines if isinstance(lines, bytes) else json_lines(lines)
    files.extra[LOG + staged_commit_name(version, uuid)] = data


@mutation("catalog-managed.supported")
def managed_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    files = managed()
    files.commits[0][1] = protocol_action(3, 7, pick(draw, [], ["vacuumProtocolCheck"]), [*FEATURES])
    if action(files, 0, "protocol")["readerFeatures"]:
        action(files, 0, "protocol")["writerFeatures"].append("vacuumProtocolCheck")
    return files


@mutation("catalog-managed.staged-content")
def staged_commit_of_another_kind(draw: st.DrawFn) -> TableFiles:
    files = managed()
    add = add_action("d.parquet", rows=1)
    wrong: Line = pick(
        draw,
        "not json",
        {**add, "remove": {"path": "b.parquet", "dataChange": True}},
        {"add": {"path": "d.parquet"}},
        {"checkpointMetadata": {"version": 3}},
    )
    stage(files, 3, FIRST, [of_transaction(3), wrong, add])
    return files


@mutation("catalog-managed.staged-names")
def uuid_of_an_attempt_at_another_version(draw: st.DrawFn) -> TableFiles:
    files = managed()
    later = pick(draw, 4, 5)
    for version in (3, later):
        stage(files, version, FIRST, [of_transaction(version), add_action(f"{version}.parquet", rows=1)])
    stage(files, 3, SECOND, [of_transaction(3), add_action("e.parquet", rows=1)])
    return files


@mutation("catalog-managed.published-names")
def published_under_another_name(draw: st.DrawFn) -> TableFiles:
    files = managed()
    lines = json_lines([of_transaction(3), add_action("d.parquet", rows=1)])
    files.extra[LOG + pick(draw, "3.json", f"{3:019d}.json", f"{3:020d}.{FIRST}.json")] = lines
    return files


@mutation("catalog-managed.published-copies-ratified")
def published_with_other_actions(draw: st.DrawFn) -> TableFiles:
    files = managed()
    staged = [of_transaction(2, retried=pick(draw, 0, 7)), *files.commits[2][1:]]
    at = pick(draw, 1, 2)
    staged[at] = pick(draw, add_action("d.parquet", rows=10), {"remove": {"path": "b.parquet", "dataChange": True}})
    stage(files, 2, FIRST, staged)
    return files


@mutation("catalog-managed.published-copies-ratified")
def published_before_the_one_before(draw: st.DrawFn) -> TableFiles:
    files = managed(last_remove=False)
    stage(files, 1, FIRST, files.commits.pop(1))
    return files


@mutation("catalog-managed.published-before-maintenance")
def checkpoint_of_what_is_only_staged(draw: st.DrawFn) -> TableFiles:
    files = managed(last_remove=False)
    rows = [line for version in (0, 1, 2) for line in files.commits[version][1:]]
    lines = files.commits.pop(2)
    if pick(draw, True, False):
        stage(files, 2, FIRST, lines)
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files


@mutation("catalog-managed.published-before-maintenance")
def compaction_of_what_is_only_staged(draw: st.DrawFn) -> TableFiles:
    files = managed(last_remove=False)
    start = pick(draw, 0, 1)
    rows = [line for version in range(start, 3) for line in files.commits[version][1:]]
    stage(files, 2, FIRST, files.commits.pop(2))
    files.compactions[start, 2] = rows
    return files
