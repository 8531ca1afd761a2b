"""Histories know every kind of operation that a candidate can declare."""

from deltaspec.candidates.write_operations import KINDS as DECLARED
from deltaspec_generators.histories.drawing import DRAWERS
from deltaspec_generators.histories.kinds import (
    KINDS,
    STEPS_OF_THE_KIT,
    UNKNOWN_FEATURE,
    WITH_A_PURPOSE,
    WRITTEN_ONLY,
)
from deltaspec_generators.histories.written import WRITTEN_HISTORIES


def test_histories_know_the_kinds_of_the_protocol_and_their_own_steps() -> None:
    assert (*DECLARED, *STEPS_OF_THE_KIT) == tuple(KINDS)


def test_every_kind_is_drawn_or_has_a_reason() -> None:
    assert {*DRAWERS, UNKNOWN_FEATURE} == {name for name, kind in KINDS.items() if not kind.not_drawn}


def test_reasons_are_true_of_the_written_histories() -> None:
    asked = {step.kind for build in WRITTEN_HISTORIES.values() for step in build()}
    assert asked >= list_kinds(WRITTEN_ONLY) | list_kinds(WITH_A_PURPOSE)


def list_kinds(reason: str) -> set[str]:
    return {name for name, kind in KINDS.items() if kind.not_drawn == reason}
