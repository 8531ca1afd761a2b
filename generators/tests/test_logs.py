"""Drawn logs are valid: the reference model replays them to the drawn states, from commits and from checkpoints."""

import io
import itertools
import json
from collections import Counter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings

from deltaspec.model.log import reconciliation
from deltaspec.protocol.actions import ACTION_TYPES, Add, DeletionVectorDescriptor, Remove, WireStruct
from deltaspec.protocol.files import deletion_vectors
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log import file_names, segment
from deltaspec_generators import table_state as log_state
from deltaspec_generators.table_files import LOG, encode_table
from deltaspec_generators.tables.strategies import GeneratedLog, logs_with_states

few_examples = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def convert_maps(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return dict(value)
    if pa.types.is_struct(kind):
        return {field.name: convert_maps(value[field.name], field.type) for field in kind}
    return value


def read_rows(data: bytes) -> list[dict[str, Any]]:
    table = pq.read_table(io.BytesIO(data))
    rows = [
        {field.name: convert_maps(row[field.name], field.type) for field in table.schema} for row in table.to_pylist()
    ]
    return [{kind: body for kind, body in row.items() if body is not None} for row in rows]


def convert_actions(rows: list[dict[str, Any]]) -> list[WireStruct]:
    found = []
    for row in rows:
        ((kind, body),) = row.items()
        if kind in ACTION_TYPES:
            found.append(msgspec.convert(body, ACTION_TYPES[kind]))
    return found


def parse_json_rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def read_checkpoint_actions(log: dict[str, bytes], checkpoint: segment.Checkpoint) -> list[Any]:
    rows: list[dict[str, Any]] = []
    for name in checkpoint.files:
        rows += parse_json_rows(log[name]) if name.endswith(".json") else read_rows(log[name])
    for row in list(rows):
        if "sidecar" in row:
            data = log[file_names.SIDECARS + row["sidecar"]["path"]]
            assert len(data) == row["sidecar"]["sizeInBytes"]
            rows += read_rows(data)
    return convert_actions(rows)


def encode_log(drawn: GeneratedLog) -> dict[str, bytes]:
    return {name.removeprefix(LOG): data for name, data in encode_table(drawn.files).items() if name.startswith(LOG)}


def extract_facts(action: Add | Remove) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(action)
    return {name: value for name, value in found.items() if name not in ("dataChange", "stats", "tags")}


def extract_drawn_facts(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return extract_facts(msgspec.convert(body, ACTION_TYPES[kind]))  # type: ignore[arg-type]


def assert_same(snapshot: reconciliation.Snapshot, state: log_state.WrittenState) -> None:
    assert snapshot.version == state.version
    assert snapshot.protocol == msgspec.convert(state.protocol, ACTION_TYPES["protocol"])
    assert snapshot.metadata == msgspec.convert(state.metadata, ACTION_TYPES["metaData"])
    live = {path_key(path): extract_drawn_facts("add", body) for path, body in state.live.items()}
    assert {key[0]: extract_facts(add) for key, add in snapshot.files.items()} == live
    assert {app: txn.version for app, txn in snapshot.transactions.items()} == {
        app: body["version"] for app, body in state.transactions.items()
    }
    assert {name: each.configuration for name, each in snapshot.domains.items()} == {
        name: body["configuration"] for name, body in state.domains.items()
    }


@few_examples
@given(drawn=logs_with_states())
def test_model_replays_every_version_as_drawn(drawn: GeneratedLog) -> None:
    log = encode_log(drawn)
    commits = {
        version: convert_actions(parse_json_rows(log[file_names.commit_name(version)]))
        for version in drawn.files.commits
    }
    latest = len(drawn.states) - 1
    bases = {each.version for each in segment.find_complete_checkpoints(log)} | ({0} & commits.keys())
    for version in range(min(bases), latest + 1):
        chosen = segment.choose_segment(log, at=version)
        base = reconciliation.EMPTY_SNAPSHOT
        if chosen.checkpoint:
            base = reconciliation.build_checkpoint_snapshot(
                chosen.checkpoint.version, read_checkpoint_actions(log, chosen.checkpoint)
            )
        assert_same(reconciliation.replay_log(commits, base=base, to=version), drawn.states[version])


@few_examples
@given(drawn=logs_with_states())
def test_every_checkpoint_equals_its_version(drawn: GeneratedLog) -> None:
    log = encode_log(drawn)
    found = segment.find_complete_checkpoints(log)
    assert len(found) == len(drawn.files.checkpoints)
    for checkpoint in found:
        state = drawn.states[checkpoint.version]
        snapshot = reconciliation.build_checkpoint_snapshot(
            checkpoint.version, read_checkpoint_actions(log, checkpoint)
        )
        assert_same(snapshot, state)
        known = {
            (path_key(path), vector): extract_drawn_facts("remove", body)
            for (path, vector), body in state.tombstones.items()
        }
        assert {key: extract_facts(remove) for key, remove in snapshot.tombstones.items()}.items() <= known.items(), (
            f"checkpoint of version {checkpoint.version}"
        )


@few_examples
@given(drawn=logs_with_states())
def test_compactions_replace_their_commits(drawn: GeneratedLog) -> None:
    log = encode_log(drawn)
    for start, end in drawn.files.compactions:
        actions = convert_actions(parse_json_rows(log[file_names.compaction_name(start, end)]))
        base = reconciliation.EMPTY_SNAPSHOT
        commits = {
            version: convert_actions(_get_raw_actions(drawn, version))
            for version in range(start)
            if _has_commit(drawn, version)
        }
        if len(commits) < start:
            continue  # earlier commits were cleaned up
        base = reconciliation.replay_log(commits, to=start - 1)
        assert_same(reconciliation.replay_commit(base, end, actions), drawn.states[end])


def _has_commit(drawn: GeneratedLog, version: int) -> bool:
    return version in drawn.files.commits


def _get_raw_actions(drawn: GeneratedLog, version: int) -> list[dict[str, Any]]:
    return [line for line in drawn.files.commits[version] if isinstance(line, dict)]


@few_examples
@given(drawn=logs_with_states())
def test_commits_follow_the_rules_of_a_version(drawn: GeneratedLog) -> None:
    for version in drawn.files.commits:
        rows = _get_raw_actions(drawn, version)
        state, before = drawn.states[version], drawn.states[version - 1] if version else log_state.WrittenState()
        assert rows, f"version {version}"
        assert [row for row in rows if len(row) != 1] == [], f"version {version}"
        singles = Counter(next(iter(row)) for row in rows)
        assert max(singles["protocol"], singles["metaData"], singles["commitInfo"]) <= 1, f"version {version}"
        adds = [row["add"] for row in rows if "add" in row]
        removes = [row["remove"] for row in rows if "remove" in row]
        assert max(Counter(body["path"] for body in adds).values(), default=1) == 1, f"version {version}"
        assert max(Counter(body["path"] for body in removes).values(), default=1) == 1, f"version {version}"
        added = {(body["path"], log_state.vector_id(body)) for body in adds}
        removed = {(body["path"], log_state.vector_id(body)) for body in removes}
        assert not added & removed, f"version {version}"
        was_live = {(path, log_state.vector_id(body)) for path, body in before.live.items()}
        assert removed <= was_live, f"version {version}"
        for path, vector in added:
            others = {key for key in was_live if key[0] == path and key[1] != vector}
            assert others <= removed, f"version {version}, {path}"
        if "appendOnly" in state.features and state.is_enabled("delta.appendOnly"):
            assert [body for body in removes if body["dataChange"]] == [], f"version {version}"
        partition = set(state.metadata["partitionColumns"])
        assert [body for body in adds if len(body["partitionValues"]) != len(partition)] == [], f"version {version}"
        if state.is_enabled("delta.enableInCommitTimestamps") and "inCommitTimestamp" in state.features:
            now = rows[0]["commitInfo"]["inCommitTimestamp"]
            assert now > (before.commit_info or {}).get("inCommitTimestamp", 0), f"version {version}"


@few_examples
@given(drawn=logs_with_states(features=("rowTracking", "domainMetadata", "deletionVectors")))
def test_row_ids_are_disjoint_and_below_the_mark(drawn: GeneratedLog) -> None:
    for state in drawn.states:
        if "rowTracking" not in state.features:
            continue
        numbered = [body for body in state.live.values() if "baseRowId" in body]
        if state.is_enabled("delta.enableRowTracking"):
            assert len(numbered) == len(state.live)
        ranges = sorted(
            (body["baseRowId"], body["baseRowId"] + json.loads(body["stats"])["numRecords"]) for body in numbered
        )
        mark = -1
        if "delta.rowTracking" in state.domains:
            mark = json.loads(state.domains["delta.rowTracking"]["configuration"])["rowIdHighWaterMark"]
        assert [end for _, end in ranges if end - 1 > mark] == [], f"version {state.version}"
        full = [range_ for range_ in ranges if range_[0] < range_[1]]
        assert [(left, right) for left, right in itertools.pairwise(full) if left[1] > right[0]] == [], (
            f"version {state.version}"
        )
        assert [body for body in numbered if body["defaultRowCommitVersion"] > state.version] == []


def read_identity_columns(state: log_state.WrittenState) -> dict[str, tuple[int, int, int | None]]:
    """Return start, step and mark of each identity column by name."""
    fields = {each["name"]: each["metadata"] for each in json.loads(state.metadata["schemaString"])["fields"]}
    prefix = "delta.identity."
    return {
        name: (found[f"{prefix}start"], found[f"{prefix}step"], found.get(f"{prefix}highWaterMark"))
        for name, found in fields.items()
        if f"{prefix}start" in found
    }


@few_examples
@given(drawn=logs_with_states(features=("identityColumns", "columnMapping")))
def test_identity_values_are_between_start_and_mark(drawn: GeneratedLog) -> None:
    before: dict[str, tuple[int, int, int | None]] = {}
    for state in drawn.states:
        now = read_identity_columns(state)
        for name, (start, step, mark) in now.items():
            steps = 0 if mark is None else (mark - start) // step
            assert steps >= 0, f"version {state.version}, column {name}"
            assert mark is None or (mark - start) % step == 0, f"version {state.version}, column {name}"
            last = before.get(name, (start, step, None))[2]
            assert last is None or (mark is not None and (mark - last) // step >= 0), (
                f"version {state.version}, column {name}"
            )
            if "delta.columnMapping.mode" not in state.configuration:
                found = [json.loads(body.get("stats", "{}")) for body in state.live.values()]
                lows = [each["minValues"][name] for each in found if name in each.get("minValues", {})]
                highs = [each["maxValues"][name] for each in found if name in each.get("maxValues", {})]
                assert [
                    each
                    for each in lows + highs
                    if not (min(start, mark or start) <= each <= max(start, mark or start))
                ] == [], f"version {state.version}, column {name}"
        before = now


@few_examples
@given(drawn=logs_with_states(features=("typeWidening", "timestampNtz")))
def test_every_type_change_is_recorded(drawn: GeneratedLog) -> None:
    before: dict[str, Any] = {}
    for state in drawn.states:
        now = {each["name"]: each for each in json.loads(state.metadata["schemaString"])["fields"]}
        for name, found in now.items():
            changes = found["metadata"].get("delta.typeChanges", [])
            if name in before and isinstance(found["type"], str) and before[name]["type"] != found["type"]:
                assert changes[-1] == {"toType": found["type"], "fromType": before[name]["type"]}, (
                    f"version {state.version}, column {name}"
                )
            older = before[name]["metadata"].get("delta.typeChanges", []) if name in before else []
            assert changes[: len(older)] == older, f"version {state.version}, column {name}"
        before = now


@few_examples
@given(drawn=logs_with_states(features=("catalogManaged", "inCommitTimestamp")))
def test_staged_commits_of_published_versions_are_copies(drawn: GeneratedLog) -> None:
    published = encode_table(drawn.files)
    for path, data in drawn.files.extra.items():
        name = path.removeprefix(f"{LOG}_staged_commits/")
        if name != path and "catalogManaged" in drawn.states[-1].features:
            version = int(name.partition(".")[0])
            assert version <= len(drawn.states), f"{path=}"
            assert published.get(LOG + file_names.commit_name(version), data) == data


@few_examples
@given(drawn=logs_with_states(features=("deletionVectors",)))
def test_deletion_vector_cardinality_is_true(drawn: GeneratedLog) -> None:
    for state in drawn.states:
        for body in state.live.values():
            if "deletionVector" not in body:
                continue
            vector = msgspec.convert(body["deletionVector"], DeletionVectorDescriptor)
            count = json.loads(body["stats"])["numRecords"]
            if vector.storage_type == "p":
                continue  # the file is outside the table
            if vector.storage_type == "i":
                bitmap = deletion_vectors.decode_inline(vector)
            else:
                data = drawn.files.extra[deletion_vectors.build_relative_path(vector)]
                bitmap = deletion_vectors.read_bitmap_at(data, vector.offset, vector.size_in_bytes)
            rows = deletion_vectors.decode_bitmap(bitmap)
            assert len(rows) == vector.cardinality < count, f"version {state.version}, {body['path']}"
            assert rows[-1] < count, f"version {state.version}, {body['path']}"


@few_examples
@given(drawn=logs_with_states())
def test_checksums_equal_their_version(drawn: GeneratedLog) -> None:
    for version, body in drawn.files.checksums.items():
        assert isinstance(body, dict)
        state = drawn.states[version]
        assert body["numFiles"] == len(state.live)
        assert body["tableSizeBytes"] == sum(add["size"] for add in state.live.values())
        histogram = body.get("fileSizeHistogram")
        if histogram:
            assert sum(histogram["fileCounts"]) == len(state.live), f"version {version}"
            assert sum(histogram["totalBytes"]) == body["tableSizeBytes"]


@few_examples
@given(drawn=logs_with_states())
def test_encoding_is_deterministic(drawn: GeneratedLog) -> None:
    once = encode_table(drawn.files)
    assert encode_table(drawn.files) == once
    assert encode_table(drawn.files, once) == once
