"""What is wrong with a text is said in words, with a pointer to the place."""

import pytest

from deltaspec.wire.form import LineFault, escapes_half_a_pair, explain_action, explain_line, explain_object

VECTOR = '"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":%s,"cardinality":1}'
ADD = '{"add":{"path":"a","partitionValues":%s,"size":%s,"modificationTime":1,"dataChange":true%s}}'


@pytest.mark.parametrize(
    ("line", "pointer", "words"),
    [
        (ADD % ("{}", '"1"', ""), "/add/size", "size is the text '1', should be integer"),
        (ADD % ("{}", "1.0", ""), "/add/size", "size is the number 1.0, should be integer"),
        (ADD % ("{}", "1e3", ""), "/add/size", "size is the number 1e3, should be integer"),
        (ADD % ("{}", "true", ""), "/add/size", "size is the boolean True, should be integer"),
        (ADD % ("{}", "null", ""), "/add/size", "size is null None, should be integer"),
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
def test_fault_of_form_has_words_and_pointer(line: str, pointer: str, words: str) -> None:
    fault = explain_line(line.encode())
    assert fault.form_fault is not None
    assert words in fault.form_fault
    assert (fault.pointer or "").endswith(pointer)
    assert fault.undecodable


@pytest.mark.parametrize("size", ["0", "-0", "-1", str(2**63 - 1), str(-(2**63))])
def test_integers_of_64_bits_are_in_form(size: str) -> None:
    assert explain_line((ADD % ("{}", size, "")).encode()) == LineFault("add", 1)


def test_long_values_are_cut() -> None:
    fault = explain_line((ADD % ("{}", '"' + "x" * 10_000 + '"', "")).encode())
    assert len(fault.form_fault or "") < 150


def test_numbers_of_any_length_are_compared_by_their_digits() -> None:
    fault = explain_line((ADD % ("{}", "9" * 100_000, "")).encode())
    assert "beyond" in (fault.form_fault or "")


@pytest.mark.parametrize(
    ("line", "space"),
    [
        (b"", "blank line"),
        (b" \t", "blank line"),
        (b'\xef\xbb\xbf{"commitInfo":{}}', "byte order mark"),
        (b'{"commitInfo":{}}\r', "carriage return"),
    ],
)
def test_odd_space_is_named_and_decodes(line: bytes, space: str) -> None:
    fault = explain_line(line)
    assert fault.odd_space == space
    assert fault.is_odd
    assert not fault.undecodable


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
def test_what_is_no_object_is_told_why(line: bytes, why: str) -> None:
    fault = explain_line(line)
    assert why in (fault.not_json or "")
    assert (fault.kind, fault.actions) == (None, 0)


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00\\ud800", "a\\uDFFF", "\\ud83d\\u0041"])
def test_half_of_a_surrogate_pair_hides_what_a_known_action_says(escape: str) -> None:
    known, unknown = (explain_line(f'{{"{kind}":{{"a":"{escape}"}}}}'.encode()) for kind in ("commitInfo", "future"))
    assert known == LineFault("commitInfo", 1, half_pair=True)
    assert unknown == LineFault(None, 1, half_pair=True)
    assert known.undecodable
    assert not unknown.undecodable


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
def test_half_of_a_surrogate_pair_is_told_from_whole_ones(data: bytes, half: bool) -> None:
    assert escapes_half_a_pair(data) is half


def test_null_actions_are_not_counted() -> None:
    assert explain_line(b'{"add":null,"commitInfo":{}}') == LineFault("commitInfo", 1)
    assert explain_line(b'{"add":null}') == LineFault(None, 0)
    assert explain_line(b'{"add":null}').is_odd


def test_values_of_a_parquet_row_are_told_by_the_same_words() -> None:
    fault = explain_action("txn", {"appId": None, "version": 1})
    assert (fault.kind, fault.pointer, fault.form_fault) == (
        "txn",
        "/txn/appId",
        "appId is null None, should be string",
    )


def test_a_parquet_row_that_the_schema_takes_is_still_a_fault() -> None:
    assert explain_action("txn", {"appId": "a", "version": 1}).form_fault == "does not decode"


@pytest.mark.parametrize(
    ("data", "fault", "pointer", "repeated"),
    [
        (b'{"version":1,"size":2}', None, None, None),
        (b'{"version":1,"size":2,"size":3}', None, None, "/size"),
        (b'{"version":"1","size":2}', "version is the text '1', should be integer", "/version", None),
        (b'{"size":2}', "version missing", "", None),
        (b"[]", "is an array, not an object", "", None),
        (b"", "is no JSON: expecting value at character 0", "", None),
    ],
)
def test_objects_are_explained(data: bytes, fault: str | None, pointer: str | None, repeated: str | None) -> None:
    assert explain_object("lastCheckpoint", data) == (fault, pointer, repeated)
