"""The published JSON Schemas are up to date, and agree with the typed decoder."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec.wire
from deltaspec.protocol.actions import (
    ACTION_TYPES,
    DomainMetadataMap,
    RowIdHighWaterMarkR1,
    RowIdHighWaterMarkR2,
    get_action_types,
)
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint, get_hint_type
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.protocol.revisions import Revision
from deltaspec.wire import publish_schemas

DIRECTORY = Path(str(deltaspec.wire.__file__)).parent / "schemas"
OLDER_FORMS: dict[str, Any] = {
    "domainMetadata.r1": DomainMetadataMap,
    "rowIdHighWaterMark.r1": RowIdHighWaterMarkR1,
    "rowIdHighWaterMark.r2": RowIdHighWaterMarkR2,
    **{f"{name}.{each}": get_action_types(each)[name] for name in ("add", "remove") for each in list(Revision)[:2]},
}
FILES: dict[str, Any] = {
    "versionChecksum": VersionChecksum,
    "lastCheckpoint": LastCheckpoint,
    "lastCheckpoint.r1": get_hint_type(Revision.R1),
}
TYPES: dict[str, Any] = {**ACTION_TYPES, **OLDER_FORMS, **FILES}

_VECTOR = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 40, "cardinality": 2}
_PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": ["appendOnly"]}
_METADATA = {
    "id": "t",
    "format": {"provider": "parquet", "options": {"a": "b"}},
    "schemaString": "{}",
    "partitionColumns": ["p"],
    "configuration": {"a": "b"},
    "name": "n",
    "description": "d",
    "createdTime": 1,
}
_FILE = {
    "path": "a",
    "size": 2**63 - 1,
    "dataChange": True,
    "partitionValues": {"p": None, "q": "1"},
    "tags": {"a": None},
}
_ADD = {**_FILE, "modificationTime": -1, "stats": "{}", "deletionVector": _VECTOR, "baseRowId": 0}
_REMOVE = {**_FILE, "deletionTimestamp": 1, "extendedFileMetadata": True, "deletionVector": _VECTOR}
_HINT = {"version": 1, "size": 2, "parts": 3, "sizeInBytes": 4, "numOfAddFiles": 5, "checksum": "c"}
SOUND: dict[str, dict[str, Any]] = {
    "add": {**_ADD, "defaultRowCommitVersion": 0, "clusteringProvider": "liquid"},
    "add.r1": {**_ADD, "defaultRowCommitVersion": "0", "clusteringProvider": 5},
    "add.r2": {**_ADD, "defaultRowCommitVersion": 0, "clusteringProvider": 5},
    "remove": {**_REMOVE, "stats": "{}"},
    "remove.r1": {**_REMOVE, "stats": {}, "defaultRowCommitVersion": "0"},
    "remove.r2": {**_REMOVE, "stats": {}, "defaultRowCommitVersion": 0},
    "cdc": _FILE,
    "txn": {"appId": "a", "version": 1, "lastUpdated": 2},
    "domainMetadata": {"domain": "d", "configuration": "{}", "removed": False},
    "domainMetadata.r1": {"domain": "d", "configuration": {"a": "b"}, "removed": False},
    "rowIdHighWaterMark.r1": {"highWaterMark": 1, "preservedRowIds": True},
    "rowIdHighWaterMark.r2": {"highWaterMark": 1},
    "commitInfo": {"inCommitTimestamp": 1, "txnId": "t", "operation": "WRITE", "timestamp": 1, "tags": {"a": [1]}},
    "protocol": _PROTOCOL,
    "metaData": _METADATA,
    "checkpointMetadata": {"version": 1, "tags": {"a": "b"}},
    "sidecar": {"path": "a", "sizeInBytes": 1, "modificationTime": 2, "tags": {}},
    "versionChecksum": {
        "tableSizeBytes": 1,
        "numFiles": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": _METADATA,
        "protocol": _PROTOCOL,
        "txnId": "t",
        "inCommitTimestampOpt": 1,
        "setTransactions": [{"appId": "a", "version": 1}],
        "allFiles": [_ADD],
    },
    "lastCheckpoint": {**_HINT, "tags": {"a": "b"}},
    "lastCheckpoint.r1": {**_HINT, "tags": 5},
}


def accepts_by_schema(name: str, value: Any) -> bool:
    schema = json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def accepts_by_type(name: str, value: Any) -> bool:
    try:
        msgspec.json.decode(json.dumps(value), type=TYPES[name])
    except msgspec.ValidationError:
        return False
    return True


def test_published_schemas_are_up_to_date() -> None:
    there = {path.name: path.read_text("utf-8") for path in DIRECTORY.iterdir()}
    assert there == publish_schemas.render_schemas(), "run `python -m deltaspec.wire.publish_schemas`"


def test_every_action_and_object_has_a_schema() -> None:
    assert {path.name.removesuffix(".json") for path in DIRECTORY.iterdir()} == set(TYPES) == set(SOUND)


def test_publish_creates_the_directory(tmp_path: Path) -> None:
    publish_schemas.publish(tmp_path / "deep" / "schemas")
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "deep" / "schemas").iterdir()}
    assert written == publish_schemas.render_schemas()


@pytest.mark.parametrize("name", sorted(TYPES))
def test_schema_is_valid(name: str) -> None:
    schema = json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == name


@pytest.mark.parametrize("name", sorted(TYPES))
def test_valid_objects_are_accepted(name: str) -> None:
    for value in (SOUND[name], {**SOUND[name], "unknownField": {"a": [None]}}):
        assert accepts_by_schema(name, value)
        assert accepts_by_type(name, value)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("add", {"size": "1"}),
        ("add", {"size": 2**63}),
        ("add", {"path": None}),
        ("add", {"partitionValues": {"p": 1}}),
        ("add", {"deletionVector": {**_VECTOR, "sizeInBytes": 2**31}}),
        ("add", {"deletionVector": {"storageType": "u"}}),
        ("remove", {"dataChange": "true"}),
        ("txn", {"version": True}),
        ("txn", {"version": -(2**63) - 1}),
        ("domainMetadata", {"configuration": {}}),
        ("domainMetadata.r1", {"configuration": {"a": 1}}),
        ("domainMetadata.r1", {"configuration": ["a"]}),
        ("rowIdHighWaterMark.r1", {"preservedRowIds": None}),
        ("rowIdHighWaterMark.r2", {"highWaterMark": "1"}),
        ("protocol", {"minReaderVersion": 2**31}),
        ("protocol", {"writerFeatures": "appendOnly"}),
        ("metaData", {"format": {"options": {}}}),
        ("metaData", {"configuration": {"a": True}}),
        ("versionChecksum", {"protocol": None}),
        ("lastCheckpoint", {"version": "1"}),
    ],
)
def test_invalid_objects_are_refused(name: str, broken: dict[str, Any]) -> None:
    value = {**SOUND[name], **broken}
    assert not accepts_by_schema(name, value)
    assert not accepts_by_type(name, value)


_VALUES = (
    None,
    0,
    -1,
    2**31,
    -(2**31) - 1,
    2**63,
    "x",
    True,
    [],
    ["a"],
    [1],
    {},
    {"a": "b"},
    {"a": None},
    {"a": 1},
    1.5,
)


@example_settings(300)
@given(data=st.data())
def test_schema_and_typed_decoder_agree_on_mutated_objects(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SOUND)))
    value: Any = copy.deepcopy(SOUND[name])
    place = value
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans())):
            break
        place = place[key]
    if isinstance(place, dict) and data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(st.sampled_from(_VALUES))
    assert accepts_by_schema(name, value) == accepts_by_type(name, value)
