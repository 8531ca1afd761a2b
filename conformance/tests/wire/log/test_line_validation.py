"""Defects of JSON have a message and a pointer."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log import line_validation
from deltaspec.wire.log.line_validation import (
    LineError,
    contains_lone_surrogate,
    explain_action,
    explain_line,
    explain_object,
    find_first_defect,
)

VECTOR = '"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":%s,"cardinality":1}'
ADD = '{"add":{"path":"a","partitionValues":%s,"size":%s,"modificationTime":1,"dataChange":true%s}}'


@pytest.mark.parametrize(
    ("line", "pointer", "words"),
    [
        (ADD % ("{}", '"1"', ""), "/add/size", "size is the text '1', should be integer"),
        (ADD % ("{}", "1.0", ""), "/add/size", "size is the number 1.0, should be integer"),
        (ADD % ("{}", "1e3", ""), "/add/size", "size is the number 1e3, should be integer"),
        (ADD % ("{}", "true", ""), "/add/size", "size is the boolean True, should be integer"),
        (ADD % ("{}", "null", ""), "/add/size", "size is null, should be integer"),
        (ADD % ("{}", str(2**63), ""), "/add/size", f"size is {2**63}, beyond {2**63 - 1}"),
        (ADD % ("{}", str(-(2**63) - 1), ""), "/add/size", f"size is {-(2**63) - 1}, beyond {-(2**63)}"),
        (ADD % ("[]", "1", ""), "/add/partitionValues", "partitionValues is an array [], should be object"),
        (ADD % ('{"a/b":1}', "1", ""), "/add/partitionValues/a~1b", "a/b is the number 1, should be of another type"),
        (ADD % ("{}", "1", "," + VECTOR % "1.5"), "/add/deletionVector/sizeInBytes", "sizeInBytes is the number 1.5"),
        (ADD % ("{}", "1", "," + VECTOR % str(2**31)), "/add/deletionVector/sizeInBytes", f"beyond {2**31 - 1}"),
        ('{"txn":{}}', "/txn", "appId, version missing"),
        ('{"txn":[]}', "/txn", "it is an array [], should be object"),
        (
            '{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["a",1]}}',
            "/1",
            "1 is the number 1",
        ),
    ],
)
def test_defect_has_message_and_pointer(line: str, pointer: str, words: str) -> None:
    fault = explain_line(line.encode())
    assert fault.schema_error is not None
    assert words in fault.schema_error
    assert (fault.pointer or "").endswith(pointer)
    assert fault.is_undecodable


@pytest.mark.parametrize("size", ["0", "-0", "-1", str(2**63 - 1), str(-(2**63))])
def test_integers_of_64_bits_are_valid(size: str) -> None:
    assert explain_line((ADD % ("{}", size, "")).encode()) == LineError("add", 1, 1)


def test_long_values_are_shortened() -> None:
    fault = explain_line((ADD % ("{}", '"' + "x" * 10_000 + '"', "")).encode())
    assert len(fault.schema_error or "") < 150


def test_numbers_of_any_length_are_compared_by_their_digits() -> None:
    fault = explain_line((ADD % ("{}", "9" * 100_000, "")).encode())
    assert "beyond" in (fault.schema_error or "")


@pytest.mark.parametrize(
    ("line", "space"),
    [
        (b"", "blank line"),
        (b" \t", "blank line"),
        (b'\xef\xbb\xbf{"commitInfo":{}}', "byte order mark"),
        (b'{"commitInfo":{}}\r', "carriage return"),
    ],
)
def test_unexpected_whitespace_is_named_and_decodes(line: bytes, space: str) -> None:
    fault = explain_line(line)
    assert fault.unexpected_whitespace == space
    assert fault.has_defect
    assert not fault.is_undecodable


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"[]", "is an array, not an object"),
        (b'"text"', "is the text, not an object"),
        (b"1", "is the number, not an object"),
        (b"null", "is null, not an object"),
        (b"{", "at character 1"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":"\xff"}', "byte 6 is not UTF-8"),
    ],
)
def test_line_that_is_not_an_object_is_explained(line: bytes, why: str) -> None:
    fault = explain_line(line)
    assert why in (fault.json_error or "")
    assert (fault.kind, fault.actions) == (None, 0)


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00\\ud800", "a\\uDFFF", "\\ud83d\\u0041"])
def test_lone_surrogate_makes_a_known_action_undecodable(escape: str) -> None:
    known, unknown = (explain_line(f'{{"{kind}":{{"a":"{escape}"}}}}'.encode()) for kind in ("commitInfo", "future"))
    assert known == LineError("commitInfo", 1, 1, has_lone_surrogate=True)
    assert unknown == LineError(None, 1, has_lone_surrogate=True)
    assert known.is_undecodable
    assert not unknown.is_undecodable


@pytest.mark.parametrize(
    ("data", "half"),
    [
        (b'{"a":"\\ud83d\\ude00"}', False),
        (b'{"a":"\\\\ud800"}', False),
        (b'{"a":["\\ud800"]}', True),
        (b'{"\\udfff":1}', True),
        (b'{"a":"\\ud800"', False),
    ],
)
def test_lone_surrogates_are_distinguished_from_pairs(data: bytes, half: bool) -> None:
    assert contains_lone_surrogate(data) is half


@pytest.mark.parametrize(
    "line", [b'{"txn":{"appId":"a","version":1},"x":1}', b'{"x":[{}],"txn":{"appId":"a","version":1}}']
)
def test_known_action_next_to_an_unrecognized_key_decodes(line: bytes) -> None:
    assert explain_line(line) == LineError("txn", 2, 1, "x")
    assert not explain_line(line).is_undecodable


def test_defect_of_an_action_next_to_an_unrecognized_key_is_found() -> None:
    fault = explain_line(b'{"x":1,"txn":{"appId":"a","version":1.5}}')
    assert (fault.pointer, fault.unrecognized_key, fault.is_undecodable) == ("/txn/version", "x", True)


def test_several_unrecognized_keys_hide_no_action() -> None:
    assert explain_line(b'{"x":1,"y":{},"z":null}') == LineError(None, 2, 0, "x")


def test_action_of_another_revision_is_an_unrecognized_key() -> None:
    line = b'{"txn":{"appId":"a","version":1},"rowIdHighWaterMark":{"highWaterMark":1}}'
    assert explain_line(line).unrecognized_key == "rowIdHighWaterMark"
    assert explain_line(line, Revision.R2).known_actions == 2


def test_null_actions_are_not_counted() -> None:
    assert explain_line(b'{"add":null,"commitInfo":{}}') == LineError("commitInfo", 1, 1)
    assert explain_line(b'{"add":null}') == LineError(None, 0)
    assert explain_line(b'{"add":null}').has_defect


def test_parquet_rows_have_the_same_messages() -> None:
    fault = explain_action("txn", {"appId": None, "version": 1})
    assert (fault.kind, fault.pointer, fault.schema_error) == (
        "txn",
        "/txn/appId",
        "appId is null, should be string",
    )


def test_parquet_row_that_fits_the_schema_is_still_a_defect() -> None:
    assert explain_action("txn", {"appId": "a", "version": 1}).schema_error == "does not decode"


@pytest.mark.parametrize(
    ("data", "fault", "pointer", "repeated"),
    [
        (b'{"version":1,"size":2}', None, None, None),
        (b'{"version":1,"size":2,"size":3}', None, None, "/size"),
        (b'{"version":"1","size":2}', "version is the text '1', should be integer", "/version", None),
        (b'{"size":2}', "version missing", "", None),
        (b"[]", "is an array, not an object", "", None),
        (b"", "is not JSON: expecting value at character 0", "", None),
    ],
)
def test_objects_are_explained(data: bytes, fault: str | None, pointer: str | None, repeated: str | None) -> None:
    assert explain_object("lastCheckpoint", data) == (fault, pointer, repeated)


def test_values_of_one_shape_are_validated_once_and_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def best_fault(schema: str, value: Any) -> Any:
        asked.append(schema)
        return find_first_defect(schema, value)

    monkeypatch.setattr(line_validation, "DEFECT_BY_SHAPE", {})
    monkeypatch.setattr(line_validation, "find_first_defect", best_fault)
    for number in range(500):
        fault = explain_line((ADD % (f'{{"p":"{number}"}}', f'"{number}"', "")).encode())
        assert fault.schema_error == f"size is the text '{number}', should be integer"
    assert asked == ["add"]


_TEXTS = st.sampled_from(["a", "p", "path", "size", "1"])
_NUMBERS = st.sampled_from([0, 1, 2**31, 2**31 - 1, -(2**31), -(2**31) - 1, 2**63, 2**63 - 1, -(2**63), -(2**63) - 1])
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.sampled_from([1.5, 10**19, -(10**25)]) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_FIELDS = ["path", "partitionValues", "size", "modificationTime", "dataChange", "deletionVector", "tags", "cardinality"]


def _build_similar(value: Any) -> Any:
    """Return another value of the same shape: other strings, booleans, and numbers between the same bounds."""
    match value:
        case bool():
            return not value
        case int() | float():
            return (
                value
                if value in line_validation.INTEGER_BOUNDS or value + 1 in line_validation.INTEGER_BOUNDS
                else value + 1
            )
        case str():
            return value + "/"
        case dict():
            return {key: _build_similar(member) for key, member in value.items()}
        case list():
            return [_build_similar(member) for member in value]
    return value


@example_settings(200)
@given(
    schema=st.sampled_from(["add", "txn", "protocol", "metaData", "commitInfo", "rowIdHighWaterMark.r1"]),
    body=st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=8) | _VALUES,
)
def test_values_of_one_shape_have_equal_defects(schema: str, body: Any) -> None:
    one, other = line_validation.to_lossless(body), line_validation.to_lossless(_build_similar(body))
    assert line_validation.compute_shape(one) == line_validation.compute_shape(other)
    assert find_first_defect(schema, one) == find_first_defect(schema, other)


@example_settings(200)
@given(one=_VALUES, other=_VALUES)
def test_shape_distinguishes_types_and_members(one: Any, other: Any) -> None:
    def kinds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kinds(member) for key, member in value.items()}
        return [kinds(each) for each in value] if isinstance(value, list) else type(value).__name__

    if kinds(one) != kinds(other):
        assert line_validation.compute_shape(line_validation.to_lossless(one)) != line_validation.compute_shape(
            line_validation.to_lossless(other)
        )


@st.composite
def _nearly_valid(draw: st.DrawFn, schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """Draw a value of a JSON schema, or sometimes any other."""
    if not draw(st.integers(0, 20)):
        return draw(_VALUES)
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return draw(_nearly_valid(draw(st.sampled_from(schema["anyOf"])), definitions))
    match schema.get("type"):
        case "object" if "properties" in schema:
            names = [name for name in schema["properties"] if name in schema["required"] or draw(st.booleans())]
            return {name: draw(_nearly_valid(schema["properties"][name], definitions)) for name in names}
        case "object":
            return {"p": draw(_nearly_valid(schema["additionalProperties"], definitions))}
        case "array":
            return [draw(_nearly_valid(schema["items"], definitions))]
        case "integer":
            return draw(_NUMBERS if draw(st.booleans()) else st.integers(0, 9))
        case "string":
            return draw(_TEXTS)
        case "boolean":
            return draw(st.booleans())
    return None


@example_settings(300)
@given(data=st.data(), name=st.sampled_from(sorted(line_validation.SCHEMA_TYPES)))
def test_classes_accept_what_their_schemas_accept(data: st.DataObject, name: str) -> None:
    schema = line_validation.build_json_schema(name)
    value = line_validation.to_lossless(data.draw(_nearly_valid(schema, schema["$defs"])))
    assert line_validation.is_convertible(name, value) == line_validation.get_validator(name).is_valid(value)


@pytest.mark.parametrize("number", ["1.0", "1e0", "1" * 5000, "9223372036854775808"])
def test_classes_do_not_accept_numbers_that_only_look_like_integers(number: str) -> None:
    fault, pointer, _ = explain_object("lastCheckpoint", b'{"version":%s,"size":1}' % number.encode())
    assert (fault is not None, pointer) == (True, "/version")


def test_sound_object_does_not_load_json_schemas() -> None:
    program = (
        "import sys; from deltaspec.wire.log.line_validation import explain_object\n"
        "assert explain_object('lastCheckpoint', b'{\"version\":1,\"size\":2}') == (None, None, None)\n"
        "print('jsonschema' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"False\n"


def test_schemas_depend_only_on_the_shape() -> None:
    looked_at = {"type", "anyOf", "required", "minimum", "maximum", "properties", "additionalProperties", "items"}
    said = {"$ref", "$defs", "$schema", "title", "description", "default"}
    for name in line_validation.SCHEMA_TYPES:
        for keyword, value in _keywords(line_validation.build_json_schema(name)):
            assert keyword in looked_at | said, f"{name=}"
            if keyword in ("minimum", "maximum"):
                assert value + (keyword == "maximum") in line_validation.INTEGER_BOUNDS, f"{name=}"


def _keywords(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keywords of a schema and its subschemas, with their values."""
    for keyword, value in schema.items():
        yield keyword, value
        if keyword in ("properties", "$defs"):
            within = list(value.values())
        else:
            within = value if isinstance(value, list) else [value]
        for each in within:
            if isinstance(each, dict) and keyword != "default":
                yield from _keywords(each)


def test_long_values_have_no_shape_and_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_validation.compute_shape(["a"] * 2000) is line_validation.compute_shape({"a" * 2000: "b"}) is None
    monkeypatch.setattr(line_validation, "DEFECT_BY_SHAPE", {})
    monkeypatch.setattr(line_validation, "MAX_SHAPES", 5)
    for number in range(20):
        assert explain_line(b'{"txn":{"a%d":1}}' % number).schema_error == "appId, version missing"
        assert len(line_validation.DEFECT_BY_SHAPE) <= 5, f"{number=}"
