"""Views are the model's rival: on drawn logs they say what replaying the raw actions says.

Expected values come from `deltaspec.model` and plain Python over bytes that `json` and `pyarrow` decode; nothing of
`wire` or `views` takes part in them.
"""

import json
import re
from collections import Counter
from typing import Any

import pytest
from examples import drawn
from hypothesis import given
from hypothesis import strategies as st
from views.observed import Decoded, ObservedRun, body_key, known

from deltaspec.model.actions import Add, Remove
from deltaspec.model.checkpoints import checkpoint_difference, reconcile_checkpoint
from deltaspec.model.configuration import in_commit_timestamps_enabled, is_append_only
from deltaspec.model.paths import path_key
from deltaspec.model.reconciliation import Snapshot, vector_id
from deltaspec.model.revisions import Revision
from deltaspec.views.file_replay import live_at
from deltaspec_generators.bases import action, inline_vector, with_vector
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action
from deltaspec_generators.every_mutation import MUTATIONS
from deltaspec_generators.logs import logs

Row = dict[str, Any]
LOG = "_delta_log"


def rows_of(run: ObservedRun, view: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a view, projected, in an order of their own."""
    return ordered(tuple(_hashable(row[name]) for name in columns) for row in run.seen.rows(view))


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def num_records(add: Add) -> int | None:
    return None if add.stats is None else json.loads(add.stats).get("numRecords")


def cardinality(action: Add | Remove) -> int | None:
    return action.deletion_vector.cardinality if action.deletion_vector else None


def versions_of(run: ObservedRun, decoded: Decoded) -> dict[int, Snapshot]:
    return decoded.snapshots(run.plan.base, run.plan.version, run.revision)


# files


def assert_files_equal(run: ObservedRun, decoded: Decoded) -> None:
    for version, snapshot in versions_of(run, decoded).items():
        live = live_at(run.spanned, version).select(
            "path_key", "deletion_vector_id", "size", "cardinality", "num_records"
        )
        assert ordered(live.iter_rows()) == ordered(
            (path_key(add.path), vector_id(add), add.size, cardinality(add), num_records(add))
            for add in snapshot.files.values()
        )
        gone = live_at(run.spanned, version, "remove").select("path_key", "deletion_vector_id", "deletion_timestamp")
        dead = [(*key, remove.deletion_timestamp) for key, remove in snapshot.tombstones.items()]
        if not run.compared:  # the timestamps are kept for comparisons alone
            dead = [(*key, None) for key in snapshot.tombstones]
        assert ordered(gone.iter_rows()) == ordered(dead)


@drawn(25)
@given(files=logs())
def test_live_files_and_tombstones_of_every_version_are_those_of_the_model(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert_files_equal(run, Decoded.of(files))
    assert run.files_in_doubt is None
    assert not run.seen.doubts


@drawn(15)
@given(files=logs())
def test_snapshot_files_are_the_live_files_of_the_judged_version(files: TableFiles) -> None:
    run = ObservedRun(files, history="latest")
    snapshot = versions_of(run, Decoded.of(files))[run.plan.version]
    columns = ("version", "path", "path_key", "deletion_vector_id", "size", "base_row_id")
    assert rows_of(run, "snapshot_files", *columns) == ordered(
        (snapshot.version, add.path, path_key(add.path), vector_id(add), add.size, add.base_row_id)
        for add in snapshot.files.values()
    )


_PATHS = ("a", "b%20c", "b c", "%61", "x/../a", "./a", "%2E/d", "d", "s3://t/d", "S3://t/./d")
_VECTORS = (None, "one", "two")


@st.composite
def wild_commits(draw: st.DrawFn) -> TableFiles:
    """Commits of any file actions whatever: added twice, removed twice, both at once, in odd spellings."""
    files = TableFiles()
    files.commits[0] = [
        protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"]),
        metadata_action([("x", "long")]),
    ]
    for version in range(draw(st.integers(1, 6))):
        lines = files.commits.setdefault(version, [])
        for number in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(("add", "remove", "cdc")))
            body: Row = {"path": draw(st.sampled_from(_PATHS)), "dataChange": True, "size": 10 * version + number}
            if kind != "cdc" and (name := draw(st.sampled_from(_VECTORS))):
                body["deletionVector"] = {
                    "storageType": "p",
                    "pathOrInlineDv": f"file:///{name}.bin",
                    "offset": 1,
                    "sizeInBytes": 40,
                    "cardinality": number + 1,
                }
            if kind != "remove":
                body["partitionValues"] = {}
            if kind == "add":
                body["modificationTime"] = 1
                body["stats"] = json.dumps({"numRecords": 100 * version + number})
            lines.append({kind: body})
        if not lines:
            lines.append({"commitInfo": {}})
    return files


@pytest.mark.parametrize("revision", Revision)
@drawn(40)
@given(files=wild_commits())
def test_replay_equals_the_model_on_commits_that_break_every_rule(revision: Revision, files: TableFiles) -> None:
    assert_files_equal(ObservedRun(files, revision=revision), Decoded.of(files))


def two_vectors_of_a_path() -> TableFiles:
    """A path that is added under another vector, and never removed."""
    files = with_vector()
    add = action(files, 2, "add")
    files.commits[3] = [{"add": {**add, "deletionVector": inline_vector((2,))}}]
    return files


@pytest.mark.parametrize(
    ("revision", "vectors"), [(Revision.R1, 2), (Revision.R2, 2), (Revision.R3, 2), (Revision.CURRENT, 1)]
)
def test_adds_of_a_snapshot_are_known_by_path_and_vector_until_r3(revision: Revision, vectors: int) -> None:
    run = ObservedRun(two_vectors_of_a_path(), revision=revision)
    live = live_at(run.spanned, 3)
    assert live["path_key"].to_list().count("c.parquet") == vectors
    assert_files_equal(run, Decoded.of(two_vectors_of_a_path()))


# the table


@drawn(15)
@given(files=logs())
def test_state_of_every_version_is_that_of_the_model(files: TableFiles) -> None:
    run = ObservedRun(files)
    snapshots = versions_of(run, Decoded.of(files))
    assert run.state_at.keys() == snapshots.keys()
    for version, snapshot in snapshots.items():
        state = run.state_at[version]
        assert state.protocol == snapshot.protocol
        assert state.metadata == snapshot.metadata
        assert state.transactions == snapshot.transactions
        assert state.domains == snapshot.domains


def table_actions(run: ObservedRun, decoded: Decoded) -> list[tuple[int, str, int, str, Any]]:
    """Version, file, line, kind and body of the actions of the base and of the commits after it, in order."""
    base = run.plan.base
    found = []
    if base is not None:
        found = [(base.version, f"{LOG}/{base.files[0]}", line, *row) for _, line, *row in decoded.checkpoint(base)]
    for version in run.plan.commits:
        found += [(version, f"{LOG}/{version:020}.json", *row) for row in decoded.commits[version]]
    return found


@drawn(15)
@given(files=logs())
def test_rows_of_table_actions_are_the_actions_as_written(files: TableFiles) -> None:
    run = ObservedRun(files)
    actions = table_actions(run, Decoded.of(files))
    features, configuration, transactions, domains = [], [], [], []
    settings: dict[str, str] = {}
    last: dict[str, int] = {}
    for version, file, line, kind, body in actions:
        place = (version, file, line)
        match kind:
            case "protocol":
                readers, writers = body.get("readerFeatures") or [], body.get("writerFeatures") or []
                for name in {*readers, *writers}:
                    times = max(readers.count(name), writers.count(name))
                    features.append((*place, name, body["minReaderVersion"], name in readers, name in writers, times))
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
    columns = ("feature", "min_reader_version", "in_reader_features", "in_writer_features", "times")
    assert rows_of(run, "features", *place, *columns) == ordered(features)
    assert rows_of(run, "configuration", *place, "property", "value", "value_before") == ordered(configuration)
    columns = ("app_id", "app_version", "app_version_before", "last_updated")
    assert rows_of(run, "transactions", *place, *columns) == ordered(transactions)
    assert rows_of(run, "domains", *place, "domain", "removed", "configuration") == ordered(domains)


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


@drawn(15)
@given(files=logs())
def test_listing_has_a_row_for_every_file_of_the_log(files: TableFiles) -> None:
    run, log = ObservedRun(files), Decoded.of(files).log
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
    columns = ("file", "kind", "version", "end_version", "part", "parts", "size_bytes", "near_miss", "missing_before")
    assert rows_of(run, "listing", *columns) == ordered(expected)


def json_files(run: ObservedRun, decoded: Decoded) -> dict[str, int]:
    """Name and version of every JSON log file that the run looks at line by line."""
    found = {f"{version:020}.json": version for version in run.plan.commits}
    found |= {f"{each.start:020}.{each.end:020}.compacted.json": each.end for each in run.plan.compactions}
    for each in [*run.plan.claims, *([run.plan.base] if run.plan.base else [])]:
        found |= {name: each.version for name in each.files if name.endswith(".json")}
    return found


@drawn(15)
@given(files=logs())
def test_lines_has_a_row_for_every_line(files: TableFiles) -> None:
    run, decoded = ObservedRun(files), Decoded.of(files)
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
    columns = ("file", "version", "line", "kind", "actions", "not_json", "form_fault", "repeated_key", "odd_space")
    assert rows_of(run, "lines", *columns) == ordered(expected)


@drawn(15)
@given(files=logs())
def test_commits_count_the_actions_of_each_kind(files: TableFiles) -> None:
    run, decoded = ObservedRun(files), Decoded.of(files)
    snapshots = versions_of(run, decoded)
    expected = []
    for version in run.plan.commits:
        rows = decoded.commits[version]
        kinds = Counter(kind for _, kind, _ in rows)
        info = next((body for _, kind, body in rows if kind == "commitInfo"), {})
        removed = sum(kind == "remove" and body["dataChange"] for _, kind, body in rows)
        protocol, metadata = snapshots[version].protocol, snapshots[version].metadata
        assert protocol
        assert metadata
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
                in_commit_timestamps_enabled(protocol, metadata),
                is_append_only(protocol, metadata),
            )
        )
    counts = ("actions", "protocols", "metadatas", "commit_infos", "adds", "removes", "cdcs", "domains")
    columns = ("version", "file", *counts, "checkpoint_only_actions", "first_action", "in_commit_timestamp", "txn_id")
    state = ("removes_with_data_change", "in_commit_timestamps_enabled", "append_only")
    assert rows_of(run, "commits", *columns, *state) == ordered(expected)


# checkpoints beside replay


@drawn(25)
@given(files=logs())
def test_no_claim_of_a_valid_log_differs_from_replay(files: TableFiles) -> None:
    rows = ObservedRun(files).seen.rows("checkpoint_rows")
    expired = [row for row in rows if (row["kind"], row["difference"], row["expired_possible"]) == _EXPIRED]
    assert rows == expired


_EXPIRED = ("remove", "missing", True)
"""A tombstone that was past its retention: `logs()` leaves those out of some checkpoints, as the text allows."""


def differences_of_model(run: ObservedRun, decoded: Decoded) -> list[tuple[Any, ...]]:
    """Version, kind, path (appId, domain), difference and field for every checkpoint that meets replay."""
    snapshots, found = versions_of(run, decoded), []
    for claim in run.plan.claims:
        actions = [known(kind, body) for _, _, kind, body in decoded.checkpoint(claim)]
        claimed = reconcile_checkpoint(claim.version, actions)
        for each in checkpoint_difference(snapshots[claim.version], claimed):
            path = each.key[0] if isinstance(each.key, tuple) else each.key
            found.append((claim.version, each.kind, path, each.what, each.field))
    return ordered(found)


def differences_of_run(run: ObservedRun) -> list[tuple[Any, ...]]:
    rows = [row for row in run.seen.rows("checkpoint_rows") if row["claim"] == "checkpoint"]
    found = []
    for row in rows:
        path = path_key(row["path"]) if row["kind"] in ("add", "remove") else row["path"]
        found.append((row["version"], row["kind"], path, row["difference"], row["field"]))
    return ordered(found)


_UNEQUAL = sorted(
    name
    for name, each in MUTATIONS.items()
    if each.requirement == "checkpoint.equals-replay" and "current" in (each.revisions or ("current",))
)


@drawn(30)
@given(data=st.data())
def test_differences_of_mutated_checkpoints_are_those_of_the_model(data: st.DataObject) -> None:
    files = data.draw(MUTATIONS[data.draw(st.sampled_from(_UNEQUAL))].tables())
    run = ObservedRun(files)
    assert differences_of_run(run) == differences_of_model(run, Decoded.of(files))


@st.composite
def logs_with_a_changed_checkpoint(draw: st.DrawFn) -> TableFiles:
    """A valid log in which one action of one checkpoint is gone, altered or of another path."""
    files = draw(logs().filter(lambda each: bool(each.checkpoints)))
    checkpoint = draw(st.sampled_from(files.checkpoints))
    places = [rows for rows in (checkpoint.rows, *(each.rows for each in checkpoint.sidecars)) if rows]
    rows = draw(st.sampled_from(places))
    number = draw(st.integers(0, len(rows) - 1))
    ((kind, body),) = rows[number].items()
    changes: dict[str, Row] = {
        "add": {"size": 12345, "modificationTime": 5, "path": "elsewhere", "baseRowId": 77},
        "remove": {"path": "elsewhere", "deletionTimestamp": 5},
        "txn": {"version": 4321, "appId": "nobody"},
        "domainMetadata": {"configuration": '{"changed":true}', "domain": "nobody"},
        "metaData": {"name": "changed", "createdTime": 5},
        "protocol": {},
    }
    choice = draw(st.sampled_from((None, *changes.get(kind, {}))))
    if choice is not None:
        rows[number] = {kind: {**body, choice: changes[kind][choice]}}
    elif kind in ("add", "remove", "txn", "domainMetadata"):
        del rows[number]
    return files


@drawn(20)
@given(files=logs_with_a_changed_checkpoint())
def test_differences_of_changed_checkpoints_are_those_of_the_model(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert differences_of_run(run) == differences_of_model(run, Decoded.of(files))


# file_history


def history_of_model(run: ObservedRun, decoded: Decoded) -> list[tuple[Any, ...]]:
    """Rows of `file_history` for the base and the commits, from the definitions of its columns."""
    snapshots = versions_of(run, decoded)
    written = [
        (version, "checkpoint" if run.plan.base and version == run.plan.base.version else "commit", line, kind, body)
        for version, _, line, kind, body in table_actions(run, decoded)
        if kind in ("add", "remove", "cdc")
    ]
    spellings: dict[str, list[str]] = {}
    for *_, body in written:
        spellings.setdefault(body_key(body), []).append(body["path"])
    found = []
    for version, source, line, kind, body in written:
        key, vector = body_key(body), _vector(kind, body)
        if len(spellings[key]) == 1:
            continue
        together = [
            (other, _vector(other, each))
            for at, of, _, other, each in written
            if (at, of) == (version, source) and body_key(each) == key
        ]
        opposite = {"add": "remove", "remove": "add"}.get(kind)
        low, high = min(spellings[key]), max(spellings[key])
        before = snapshots[version - 1].files if source == "commit" and version - 1 in snapshots else {}
        live = [vector_id(add) for (path, _), add in before.items() if path == key]
        kept = [each for each in live if each != vector and ("remove", each) not in together]
        found.append(
            (
                version,
                line,
                kind,
                body["path"],
                key,
                vector,
                sum(other == kind for other, _ in together),
                sum((other, each) == (kind, vector) for other, each in together),
                sum((other, each) == (opposite, vector) for other, each in together),
                (kept[0] or "none") if kind == "add" and kept else None,
                low if body["path"] != low else high if body["path"] != high else None,
            )
        )
    return ordered(found)


def _vector(kind: str, body: Row) -> str | None:
    return None if kind == "cdc" else vector_id(known(kind, body))


_HISTORY = (
    *("version", "line", "kind", "path", "path_key", "deletion_vector_id", "same_path_same_kind"),
    *("same_file_same_kind", "same_file_other_kind", "live_vector_unremoved", "other_spelling"),
)


def history_of_run(run: ObservedRun) -> list[tuple[Any, ...]]:
    replayed = run.seen.frames["file_history"][0]  # those of claims follow
    return ordered(replayed.select(_HISTORY).iter_rows())


@drawn(25)
@given(files=logs())
def test_file_history_of_valid_logs_follows_its_definition(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert history_of_run(run) == history_of_model(run, Decoded.of(files))


@drawn(60)
@given(files=wild_commits())
def test_file_history_of_wild_commits_follows_its_definition(files: TableFiles) -> None:
    run = ObservedRun(files)
    assert history_of_run(run) == history_of_model(run, Decoded.of(files))
