"""Statistics columns are the same whether strings are read in columns or one by one."""

import json
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaspec.views.files import plain_statistics, statistics_facts
from deltaspec.views.files.plain_statistics import read_plain_statistics

NAMES = st.sampled_from(["a", "b", "nullCount", "numRecords", "x:1", ":5", ":0", "a,", "é", 'q"', "a b", "{", "}", ""])
COUNTS = st.sampled_from(["0", "1", "2", "7", "10", "-1", "01", "1.0", "null", "1e1", "9" * 18, "9" * 19, '"1"'])
BOUNDS = st.sampled_from(
    ["0", "-0", "1.5", "-2E-7", "1.", ".5", "true", "null", '"x"', '"\\u00e9"', '"\t"', "[1]", "nan"]
)


def write_object(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Write objects whose keys may repeat."""
    entries = st.lists(st.tuples(NAMES.map(lambda name: json.dumps(name, ensure_ascii=False)), values), max_size=3)
    return entries.map(lambda pairs: "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}")


def write_nested(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Write objects of values, of objects and of objects of objects."""
    return write_object(values | write_object(values | write_object(values)))


ENTRIES = [
    COUNTS.map('"numRecords":{}'.format),
    write_nested(BOUNDS).map('"minValues":{}'.format),
    write_nested(BOUNDS).map('"maxValues":{}'.format),
    write_nested(COUNTS).map('"nullCount":{}'.format),
    st.sampled_from(["true", "false", "null", "0"]).map('"tightBounds":{}'.format),
]
PLAIN = st.tuples(*(entry | st.just("") for entry in ENTRIES))
OTHER = st.tuples(PLAIN, st.randoms(use_true_random=False)).map(lambda drawn: drawn[1].sample(drawn[0], 5))


def join_entries(entries: Any) -> str:
    """Write statistics that have these entries, without the empty ones."""
    return "{" + ",".join(filter(None, entries)) + "}"


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Write statistics with one character replaced, removed or added."""
    text = join_entries(draw(PLAIN))
    place = draw(st.integers(0, len(text)))
    return text[:place] + draw(st.sampled_from(["", " ", '"', "{", "}", ",", "\\", "\n", "0"])) + text[place + 1 :]


TEXTS = PLAIN.map(join_entries) | OTHER.map(join_entries) | damaged() | st.none()
DELETED = st.sampled_from([None, None, 0, 1, 7])


def build(rows: list[tuple[str | None, int | None]]) -> dict[str, list[Any]]:
    """Return the statistics columns of rows of text and cardinality, as lists by name."""
    texts = pa.chunked_array([pa.array([text for text, _ in rows], pa.string())])
    deleted = pl.Series([deleted for _, deleted in rows], dtype=pl.Int64)
    return {column.name: column.to_list() for column in statistics_facts.columns(texts, deleted)}


@given(st.lists(st.tuples(TEXTS, DELETED), max_size=40))
@example([('{"numRecords":9,"nullCount":{":5":2,":6":2}}', None), ('{"numRecords":9,"nullCount":{"":2}}', None)])
@example([('{"numRecords":5}"nullCount":{}}', None)])
@example([('{"numRecords":5,}', None), ('{"numRecords":5,"tightBounds":true}', None)])
@example([('{"numRecords":5,"minValues":{"nullCount":{}},"nullCount":{}}', None)])
@example([('{"numRecords":5,"nullCount":{"nullCount":5}}', 1), ('{"numRecords":5,"nullCount":{"s":{"a":5}}}', None)])
@example([('{"numRecords":5,"nullCount":{"a":5},"tightBounds":false}', None)])
@example([('{"numRecords":5,"nullCount":{"a":5}}\n', None), ('{"numRecords":5,"nullCount":{"a":6}}', None)])
@example(
    [(text, None) for text in ('{"minValue":"ä"}', '{"numRecords":5é', '{"numRecords" é', "x" * 13 + "é", "é" * 9)]
)
@example([('{"numRecords":5,"nullCount":{"a":5}}', None), ("é", None), ("", None), (None, None)])
def test_both_ways_agree(rows: list[tuple[str | None, int | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics_facts, "FEWEST_PLAIN", len(rows) + 1)
        one_by_one = build(rows)
        patch.setattr(statistics_facts, "FEWEST_PLAIN", 0)
        assert build(rows) == one_by_one
        patch.setattr(plain_statistics, "ROWS_AT_ONCE", 3)
        assert build(rows) == one_by_one


@pytest.mark.parametrize(
    ("text", "null_columns"),
    [
        ('{"numRecords":3}', None),
        ('{"numRecords":3,"tightBounds":true}', None),
        ('{"numRecords":3,"minValues":{},"maxValues":{},"nullCount":{}}', None),
        ('{"numRecords":3,"minValues":{"a":"é"},"maxValues":{"a":"é"},"nullCount":{"a":0,"b":3}}', '[["b"]]'),
        ('{"numRecords":3,"minValues":{"s":{"a":1}},"maxValues":{"s":{"a":2}},"nullCount":{"s":{"a":0}}}', None),
        ('{"numRecords":3,"nullCount":{"a":0},"tightBounds":false}', None),
        ('{"numRecords":3,"nullCount":{"a":1},"tightBounds":true}', '[["a"]]'),
    ],
)
def test_usual_strings_are_not_decoded(text: str, null_columns: str | None) -> None:
    records, columns = read_plain_statistics(pl.Series([text]), pl.Series([None], dtype=pl.Int64))
    assert (records.to_list(), columns.to_list()) == ([3], [null_columns])


def test_long_strings_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics_facts, "FEWEST_PLAIN", 1)
    monkeypatch.setattr(statistics_facts, "read_plain_statistics", None)
    assert build([('{"numRecords":3,"minValues":{"a":"' + "x" * 1_000 + '"}}', None)])["num_records"] == [3]


def test_many_different_null_counts_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f'{{"numRecords":{count},"nullCount":{{"a":{count}}}}}' for count in (1, 2)])
    monkeypatch.setattr(plain_statistics, "MOST_END_BYTES", 2 * len('{"a":1}}'))
    assert read_plain_statistics(texts, pl.Series([None, None], dtype=pl.Int64))[0].to_list() == [1, 2]
    monkeypatch.setattr(plain_statistics, "MOST_END_BYTES", 2 * len('{"a":1}}') - 1)
    assert read_plain_statistics(texts, pl.Series([None, None], dtype=pl.Int64))[0].to_list() == [None, None]
    monkeypatch.setattr(statistics_facts, "FEWEST_PLAIN", 1)
    assert build([(text, None) for text in texts])["null_columns"] == ['[["a"]]', '[["a"]]']


@pytest.mark.parametrize("character", ["é", "水", "\U0001f600"])
@pytest.mark.parametrize("digits", range(1, 19))
def test_characters_of_several_bytes_may_be_anywhere(character: str, digits: int) -> None:
    records = int("9" * digits)
    for name in ("a" * length + character for length in range(8)):
        text = f'{{"numRecords":{records},"minValues":{{"{name}":1}},"nullCount":{{"{name}":1}}}}'
        found, columns = read_plain_statistics(pl.Series([text, None]), pl.Series([None, None], dtype=pl.Int64))
        assert found.to_list() == [records, None], f"{name=}"
        assert columns.to_list() == [f'[["{name}"]]', None]
