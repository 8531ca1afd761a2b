"""Every field that a derived file repeats is compared with replay.

Each comparison is disabled in turn, and a contradiction in its field then goes unnoticed.
"""

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import RecordingRun
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.log.compared_fields import COMPARED_FIELDS
from deltaspec.protocol.revisions import Revision
from deltaspec_generators.checkpoint_writer import CLASSIC_COLUMNS, CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    domain_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    txn_action,
    write_table,
)
from deltaspec_generators.tables.strategies import logs

Body = dict[str, Any]
VECTOR, OTHER_VECTOR = inline_vector_descriptor((1,)), inline_vector_descriptor((2,))
STATS = '{"numRecords":3}'
ROW_IDS = {"baseRowId": 5, "defaultRowCommitVersion": 1}

CONTRADICTIONS: dict[tuple[str, str], Body] = {
    ("protocol", "minReaderVersion"): {"minReaderVersion": 2},
    ("protocol", "minWriterVersion"): {"minWriterVersion": 6},
    ("protocol", "readerFeatures"): {"readerFeatures": ["deletionVectors", "v2Checkpoint"]},
    ("protocol", "writerFeatures"): {"writerFeatures": ["deletionVectors"]},
    ("metaData", "id"): {"id": "11111111-2222-4333-8444-666666666666"},
    ("metaData", "name"): {"name": None},
    ("metaData", "description"): {"description": "other"},
    ("metaData", "format.provider"): {"format": {"provider": "orc", "options": {}}},
    ("metaData", "format.options"): {"format": {"provider": "parquet", "options": {"a": "b"}}},
    ("metaData", "schemaString"): {"schemaString": metadata_action([("p", "string")])["metaData"]["schemaString"]},
    ("metaData", "partitionColumns"): {"partitionColumns": []},
    ("metaData", "configuration"): {"configuration": {"a": "b"}},
    ("metaData", "createdTime"): {"createdTime": None},
    ("txn", "version"): {"version": 2},
    ("txn", "lastUpdated"): {"lastUpdated": None},
    ("domainMetadata", "configuration"): {"configuration": '{"a":null}'},
    ("domainMetadata", "removed"): {"removed": True},
    ("rowIdHighWaterMark", "highWaterMark"): {"highWaterMark": 8},
    ("rowIdHighWaterMark", "preservedRowIds"): {"preservedRowIds": False},
    ("add", "partitionValues"): {"partitionValues": {"p": "2"}},
    ("add", "size"): {"size": 1001},
    ("add", "modificationTime"): {"modificationTime": 1},
    ("add", "dataChange"): {"dataChange": True},
    ("add", "stats"): {"stats": '{"numRecords":4}'},
    ("add", "tags"): {"tags": None},
    ("add", "deletionVector"): {"deletionVector": OTHER_VECTOR},
    ("add", "deletionVector.sizeInBytes"): {"deletionVector": {**VECTOR, "sizeInBytes": 1}},
    ("add", "deletionVector.cardinality"): {"deletionVector": {**VECTOR, "cardinality": 2}},
    ("add", "baseRowId"): {"baseRowId": None},
    ("add", "defaultRowCommitVersion"): {"defaultRowCommitVersion": 0},
    ("add", "clusteringProvider"): {"clusteringProvider": None},
    ("remove", "deletionTimestamp"): {"deletionTimestamp": None},
    ("remove", "dataChange"): {"dataChange": True},
    ("remove", "extendedFileMetadata"): {"extendedFileMetadata": False},
    ("remove", "partitionValues"): {"partitionValues": None},
    ("remove", "size"): {"size": None},
    ("remove", "stats"): {"stats": '{"numRecords":4}'},
    ("remove", "tags"): {"tags": {"a": "c"}},
    ("remove", "deletionVector.sizeInBytes"): {"deletionVector": {**VECTOR, "sizeInBytes": 1}},
    ("remove", "deletionVector.cardinality"): {"deletionVector": {**VECTOR, "cardinality": 2}},
    ("remove", "baseRowId"): {"baseRowId": 6},
    ("remove", "defaultRowCommitVersion"): {"defaultRowCommitVersion": None},
}
"""Fields that contradict the action of `build_table`, by wire names of action and compared field."""
OTHERWISE_NOTICED = {
    ("remove", "deletionVector"),  # it is part of the key
}


def build_add(path: str) -> Body:
    return {
        **add_action(path, partition={"p": "1"})["add"],
        **ROW_IDS,
        "dataChange": False,
        "stats": STATS,
        "tags": {"a": "b"},
        "deletionVector": VECTOR,
        "clusteringProvider": "liquid",
    }


def build_table() -> tuple[TableFiles, dict[str, Body]]:
    """Build a table whose commits 1 and 2 write one action of each kind, and the bodies that they leave."""
    add = build_add("a.parquet")
    kept = ("path", "dataChange", "partitionValues", "size", "stats", "tags", "deletionVector", *ROW_IDS)
    remove = {name: build_add("b.parquet")[name] for name in kept}
    remove |= {"deletionTimestamp": 1_700_000_000_000, "extendedFileMetadata": True}
    features = ["deletionVectors", "domainMetadata"]
    protocol = protocol_action(3, 7, features[:1], features)["protocol"]
    fields = [("p", "string"), ("id", "long")]
    metadata = metadata_action(fields, ["p"], name="name", description="description")["metaData"]
    txn, domain = txn_action("app", 1, lastUpdated=1)["txn"], domain_action("mine", "{}")["domainMetadata"]
    left = {"protocol": protocol, "metaData": metadata, "add": add, "remove": remove, "txn": txn}
    left["domainMetadata"] = domain
    files = TableFiles()
    files.commits[0] = [{"protocol": protocol}, {"metaData": metadata}, {"add": build_add("b.parquet")}]
    files.commits[1] = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}, {"txn": txn}]
    files.commits[2] = [{"remove": remove}, {"domainMetadata": domain}]
    return files, left


def add_checkpoint(files: TableFiles, left: dict[str, Body], naming: Any) -> None:
    checkpoint = CheckpointFiles(2, naming, rows=[{kind: body} for kind, body in left.items()])
    more = [("stats", pa.string()), ("tags", pa.map_(pa.string(), pa.string()))]
    checkpoint.types["remove"] = pa.struct([*CLASSIC_COLUMNS["remove"], *more])
    files.checkpoints.append(checkpoint)


def add_compaction(files: TableFiles, left: dict[str, Body]) -> None:
    files.compactions[1, 2] = [{kind: body} for kind, body in left.items()]


def add_checksum(files: TableFiles, left: dict[str, Body]) -> None:
    files.checksums[2] = {
        "tableSizeBytes": 1000,
        "numFiles": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": left["metaData"],
        "protocol": left["protocol"],
        "setTransactions": [left["txn"]],
        "domainMetadata": [left["domainMetadata"]],
        "allFiles": [left["add"]],
    }


DERIVED_FILES: dict[str, Callable[[TableFiles, dict[str, Body]], None]] = {
    "Parquet checkpoint": lambda files, left: add_checkpoint(files, left, "classic"),
    "JSON checkpoint": lambda files, left: add_checkpoint(files, left, "uuid-json"),
    "compaction": add_compaction,
    "checksum": add_checksum,
}


def find_differences(files: TableFiles, revision: Revision = Revision.CURRENT) -> list[tuple[Any, ...]]:
    """Return kind and field of every difference, and the faults of `allFiles`."""
    recorded = RecordingRun(files, revision=revision).recorded
    found = [(row["kind"], row["field"]) for row in recorded.rows("replay_differences")]
    return found + [(row["all_files_fault"],) for row in recorded.rows("checksums") if row["all_files_fault"]]


def list_comparisons() -> list[tuple[str, str, str]]:
    """Return derived file, action and field of every comparison."""
    without = {"checksum": ("remove",)}
    found = [
        (derived, *key)
        for derived in DERIVED_FILES
        for key in CONTRADICTIONS
        if key[0] not in ("rowIdHighWaterMark", *without.get(derived, ()))
    ]
    # only compactions have removed domains; of other files such a domain is missing
    return [each for each in found if each[0] == "compaction" or each[2] != "removed"]


def test_every_compared_field_has_a_contradiction() -> None:
    compared = {(kind, name) for kind, fields in COMPARED_FIELDS.items() for name in fields}
    assert compared == CONTRADICTIONS.keys() | OTHERWISE_NOTICED


@pytest.mark.parametrize("derived", DERIVED_FILES)
def test_equal_copies_do_not_differ(derived: str) -> None:
    files, left = build_table()
    DERIVED_FILES[derived](files, left)
    assert find_differences(files) == []


def leave_out(monkeypatch: pytest.MonkeyPatch, kind: str, name: str) -> None:
    """Do not compare a field. The order of the others must not change for later tests, as `delitem` would change it."""
    others = {each: field for each, field in COMPARED_FIELDS[kind].items() if each != name}
    monkeypatch.setitem(COMPARED_FIELDS, kind, others)


@pytest.mark.slow("conformance/deltaspec/views", "conformance/deltaspec/wire/log")
@pytest.mark.parametrize(("derived", "kind", "name"), list_comparisons())
def test_contradiction_is_noticed_by_its_comparison_alone(
    derived: str, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, left = build_table()
    DERIVED_FILES[derived](files, {**left, kind: {**left[kind], **CONTRADICTIONS[kind, name]}})
    found = find_differences(files)
    assert len(found) == 1, found
    assert name in str(found[0])
    leave_out(monkeypatch, kind, name)
    assert find_differences(files) == []


@pytest.mark.parametrize("name", COMPARED_FIELDS["rowIdHighWaterMark"])
def test_contradicting_row_id_mark_is_noticed_by_its_comparison_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = {"highWaterMark": 7, "preservedRowIds": True}
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")]), {"rowIdHighWaterMark": mark}]
    contradiction = {**mark, **CONTRADICTIONS["rowIdHighWaterMark", name]}
    files.checkpoints.append(CheckpointFiles(0, rows=[*files.commits[0][:2], {"rowIdHighWaterMark": contradiction}]))
    assert find_differences(files, Revision.R1) == [("rowIdHighWaterMark", name)]
    leave_out(monkeypatch, "rowIdHighWaterMark", name)
    assert find_differences(files, Revision.R1) == []


# drawn logs


def list_copies(files: TableFiles) -> list[tuple[str, Body]]:
    """Return kind and body of the actions in derived files that are compared with replay."""
    plan = RecordingRun(files).plan
    compared = {name for each in plan.compared_checkpoints for name in each.files}
    rows: list[Any] = []
    for checkpoint in files.checkpoints:
        if compared.issuperset(checkpoint.names):
            rows += [*checkpoint.rows, *(row for sidecar in checkpoint.sidecars for row in sidecar.rows)]
    for name in plan.compactions:
        rows += files.compactions[name.start, name.end] if plan.has_commits_of(name) else ()
    found = [(kind, body) for row in rows for kind, body in row.items()]
    for version in plan.checksums:
        body = files.checksums[version]
        if isinstance(body, dict) and plan.is_replayed(version):
            found += [("protocol", body["protocol"]), ("metaData", body["metadata"])]
            found += [("txn", each) for each in body.get("setTransactions", ())]
            found += [("domainMetadata", each) for each in body.get("domainMetadata", ())]
            found += [("add", each) for each in body.get("allFiles", ())]
    return [(kind, body) for kind, body in found if kind in COMPARED_FIELDS]


def contradict(draw: st.DrawFn, kind: str, body: Body) -> None:
    """Change or remove one compared field of a body."""
    names = [name for name in COMPARED_FIELDS[kind] if (kind, name) not in OTHERWISE_NOTICED and "." not in name]
    present = [name for name in names if body.get(name) not in (None, {}, [])]
    name = draw(st.sampled_from(present))
    if (kind, name) == ("metaData", "schemaString"):
        body[name] = body[name].replace('"nullable":true', '"nullable":false', 1)
        return
    optional = name in ("tags", "baseRowId", "clusteringProvider", "deletionTimestamp", "lastUpdated", "description")
    if optional and draw(st.booleans()):
        del body[name]
        return
    match body[name]:
        case bool() as value:
            body[name] = not value
        case int() as value:
            body[name] = value + 1
        case str() as value:
            body[name] = '{"numRecords":123456}' if name == "stats" else value + "x"
        case dict() as value:
            key = draw(st.sampled_from(sorted(value)))
            body[name] = {**value, key: None} if name == "deletionVector" else {**value, key: "1234567"}
        case list() as value:
            body[name] = value[1:]


@st.composite
def contradicting_logs(draw: st.DrawFn) -> TableFiles:
    """Draw a sound log, and change one field of one action in a file that repeats it."""
    files = draw(logs(decorated=False))
    files.checkpoints = [copy.deepcopy(each) for each in files.checkpoints]  # their bodies are those of the commits
    files.compactions = {name: copy.deepcopy(lines) for name, lines in files.compactions.items()}
    files.checksums = {version: copy.deepcopy(body) for version, body in files.checksums.items()}
    copies = list_copies(files)
    assume(bool(copies))
    kind, body = draw(st.sampled_from(copies))
    before = copy.deepcopy(body)
    contradict(draw, kind, body)
    assume(body != before)
    assume(before.get("dataChange") == body.get("dataChange"))  # a checkpoint and a base may have false instead
    return files


@example_settings(12)
@given(files=contradicting_logs())
@pytest.mark.slow("conformance/deltaspec/views", "conformance/deltaspec/wire/log")
def test_contradicting_copies_never_conform(files: TableFiles) -> None:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        report = deltaspec.validate(directory, level="log", history="all")
    assert report.verdict != "conforms"
