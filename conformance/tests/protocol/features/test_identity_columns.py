"""Identity properties of a field, generated values, and legal changes."""

from itertools import count, islice, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.features.identity_values import allows_explicit_values, find_value_faults, generate_values
from deltaspec.protocol.features.identity_columns import (
    Identity,
    find_changed_properties,
    find_identity_fault,
    is_beyond_high_water_mark,
    is_high_water_mark_in_sequence,
    is_illegal_high_water_mark,
    is_in_sequence,
    read_identity,
)
from deltaspec.protocol.json_values import parse_lossless


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
def test_longs_and_a_boolean_are_valid(text: str) -> None:
    assert find_identity_fault(_metadata(text)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"start":"1"}', "delta.identity.start is not a long"),
        ('{"start":1.0}', "delta.identity.start is not a long"),
        ('{"step":9223372036854775808}', "delta.identity.step is not a long"),
        ('{"highWaterMark":true}', "delta.identity.highWaterMark is not a long"),
        ('{"step":0}', "delta.identity.step is 0"),
        ('{"step":-0}', "delta.identity.step is 0"),
        ('{"allowExplicitInsert":"true"}', "delta.identity.allowExplicitInsert is not a boolean"),
    ],
)
def test_other_values_are_a_fault(text: str, words: str) -> None:
    assert find_identity_fault(_metadata(text)) == words


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
def test_mark_is_start_plus_steps(start: int, step: int, mark: int, answer: bool) -> None:
    assert (
        is_high_water_mark_in_sequence(_metadata(f'{{"start":{start},"step":{step},"highWaterMark":{mark}}}')) is answer
    )


@pytest.mark.parametrize("text", ["{}", '{"start":1,"step":1}', '{"start":1,"step":0,"highWaterMark":1}'])
def test_missing_property_is_undecided(text: str) -> None:
    assert is_high_water_mark_in_sequence(_metadata(text)) is None


def test_identity_properties_are_read() -> None:
    text = '{"start":1,"step":-2,"highWaterMark":-5,"allowExplicitInsert":false}'
    assert read_identity(_metadata(text)) == Identity(start=1, step=-2, high_water_mark=-5, explicit=False)
    assert read_identity(_metadata('{"start":"1","allowExplicitInsert":true}')) == Identity(explicit=True)
    assert read_identity(_metadata('{"start":null}')) is None
    assert read_identity({"comment": "no identity"}) is None


@pytest.mark.parametrize(
    ("identity", "answer"),
    [
        (Identity(1, 1, None, False), True),
        (Identity(1, 1, None, True), False),
        (Identity(1, 1), False),
        (Identity(1, 0, None, False), False),
        (Identity(None, 1, None, False), False),
    ],
)
def test_all_values_are_generated_if_explicit_ones_are_forbidden(identity: Identity, answer: bool) -> None:
    assert identity.is_always_generated is answer


def test_explicit_values_are_allowed_by_default() -> None:
    assert allows_explicit_values(Identity(explicit=True)) == Accepted()
    assert allows_explicit_values(Identity()) == Accepted()
    answer = allows_explicit_values(Identity(explicit=False))
    assert isinstance(answer, Refused)
    assert answer.requirement == "identity-columns.explicit-values"


@pytest.mark.parametrize(
    ("identity", "values"),
    [
        (Identity(1, 1), [1, 2, 3]),
        (Identity(100, -7, 86), [79, 72, 65]),
        (Identity(100, 2, 103), [104, 106, 108]),
        (Identity(100, 2, 7), [100, 102, 104]),
        (Identity(100, -2, 107), [100, 98, 96]),
    ],
)
def test_generated_values_continue_after_the_mark(identity: Identity, values: list[int]) -> None:
    assert generate_values(identity, 3) == values
    assert generate_values(identity, 0) == []


@pytest.mark.parametrize(
    ("identity", "fits"), [(Identity(2**63 - 3, 2), 2), (Identity(-(2**63) + 1, -1), 2), (Identity(0, 1, 2**63 - 1), 0)]
)
def test_a_value_beyond_a_long_is_refused(identity: Identity, fits: int) -> None:
    assert len(list(generate_values(identity, fits))) == fits
    answer = generate_values(identity, fits + 1)
    assert isinstance(answer, Refused)
    assert answer.requirement == "identity-columns.overflow"


@pytest.mark.parametrize(
    ("value", "requirement"),
    [
        (100, "identity-columns.unique"),
        (103, "identity-columns.sequence"),
        (98, "identity-columns.sequence"),
        (102, "identity-columns.beyond-mark"),
    ],
)
def test_violated_requirement_of_a_generated_value(value: int, requirement: str) -> None:
    identity = Identity(start=100, step=2, high_water_mark=104)
    assert find_value_faults(identity, {100, 104}, [value]) == [(value, requirement)]
    assert find_value_faults(identity, {100, 104}, [106, 110]) == []
    assert find_value_faults(identity, {100, 104}, [106, 106]) == [(106, "identity-columns.unique")]


_small = st.integers(-9, 9)
_steps = st.sampled_from([-7, -2, -1, 1, 2, 5])


@given(_small, _steps, st.none() | st.integers(-60, 60), st.integers(0, 5))
def test_generated_values_are_the_next_of_the_sequence(start: int, step: int, mark: int | None, number: int) -> None:
    identity = Identity(start, step, mark)
    sequence = (start + k * step for k in count())
    ahead = (value for value in sequence if mark is None or (value > mark if step > 0 else value < mark))
    values = generate_values(identity, number)
    assert values == list(islice(ahead, number))
    assert find_value_faults(identity, (), list(values)) == []


@given(_small, _steps, st.integers(-60, 60))
def test_value_in_sequence_is_reached_by_steps(start: int, step: int, value: int) -> None:
    before = takewhile(lambda each: abs(each - start) <= abs(value - start), (start + k * step for k in count()))
    assert is_in_sequence(Identity(start, step), value) is (value in list(before))


@given(_small, _steps, st.integers(1, 4), st.integers(1, 4))
def test_generated_values_advance_the_mark(start: int, step: int, first: int, second: int) -> None:
    before = Identity(start, step)
    marks = []
    for number in (first, second):
        values = generate_values(before, number)
        assert not isinstance(values, Refused), f"{number=}"
        after = Identity(start, step, values[-1])
        assert not is_illegal_high_water_mark(before, after), f"{number=}"
        assert before.high_water_mark is None or is_illegal_high_water_mark(after, before), f"{number=}"
        marks.append(values[-1])
        before = after
    assert is_beyond_high_water_mark(Identity(start, step, marks[0]), marks[1])


@pytest.mark.parametrize(
    ("step", "before", "after", "illegal"),
    [
        (2, 104, 102, True),
        (2, 104, 104, False),
        (2, 104, 106, False),
        (-2, 96, 98, True),
        (-2, 96, 94, False),
        (2, None, 100, False),
        (2, 104, None, True),
        (None, 104, 102, False),
    ],
)
def test_mark_never_moves_back(step: int | None, before: int | None, after: int | None, illegal: bool) -> None:
    assert is_illegal_high_water_mark(Identity(100, step, before), Identity(100, step, after)) is illegal


def test_changed_immutable_properties_are_found() -> None:
    created = Identity(100, 2, None, False)
    assert find_changed_properties(created, Identity(100, 2, 104, False)) == []
    assert find_changed_properties(Identity(high_water_mark=1), created) == []
    assert find_changed_properties(created, Identity(99, 3, None, True)) == [
        "delta.identity.start",
        "delta.identity.step",
        "delta.identity.allowExplicitInsert",
    ]
    assert find_changed_properties(created, Identity(100, 2)) == ["delta.identity.allowExplicitInsert"]
