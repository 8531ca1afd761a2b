"""Lossless JSON. Source: RFC 8259; Last Checkpoint File (duplicate keys, numbers as written)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.json_values import (
    MAX_DEPTH,
    Document,
    JsonError,
    Number,
    parse_lossless,
    replace_lone_surrogates,
)


@pytest.mark.parametrize(
    "lexeme", ["0", "-0", "1.0", "1e3", "1E+3", "-1.50", "9223372036854775808", "1" * 5000, "0.1", "1e999999"]
)
def test_number_keeps_its_lexeme(lexeme: str) -> None:
    number = parse_lossless(lexeme).value
    assert isinstance(number, Number)
    assert number == lexeme


@pytest.mark.parametrize(("lexeme", "answer"), [("0", True), ("-7", True), ("1.0", False), ("1e3", False)])
def test_integer_has_no_fraction_or_exponent(lexeme: str, answer: bool) -> None:
    assert Number(lexeme).is_integer is answer


def test_string_of_digits_is_not_a_number() -> None:
    assert not isinstance(parse_lossless('"1"').value, Number)


def test_values_of_every_type_are_parsed() -> None:
    text = b' {"a": [1, true, false, null, "x\\u00e9\\n"], "b": {}}\r\n'
    assert parse_lossless(text) == Document({"a": [Number("1"), True, False, None, "xé\n"], "b": {}}, ())


def test_repeated_key_keeps_its_last_value_and_is_reported() -> None:
    document = parse_lossless('{"a": 1, "b": [{"c/d": 1, "c/d": 2, "~": 0, "~": 1}], "a": {"a": 3}, "a": 4}')
    assert document.value == {"a": Number("4"), "b": [{"c/d": Number("2"), "~": Number("1")}]}
    assert document.repeated_keys == ("/b/0/c~1d", "/b/0/~0", "/a", "/a")


def test_escaped_key_counts_as_repeated() -> None:
    assert parse_lossless('{"a": 1, "\\u0061": 2}').repeated_keys == ("/a",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expecting value at character 0"),
        ("{", "expecting property name enclosed in double quotes at character 1"),
        ("[1,]", None),
        ("{'a': 1}", "expecting property name enclosed in double quotes at character 1"),
        ("1 2", "extra data at character 2"),
        ("01", "extra data at character 1"),
        ("+1", "expecting value at character 0"),
        (".5", "expecting value at character 0"),
        ("1.", None),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("tru", "expecting value at character 0"),
        ('"\n"', None),
        ('"a', None),
        ('"\\x"', None),
        ('"\\', None),
        ("\ufeff{}", "begins with a byte order mark"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b'"\xed\xa0"', "byte 1 is not UTF-8"),
        ("{}".encode("utf-16-le"), None),
        ("\u00a0{}", "expecting value at character 0"),
    ],
)
def test_invalid_json_is_refused(text: str | bytes, words: str | None) -> None:
    with pytest.raises(JsonError) as refused:
        parse_lossless(text)
    assert words is None or str(refused.value) == words


@pytest.mark.parametrize(("opening", "inner", "closing"), [("[", "1", "]"), ('{"a":', "1", "}"), ('[{"a":', "1", "}]")])
def test_nesting_is_bounded(opening: str, inner: str, closing: str) -> None:
    deep = MAX_DEPTH // (opening.count("[") + opening.count("{"))
    parse_lossless(opening * deep + inner + closing * deep)
    for too_deep in (deep + 1, 100_000):
        with pytest.raises(JsonError, match="nested more than 200 levels deep at character"):
            parse_lossless(opening * too_deep + inner + closing * too_deep)
        with pytest.raises(JsonError, match="nested more than 200 levels deep at character"):
            parse_lossless(opening * too_deep)


def test_brackets_within_strings_do_not_nest() -> None:
    text = '["' + "[{" * 1000 + '\\"' + "[" * 1000 + '\\\\"]'
    assert parse_lossless(text).value == ["[{" * 1000 + '"' + "[" * 1000 + "\\"]


def test_siblings_do_not_nest() -> None:
    assert len(parse_lossless("[" + ",".join(["[]"] * 1000) + "]").value) == 1000


@pytest.mark.parametrize("text", ['"\\ud800"', b'"\xed\xa0\x80"'])
def test_lone_surrogate_is_kept(text: str | bytes) -> None:
    assert parse_lossless(text).value == "\ud800"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\ud800", r"\ufffd"),
        (r"\\ud800", r"\\ud800"),
        (r"\\\ud800\n", r"\\\ufffd\n"),
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        (r"\ud83d\ud83d\uDE00", r"\ufffd\ud83d\uDE00"),
        (r"\udc00\ud800", r"\ufffd\ufffd"),
        (r"a\uDFFF", r"a\ufffd"),
        (r"\u00e9\ue000", r"\u00e9\ue000"),
    ],
)
def test_escapes_of_lone_surrogates_are_replaced(text: str, expected: str) -> None:
    assert replace_lone_surrogates(text) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def read_numbers(value: Any) -> Any:
    match value:
        case Number():
            return json.loads(value)
        case dict():
            return {key: read_numbers(member) for key, member in value.items()}
        case list():
            return [read_numbers(member) for member in value]
    return value


@given(VALUES, st.booleans())
def test_written_value_is_read_back(value: Any, ascii_only: bool) -> None:
    document = parse_lossless(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert read_numbers(document.value) == value
    assert document.repeated_keys == ()


@given(st.text(alphabet='[]{}":,0123.eE+-\\u ntf', max_size=40) | st.binary(max_size=40))
def test_any_text_parses_or_fails_like_the_standard_library(text: str | bytes) -> None:
    try:
        value = parse_lossless(text).value
    except JsonError:
        value = JsonError
    try:
        expected = json.loads(text if isinstance(text, str) else text.decode(), parse_constant=lambda _: 1 // 0)
    except (ValueError, ZeroDivisionError):
        expected = JsonError
    assert read_numbers(value) == expected
