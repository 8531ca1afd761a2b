"""On drawn logs, the columnar views equal the model's replay of the raw actions.

Expected values come from `deltaspec.model` and plain Python over bytes that `json` and `pyarrow` decode, without any
code of `wire` or `views`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import DecodedLog, RecordingRun, convert_action
from hypothesis import example, given
from hypothesis import strategies as st
from views.model_expectations import (
    LOG,
    Row,
    arbitrary_commits,
    cardinality,
    compute_snapshots,
    list_actions,
    num_records,
    project_rows,
    sort_rows,
)

from deltaspec.model.log.checkpoints import compare_checkpoint, reconcile_checkpoint
from deltaspec.protocol.features.table_properties import has_in_commit_timestamps, is_append_only
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.revisions import Revision
from deltaspec.views.files.file_replay import find_live_files
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, get_action, inline_vector_descriptor
from deltaspec_generators.tables.strategies import logs
from planted_tables.bases.log_only import build_checkpointed_table, build_table_with_vector
from planted_tables.faults.all_faults import PLANTED_FAULTS

# files


def assert_files_equal(run: RecordingRun, decoded: DecodedLog) -> None:
    for version, snapshot in compute_snapshots(run, decoded).items():
        live = find_live_files(run.intervals, version).select(
            "path_key", "deletion_vector_id", "size", "cardinality", "num_records"
        )
        assert sort_rows(live.iter_rows()) == sort_rows(
            (path_key(add.path), get_vector_id(add), add.size, cardinality(add), num_records(add))
            for add in snapshot.files.values()
        )
        tombstones = find_live_files(run.intervals, version, "remove").select(
            "path_key", "deletion_vector_id", "deletion_timestamp"
        )
        expected_tombstones = [(*key, remove.deletion_timestamp) for key, remove in snapshot.tombstones.items()]
        if not run.facts.compares_files:  # the timestamps are kept only for comparisons
            expected_tombstones = [(*key, None) for key in snapshot.tombstones]
        assert sort_rows(tombstones.iter_rows()) == sort_rows(expected_tombstones), f"{version=}"


@example_settings(25)
@given(files=logs())
def test_live_files_and_tombstones_equal_the_model(files: TableFiles) -> None:
    run = RecordingRun(files)
    assert_files_equal(run, DecodedLog.decode(files))
    assert run.facts.replay_blocked_reason is None
    assert not run.recorded.undecided


@example_settings(15)
@given(files=logs())
def test_snapshot_files_equal_the_model(files: TableFiles) -> None:
    run = RecordingRun(files, history="latest")
    snapshot = compute_snapshots(run, DecodedLog.decode(files))[run.plan.version]
    columns = ("version", "path", "path_key", "deletion_vector_id", "size", "base_row_id")
    assert project_rows(run, "snapshot_files", *columns) == sort_rows(
        (snapshot.version, add.path, path_key(add.path), get_vector_id(add), add.size, add.base_row_id)
        for add in snapshot.files.values()
    )


@pytest.mark.parametrize("revision", Revision)
@example_settings(40)
@given(files=arbitrary_commits())
def test_replay_of_arbitrary_commits_equals_the_model(revision: Revision, files: TableFiles) -> None:
    assert_files_equal(RecordingRun(files, revision=revision), DecodedLog.decode(files))


def two_vectors_of_a_path() -> TableFiles:
    """Build a table with a path that is added again with another vector, and never removed."""
    files = build_table_with_vector()
    add = get_action(files, 2, "add")
    files.commits[3] = [{"add": {**add, "deletionVector": inline_vector_descriptor((2,))}}]
    return files


@pytest.mark.parametrize(
    ("revision", "vectors"), [(Revision.R1, 2), (Revision.R2, 2), (Revision.R3, 2), (Revision.CURRENT, 1)]
)
def test_adds_are_identified_by_path_and_vector_until_r3(revision: Revision, vectors: int) -> None:
    run = RecordingRun(two_vectors_of_a_path(), revision=revision)
    live = find_live_files(run.intervals, 3)
    assert live["path_key"].to_list().count("c.parquet") == vectors
    assert_files_equal(run, DecodedLog.decode(two_vectors_of_a_path()))


# the table


@example_settings(15)
@given(files=logs())
def test_table_state_equals_the_model(files: TableFiles) -> None:
    run = RecordingRun(files)
    snapshots = compute_snapshots(run, DecodedLog.decode(files))
    assert run.states_by_version.keys() == snapshots.keys()
    for version, snapshot in snapshots.items():
        state = run.states_by_version[version]
        assert state.protocol == snapshot.protocol
        assert state.metadata == snapshot.metadata
        assert state.transactions == snapshot.transactions
        assert state.domains == snapshot.domains


@example_settings(15)
@given(files=logs())
def test_rows_of_table_actions_are_the_actions_as_written(files: TableFiles) -> None:
    run = RecordingRun(files)
    actions = list_actions(run, DecodedLog.decode(files))
    features, configuration, transactions, domains = [], [], [], []
    changed_features: list[tuple[object, ...]] = []
    listed: dict[str, tuple[object, ...]] = {}
    settings: dict[str, str] = {}
    last: dict[str, int] = {}
    for version, file, line, kind, body in actions:
        place = (version, file, line)
        match kind:
            case "protocol":
                readers, writers = body.get("readerFeatures") or [], body.get("writerFeatures") or []
                before, listed = listed, {}
                for name in {*readers, *writers}:
                    times = max(readers.count(name), writers.count(name))
                    listed[name] = (name, body["minReaderVersion"], name in readers, name in writers, times)
                    features.append((*place, *listed[name]))
                    if before.get(name) != listed[name]:
                        changed_features.append(features[-1])
            case "metaData":
                now = body["configuration"]
                for name in {*settings, *now}:
                    if settings.get(name) != now.get(name):
                        configuration.append((*place, name, now.get(name), settings.get(name)))
                settings = now
            case "txn":
                app = body["appId"]
                transactions.append((*place, app, body["version"], last.get(app), body.get("lastUpdated")))
                last[app] = body["version"]
            case "domainMetadata":
                domains.append((*place, body["domain"], body["removed"], body["configuration"]))
    place = ("version", "file", "line")
    columns = ("feature", "min_reader_version", "in_reader_features", "in_writer_features", "occurrences")
    found = project_rows(run, "features", *place, *columns)  # a feature has a row where it changed
    assert set(changed_features) <= set(found) <= set(features)
    assert project_rows(run, "configuration", *place, "property", "value", "value_before") == sort_rows(configuration)
    columns = ("app_id", "app_version", "app_version_before", "last_updated")
    assert project_rows(run, "transactions", *place, *columns) == sort_rows(transactions)
    assert project_rows(run, "domains", *place, "domain", "removed", "configuration") == sort_rows(domains)


# log files

_KINDS = {
    r"\d{20}\.json": "commit",
    r"\d{20}\.checkpoint\.parquet": "classic checkpoint",
    r"\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet": "multipart checkpoint",
    r"\d{20}\.checkpoint\.[0-9a-f-]{36}\.(json|parquet)": "uuid checkpoint",
    r"\d{20}\.\d{20}\.compacted\.json": "compaction",
    r"\d{20}\.crc": "checksum",
    r"_last_checkpoint": "last checkpoint",
    r"_sidecars/[0-9a-f-]{36}\.parquet": "sidecar",
    r"_staged_commits/\d{20}\.[0-9a-f-]{36}\.json": "staged commit",
}


@example_settings(15)
@given(files=logs())
def test_listing_has_a_row_for_every_file_of_the_log(files: TableFiles) -> None:
    run, log = RecordingRun(files), DecodedLog.decode(files).log
    expected = []
    for name, data in log.items():
        if name.rpartition("/")[0] not in ("", "_sidecars", "_staged_commits"):
            continue
        kind = next((kind for form, kind in _KINDS.items() if re.fullmatch(form, name)), "other")
        numbers = re.findall(r"\d{20}", name)
        has_version = kind not in ("other", "last checkpoint", "sidecar")
        version = int(numbers[0]) if has_version else None
        end = int(numbers[1]) if kind == "compaction" else None
        parts = [int(each) for each in re.findall(r"\.(\d{10})\b", name)] if kind.startswith("multi") else [None, None]
        missing = 0 if kind == "commit" else None
        expected.append((f"{LOG}/{name}", kind, version, end, *parts, len(data), None, missing))
    columns = (
        "file",
        "kind",
        "version",
        "end_version",
        "part",
        "parts",
        "size_bytes",
        "resembles",
        "missing_commits_before",
    )
    assert project_rows(run, "listing", *columns) == sort_rows(expected)


def json_files(run: RecordingRun, decoded: DecodedLog) -> dict[str, int]:
    """Return name and version of every JSON log file that the run checks line by line."""
    found = {f"{version:020}.json": version for version in (*run.plan.earlier_commits, *run.plan.commits)}
    found |= {f"{each.start:020}.{each.end:020}.compacted.json": each.end for each in run.plan.compactions}
    for each in [*run.plan.compared_checkpoints, *([run.plan.base] if run.plan.base else [])]:
        found |= {name: each.version for name in each.files if name.endswith(".json")}
    return found


@example_settings(15)
@given(files=logs())
def test_lines_has_a_row_for_every_line(files: TableFiles) -> None:
    run, decoded = RecordingRun(files), DecodedLog.decode(files)
    expected = []
    for name, version in json_files(run, decoded).items():
        pieces = decoded.log[name].split(b"\n")
        for number, line in enumerate(pieces[:-1] if not pieces[-1] else pieces, 1):
            place = (f"{LOG}/{name}", version, number)
            if not line:
                expected.append((*place, None, 0, None, None, None, "blank line"))
                continue
            ((kind, _),) = json.loads(line).items()
            expected.append((*place, None if kind == "futureAction" else kind, 1, None, None, None, None))
    columns = (
        "file",
        "version",
        "line",
        "kind",
        "actions",
        "json_error",
        "schema_error",
        "repeated_key",
        "unexpected_whitespace",
    )
    assert project_rows(run, "lines", *columns) == sort_rows(expected)


@example_settings(15)
@given(files=logs())
def test_commits_count_the_actions_of_each_kind(files: TableFiles) -> None:
    run, decoded = RecordingRun(files), DecodedLog.decode(files)
    snapshots = compute_snapshots(run, decoded)
    expected = []
    for version in (*run.plan.earlier_commits, *run.plan.commits):
        rows = decoded.commits[version]
        kinds = Counter(kind for _, kind, _ in rows)
        info = next((body for _, kind, body in rows if kind == "commitInfo"), {})
        removed = sum(kind == "remove" and body["dataChange"] for _, kind, body in rows)
        protocol, metadata = snapshots[version].protocol, snapshots[version].metadata
        assert protocol, f"{version=}"
        assert metadata, f"{version=}"
        expected.append(
            (
                version,
                f"{LOG}/{version:020}.json",
                len(rows),
                *(kinds[each] for each in ("protocol", "metaData", "commitInfo", "add", "remove", "cdc")),
                kinds["domainMetadata"],
                kinds["checkpointMetadata"] + kinds["sidecar"],
                next(kind for _, kind, _ in rows if kind != "futureAction"),
                info.get("inCommitTimestamp"),
                info.get("txnId"),
                removed,
                has_in_commit_timestamps(protocol, metadata),
                is_append_only(protocol, metadata),
            )
        )
    counts = ("actions", "protocols", "metadatas", "commit_infos", "adds", "removes", "cdcs", "domains")
    columns = ("version", "file", *counts, "checkpoint_only_actions", "first_action", "in_commit_timestamp", "txn_id")
    state = ("removes_with_data_change", "in_commit_timestamps_enabled", "append_only")
    assert project_rows(run, "commits", *columns, *state) == sort_rows(expected)


# checkpoints compared with replay


@example_settings(25)
@given(files=logs())
def test_derived_files_of_valid_logs_equal_replay(files: TableFiles) -> None:
    rows = RecordingRun(files).recorded.rows("replay_differences")
    expired = [row for row in rows if (row["kind"], row["difference"], row["may_have_expired"]) in _EXPIRED]
    assert rows == expired


_EXPIRED = {("remove", "missing", True)}
"""Expired tombstones: `logs()` leaves them out of some checkpoints, as the protocol allows."""


def differences_of_model(run: RecordingRun, decoded: DecodedLog) -> list[tuple[Any, ...]]:
    """Return version, kind, path (appId, domain), difference and field for every checkpoint compared with replay."""
    snapshots, found = compute_snapshots(run, decoded), []
    for checkpoint in run.plan.compared_checkpoints:
        actions = [convert_action(kind, body) for _, _, kind, body in decoded.checkpoint(checkpoint)]
        recorded = reconcile_checkpoint(checkpoint.version, actions)
        base = snapshots[run.plan.base.version] if run.plan.base else None
        for each in compare_checkpoint(snapshots[checkpoint.version], recorded, base=base):
            path = each.key[0] if isinstance(each.key, tuple) else each.key
            found.append((checkpoint.version, each.kind, path, each.what, each.field))
    return sort_rows(found)


def differences_of_run(run: RecordingRun, checkpoints: Iterable[Checkpoint] | None = None) -> list[tuple[Any, ...]]:
    """Return the same of a run, by default for the checkpoints that it compares."""
    chosen = run.plan.compared_checkpoints if checkpoints is None else checkpoints
    compared = {f"{LOG}/{each.files[0]}" for each in chosen}
    rows = [row for row in run.recorded.rows("replay_differences") if row["file"] in compared]
    found = []
    for row in rows:
        path = path_key(row["path"]) if row["kind"] in ("add", "remove") else row["path"]
        found.append((row["version"], row["kind"], path, row["difference"], row["field"]))
    return sort_rows(found)


_UNEQUAL = sorted(
    name
    for name, each in PLANTED_FAULTS.items()
    if each.requirement == "checkpoint.equals-replay"
    and not each.breaks.__module__.endswith("typed_copies")  # which the model does not read
    and "current" in (each.revisions or ("current",))
)


@example_settings(30)
@given(data=st.data())
def test_differences_of_mutated_checkpoints_equal_the_model(data: st.DataObject) -> None:
    files = data.draw(PLANTED_FAULTS[data.draw(st.sampled_from(_UNEQUAL))].tables())
    run = RecordingRun(files)
    assert differences_of_run(run) == differences_of_model(run, DecodedLog.decode(files))


@st.composite
def logs_with_a_changed_checkpoint(draw: st.DrawFn) -> TableFiles:
    """Draw a valid log in which one action of one checkpoint is removed, changed, or has another path."""
    files = draw(logs().filter(lambda each: bool(each.checkpoints)))
    checkpoint = draw(st.sampled_from(files.checkpoints))
    places = [rows for rows in (checkpoint.rows, *(each.rows for each in checkpoint.sidecars)) if rows]
    rows = draw(st.sampled_from(places))
    number = draw(st.integers(0, len(rows) - 1))
    ((kind, body),) = rows[number].items()
    changes: dict[str, Row] = {
        "add": {
            "size": 12345,
            "modificationTime": 5,
            "path": "elsewhere",
            "baseRowId": 77,
            "tags": {"changed": "true"},
            "clusteringProvider": "changed",
            "stats": '{"numRecords":12345}',
            "dataChange": True,
        },
        "remove": {"path": "elsewhere", "deletionTimestamp": 5, "extendedFileMetadata": True, "size": 12345},
        "txn": {"version": 4321, "appId": "nobody", "lastUpdated": 5},
        "domainMetadata": {"configuration": '{"changed":true}', "domain": "nobody"},
        "metaData": {"name": "changed", "createdTime": 5, "format": {"provider": "parquet", "options": {"a": "b"}}},
        "protocol": {},
    }
    choice = draw(st.sampled_from((None, *changes.get(kind, {}))))
    if choice is not None:
        rows[number] = {kind: {**body, choice: changes[kind][choice]}}
    elif kind in ("add", "remove", "txn", "domainMetadata"):
        del rows[number]
    return files


def build_table_with_a_wrong_base() -> TableFiles:
    """Build a log whose first checkpoint has another `createdTime` than the commit of its version."""
    files = build_checkpointed_table(last_remove=False)
    files.commits[1].append(files.commits[0].pop(2))
    del files.commits[0]
    (base,) = files.checkpoints
    own = next(row["add"] for row in files.commits[2] if isinstance(row, dict) and "add" in row)
    later = [*base.rows, {"add": own}]
    base.rows = [{"metaData": {**row["metaData"], "createdTime": 5}} if "metaData" in row else row for row in base.rows]
    files.checkpoints.append(CheckpointFiles(2, rows=later))
    return files


@example_settings(20)
@given(files=logs_with_a_changed_checkpoint())
@example(files=build_table_with_a_wrong_base())
def test_differences_of_changed_checkpoints_equal_the_model(files: TableFiles) -> None:
    """What is wrong in the base, according to the commit of its version, is not compared with later checkpoints."""

    def get_subject(row: tuple[Any, ...]) -> tuple[str, str | None]:
        return ("file" if row[1] in ("add", "remove") else row[1]), row[2]

    run = RecordingRun(files)
    bases = [] if run.plan.base is None else [run.plan.base]
    wrong = set(map(get_subject, differences_of_run(run, bases)))
    of_model = differences_of_model(run, DecodedLog.decode(files))
    assert differences_of_run(run) == [row for row in of_model if get_subject(row) not in wrong]
