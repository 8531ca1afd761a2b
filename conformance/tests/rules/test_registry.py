"""What a rule says of itself: its parts come from the docstring, its gravity from its requirement."""

from collections.abc import Iterator

import polars as pl
import pytest

from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule, rule
from deltaspec.views.log.log_files import commits


@pytest.fixture
def code() -> Iterator[str]:
    """A code that is free before and after the test."""
    assert "TST001" not in RULES
    yield "TST001"
    RULES.pop("TST001", None)


def _expression() -> pl.Expr:
    """A commit is odd.

    It matters
    for this reason. And for that one.
    Fix: make it even,
    at once.

    Conforms::
        version: 2
        version: null
    Violates::
        version: 3
    """
    return pl.col("version") % 2 == 1


def registered(code: str, **more: str) -> Rule:
    rule(code, requires=more.pop("requires", "log.commit-lines"), view=commits, **more)(_expression)  # type: ignore[arg-type]
    return RULES[code]


def test_docstring_is_taken_apart(code: str) -> None:
    odd = registered(code)
    assert odd.message == "A commit is odd."
    assert odd.why == "It matters for this reason. And for that one."
    assert odd.fix == "make it even, at once."
    assert odd.conforms == [{"version": 2}, {"version": None}]
    assert odd.violates == [{"version": 3}]


def test_name_is_that_of_the_function(code: str) -> None:
    assert registered(code).name == "-expression"


def test_columns_that_are_read_come_from_the_expression(code: str) -> None:
    assert registered(code).reads == ("version",)


def test_level_is_that_of_the_view(code: str) -> None:
    assert registered(code).level == "log"


def test_broken_must_is_a_violation(code: str) -> None:
    assert registered(code, requires="log.commit-lines").severity == "violation"


def test_broken_should_is_a_warning(code: str) -> None:
    assert registered(code, requires="sidecar.path-is-name").severity == "warning"


def test_silent_point_is_a_divergence_whatever_the_level(code: str) -> None:
    assert registered(code, divergence="S21").severity == "divergence"


def test_revisions_are_those_of_all_requirements_in_order(code: str) -> None:
    assert registered(code, requires="checksum.num-files").revisions == ("current",)
    RULES.pop(code)
    both = registered(code, requires=("checksum.num-files", "sidecar.path-is-name"))  # type: ignore[arg-type]
    assert both.revisions == ("r3", "current")
    assert both.requirement.id == "checksum.num-files"


def test_code_stands_once(code: str) -> None:
    registered(code)
    with pytest.raises(ValueError, match="TST001 stands twice"):
        registered(code)
