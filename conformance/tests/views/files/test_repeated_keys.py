"""Repeated keys are found among many texts, most of which have the same keys in the same order."""

import polars as pl
import pytest

from deltaspec.views.files import repeated_keys
from deltaspec.views.files.repeated_keys import find_repeated_keys

KEYS = ['"a":{}', '"a":{},"b":"{}"', '":x":{}', '"a:b":{}', '"é <1> %":"x:{}"', '"n":{{"a":{},"c":null}}']
DAMAGED = {
    '{"a":1,"a":2}': "/a",
    '{"n":{"a":1,"a":2}}': "/n/a",
    '{"a":"\\"","a":1}': "/a",
    '{":x":1,":x":1}': "/:x",
    '{"a:b":1,"a:b":1}': "/a:b",
}


@pytest.mark.parametrize(("number", "few"), [(1, 0), (1, repeated_keys.FEW_TEXTS), (3_000, repeated_keys.FEW_TEXTS)])
def test_text_that_is_not_json_decides_nothing_for_others(
    number: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first texts have the same keys, and a value that is not JSON."""
    monkeypatch.setattr(repeated_keys, "FEW_TEXTS", few)
    texts = ['{"a":1x,"a":2}', *['{"a":1,"b":x}'] * number, '{"a":1,"a":2}', '{"a":1,"b":2}']
    assert find_repeated_keys(pl.Series(texts)) == {number + 1: "/a"}


@pytest.mark.parametrize("keys", KEYS)
def test_texts_among_similar_ones(keys: str) -> None:
    texts = [f"{{{keys.format(number, number)}}}" for number in range(3_000)]
    expected = {}
    for row, (text, pointer) in enumerate(DAMAGED.items(), start=1_500):
        texts[row], expected[row] = text, pointer
    texts[10] = "{"  # not JSON
    texts[11] = texts[12][:-1] + ',"a":1}'
    if '"a":' in keys and not keys.startswith('"n"'):
        expected[11] = "/a"
    assert find_repeated_keys(pl.Series([None, *texts])) == {row + 1: pointer for row, pointer in expected.items()}
