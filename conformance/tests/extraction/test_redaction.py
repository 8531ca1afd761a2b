"""Redacted tables contain nothing of the original names and values."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.extraction.draft import Files
from deltaspec.extraction.redaction import CannotRedact, redact_files, search_originals

COMMIT = "_delta_log/00000000000000000000.json"
SCHEMA = {
    "type": "struct",
    "fields": [
        {
            "name": "Customer",
            "type": "string",
            "nullable": True,
            "metadata": {"comment": "from the shop", "delta.generationExpression": "upper(Surname)"},
        },
        {"name": "born", "type": "date", "nullable": True, "metadata": {}},
    ],
}


def encode(*actions: Any) -> bytes:
    return b"".join(json.dumps(action).encode() + b"\n" for action in actions)


def redact(*actions: Any) -> list[Any]:
    """Redact a commit, and return its actions."""
    redacted = redact_files({COMMIT: encode(*actions)})[COMMIT]
    assert isinstance(redacted, bytes)
    return [json.loads(line) for line in redacted.splitlines()]


def encode_rows(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    return sink.getvalue()


def test_metadata_keeps_only_words_of_the_protocol() -> None:
    (action,) = redact(
        {
            "metaData": {
                "name": "Sales",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(SCHEMA),
                "partitionColumns": ["born"],
                "configuration": {
                    "delta.appendOnly": "true",
                    "team": "finance",
                    "delta.constraints.Grown": "Customer <> 'Smith' AND length(Customer) > 100",
                },
            }
        }
    )
    text = json.dumps(action)
    for original in ("Sales", "Customer", "shop", "Surname", "born", "team", "finance", "Grown", "Smith", "100"):
        assert original not in text
    configuration = action["metaData"]["configuration"]
    assert configuration.pop("delta.appendOnly") == "true"
    (constraint,) = (value for name, value in configuration.items() if name.startswith("delta.constraints."))
    fields = json.loads(action["metaData"]["schemaString"])["fields"]
    assert f"length({fields[0]['name']}) > 1" in constraint
    assert action["metaData"]["partitionColumns"] == [fields[1]["name"]]


def test_names_are_the_same_everywhere_and_values_keep_their_order() -> None:
    stats = {"numRecords": 7, "minValues": {"Customer": "Adams"}, "maxValues": {"Customer": "Zhang"}}
    add = {
        "path": "born=1987-06-05/Adams%20and%20Zhang.parquet",
        "partitionValues": {"born": "1987-06-05"},
        "size": 1234,
        "tags": {"Origin": "Adams"},
        "stats": json.dumps(stats),
    }
    metadata, redacted = redact({"metaData": {"schemaString": json.dumps(SCHEMA)}}, {"add": add})
    customer, born = (field["name"] for field in json.loads(metadata["metaData"]["schemaString"])["fields"])
    found = json.loads(redacted["add"]["stats"])
    assert redacted["add"]["size"] == 1234
    assert redacted["add"]["partitionValues"] == {born: "2000-01-01"}
    assert redacted["add"]["path"].startswith(f"{born}=2000-01-01/s")
    assert found["numRecords"] == 7
    assert found["minValues"][customer] < found["maxValues"][customer]
    assert list(redacted["add"]["tags"].values()) == [found["minValues"][customer]]


def test_data_file_has_the_names_and_size_that_the_log_has() -> None:
    data = encode_rows(pa.table({"Customer": ["Smith", None], "id": [70, 90]}))
    add = {"path": "Smith.parquet", "size": len(data), "stats": '{"maxValues":{"Customer":"Smith","id":90}}'}
    files = redact_files({"Smith.parquet": data, COMMIT: encode({"add": add})})
    commit = files[COMMIT]
    assert isinstance(commit, bytes)
    redacted = json.loads(commit)["add"]
    stored = files[redacted["path"]]
    assert isinstance(stored, bytes)
    rows = pq.read_table(io.BytesIO(stored))
    assert redacted["size"] == len(stored)
    assert {name: values[0] for name, values in rows.to_pydict().items() if name != "id"} == {
        name: value for name, value in json.loads(redacted["stats"])["maxValues"].items() if name != "id"
    }
    assert rows["id"].to_pylist() == [1, 2]


def test_other_actions() -> None:
    actions = redact(
        {"commitInfo": {"timestamp": 5, "userName": "Smith", "operationParameters": {"predicate": "a = 'Smith'"}}},
        {"txn": {"appId": "nightly-load", "version": 7}},
        {"domainMetadata": {"domain": "acme.orders", "configuration": '{"owner":"Smith"}', "removed": False}},
        {"unknown": {"Surname": ["Smith", 5]}},
    )
    assert actions[0] == {"commitInfo": {"timestamp": 5}}
    assert actions[1]["txn"]["version"] == 7
    text = json.dumps(actions)
    assert not [each for each in ("Smith", "nightly", "acme", "owner", "Surname", "unknown") if each in text]


def test_line_with_a_duplicate_key_keeps_its_form() -> None:
    files = redact_files({COMMIT: b'{"txn": {"appId":"load","appId":"store","version":1}}\n'})
    assert files[COMMIT] == b'{"txn": {"appId":"s0001","appId":"s0002","version":1}}\n'


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({COMMIT: b"Smith\n"}, "has a line that is not a JSON object"),
        ({"a.parquet": b"Smith"}, "a data file is not readable as Parquet"),
        ({"_delta_log/smith.json": b""}, "a file in the log has a name that the protocol does not define"),
        ({"_delta_log/00000000000000000000.checkpoint.parquet": b"x"}, "is not readable as Parquet"),
    ],
)
def test_what_is_not_understood_is_refused(files: Files, message: str) -> None:
    with pytest.raises(CannotRedact, match=message):
        redact_files(files)


@pytest.mark.parametrize(
    "files",
    [
        {COMMIT: b'{"txn":{"appId":"of Smith"}}'},
        {COMMIT: b'{"txn":{"appId":"\\u0053mith"}}'},
        {"Smith.parquet": b""},
        {"a.parquet": encode_rows(pa.table({"a": [{"b": ["Smith"]}]}))},
        {"a.parquet": encode_rows(pa.table({"Smith": [1]}))},
    ],
)
def test_original_string_that_is_left_is_found(files: Files) -> None:
    with pytest.raises(CannotRedact, match="still contains an original string"):
        search_originals(files, {"Smith"})


def test_words_of_the_protocol_and_short_strings_are_not_searched() -> None:
    search_originals({COMMIT: b'{"add":{"path":"a"},"Smithson":1}'}, {"path", "a", "Smith"})
