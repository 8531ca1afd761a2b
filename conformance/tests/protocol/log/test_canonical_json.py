"""Canonical form and checksum of JSON. Source: Last Checkpoint File, JSON checksum."""

import hashlib
import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log.canonical_json import Order, compute_checksum, render_canonical_json


def form(text: str, order: Order = "path") -> str:
    return render_canonical_json(parse_lossless(text).value, order)


SAMPLE = (
    '{"k0":"\'v 0\'", "checksum": "adsaskfljadfkjadfkj", '
    '"k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}'
)


def test_protocol_sample_has_its_checksum() -> None:
    assert form(SAMPLE) == (
        '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
        '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7"'
    )
    assert compute_checksum(parse_lossless(SAMPLE).value) == "6a92d155a59bf2eecbd4b4ec7fd1f875"
    assert compute_checksum(parse_lossless(SAMPLE).value, "pair") == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (
            '{"a": 10, "b": {"y": null, "x": "https://delta.io"} }',
            '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null',
        ),
        ('[null, "hi ho", 2.71]', '0=null,1="hi%20ho",2=2.71'),
        ('{"k1": "v1", "checksum": "<anything>", "k3": 23}', '"k1"="v1","k3"=23'),
        ('"hello world"', '"hello%20world"'),
        ('">"', '"%3E"'),
        ("true", "true"),
        ("false", "false"),
        ("null", "null"),
        ("42", "42"),
    ],
)
def test_protocol_examples_are_canonicalized(text: str, canonical: str) -> None:
    assert form(text) == canonical


@pytest.mark.parametrize("number", ["1.0", "1", "1e3", "1E+3", "-0", "-0.0", "1.50", "9223372036854775808", "0.1e-7"])
def test_number_keeps_its_lexeme(number: str) -> None:
    assert form(f'{{"n": {number}}}') == f'"n"={number}'


def test_only_the_top_level_checksum_is_omitted() -> None:
    assert form('{"checksum": {"a": 1}, "x": {"checksum": 2}, "y": [{"checksum": 3}]}') == (
        '"x"+"checksum"=2,"y"+0+"checksum"=3'
    )
    assert form('[{"checksum": 1}]') == '0+"checksum"=1'


def test_empty_containers_produce_no_pair() -> None:
    assert form('{"a": {}, "b": [], "c": {"d": [[]]}, "e": 1}') == '"e"=1'
    assert form("{}") == ""


def test_string_is_encoded_by_its_utf8_octets() -> None:
    assert form('"é😀\\n\\"%+ /"') == '"%C3%A9%F0%9F%98%80%0A%22%25%2B%20%2F"'
    assert form('"AZaz09-._~"') == '"AZaz09-._~"'
    assert form('{"é=+": "x"}') == '"%C3%A9%3D%2B"="x"'


def test_lone_surrogate_counts_as_a_question_mark() -> None:
    assert form('{"a\\ud800": "\\udc00"}') == '"a%3F"="%3F"'


def test_string_that_looks_like_a_number_keeps_its_quotes() -> None:
    assert form('{"a": "1", "b": 1, "c": "null", "1": true}') == '"1"=true,"a"="1","b"=1,"c"="null"'


LONG_ARRAY = '{"a": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}'


def test_path_order_of_a_long_array_puts_1_before_10() -> None:
    assert form(LONG_ARRAY) == (
        '"a"+0=0,"a"+1=1,"a"+10=10,"a"+11=11,"a"+2=2,"a"+3=3,"a"+4=4,"a"+5=5,"a"+6=6,"a"+7=7,"a"+8=8,"a"+9=9'
    )
    assert compute_checksum(parse_lossless(LONG_ARRAY).value) == "82f777c9575dcbb8831ce028cdf8e5d5"


def test_pair_order_of_a_long_array_puts_10_before_1() -> None:
    assert form(LONG_ARRAY, "pair") == (
        '"a"+0=0,"a"+10=10,"a"+11=11,"a"+1=1,"a"+2=2,"a"+3=3,"a"+4=4,"a"+5=5,"a"+6=6,"a"+7=7,"a"+8=8,"a"+9=9'
    )
    assert compute_checksum(parse_lossless(LONG_ARRAY).value, "pair") == "e6e7f7501e532040b7a2abe0a2140083"


def test_long_array_stays_between_its_neighbour_keys() -> None:
    between = '{"b": 1, "a": [[0,0,0,0,0,0,0,0,0,0,0]], "A": 2}'
    assert form(between).startswith('"A"=2,"a"+0+0=0,"a"+0+1=0,"a"+0+10=0,')
    assert form(between).endswith(',"a"+0+9=0,"b"=1')


OBJECTS = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    if isinstance(value, list):
        return sum(map(leaves, value))
    return 1


@given(OBJECTS, st.sampled_from(["path", "pair"]))
def test_canonical_form_has_one_ascii_pair_per_leaf(value: dict[str, Any], order: Order) -> None:
    expected = leaves({key: member for key, member in value.items() if key != "checksum"})
    written = form(json.dumps(value), order)
    assert written.isascii()
    pairs = written.split(",") if written else []
    assert len(pairs) == expected
    assert [pair for pair in pairs if pair.count("=") != 1] == []


@given(OBJECTS)
def test_path_order_is_ascending_by_path(value: dict[str, Any]) -> None:
    paths = [pair.partition("=")[0] for pair in form(json.dumps(value)).split(",")]
    assert paths == sorted(paths)


@given(OBJECTS, st.randoms(use_true_random=False))
def test_member_order_and_whitespace_do_not_matter(value: dict[str, Any], random: Any) -> None:
    members = list(value.items())
    random.shuffle(members)
    assert form(json.dumps(dict(members), indent=2, ensure_ascii=False)) == form(json.dumps(value))


@given(st.text())
def test_string_is_recovered_from_its_canonical_form(text: str) -> None:
    written = form(json.dumps(text))
    assert (written[0], written[-1]) == ('"', '"')
    assert unquote(written[1:-1]) == text


@given(OBJECTS)
def test_checksum_is_the_md5_of_the_form(value: dict[str, Any]) -> None:
    document = parse_lossless(json.dumps(value)).value
    assert compute_checksum(document) == hashlib.md5(form(json.dumps(value)).encode("ascii")).hexdigest()
