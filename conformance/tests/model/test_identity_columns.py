"""What a field says of its identity column."""

import pytest

from deltaspec.model.identity_columns import fault, mark_is_in_sequence
from deltaspec.model.json_values import parse_lossless


def _metadata(text: str) -> dict[str, object]:
    keys = ("start", "step", "highWaterMark", "allowExplicitInsert")
    return {f"delta.identity.{key}": value for key, value in parse_lossless(text).value.items() if key in keys}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"start":null,"allowExplicitInsert":null}',
        '{"start":1,"step":1,"allowExplicitInsert":false}',
        '{"start":-9223372036854775808,"step":-7,"highWaterMark":9223372036854775807,"allowExplicitInsert":true}',
    ],
)
def test_longs_and_a_boolean_are_sound(text: str) -> None:
    assert fault(_metadata(text)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"start":"1"}', "delta.identity.start is no long"),
        ('{"start":1.0}', "delta.identity.start is no long"),
        ('{"step":9223372036854775808}', "delta.identity.step is no long"),
        ('{"highWaterMark":true}', "delta.identity.highWaterMark is no long"),
        ('{"step":0}', "delta.identity.step is 0"),
        ('{"step":-0}', "delta.identity.step is 0"),
        ('{"allowExplicitInsert":"true"}', "delta.identity.allowExplicitInsert is no boolean"),
    ],
)
def test_anything_else_is_a_fault(text: str, words: str) -> None:
    assert fault(_metadata(text)) == words


@pytest.mark.parametrize(
    ("start", "step", "mark", "answer"),
    [
        (100, 2, 100, True),
        (100, 2, 106, True),
        (100, 2, 101, False),
        (100, 2, 98, False),
        (100, -7, 86, True),
        (100, -7, 107, False),
        (-5, 3, 1, True),
    ],
)
def test_mark_is_the_start_and_some_steps(start: int, step: int, mark: int, answer: bool) -> None:
    assert mark_is_in_sequence(_metadata(f'{{"start":{start},"step":{step},"highWaterMark":{mark}}}')) is answer


@pytest.mark.parametrize("text", ["{}", '{"start":1,"step":1}', '{"start":1,"step":0,"highWaterMark":1}'])
def test_without_all_three_there_is_no_answer(text: str) -> None:
    assert mark_is_in_sequence(_metadata(text)) is None
