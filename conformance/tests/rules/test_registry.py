"""Parts, level, severity and revisions of a registered rule."""

from collections.abc import Iterator

import polars as pl
import pytest

from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule, rule
from deltaspec.views.log.log_files import commits


@pytest.fixture
def code() -> Iterator[str]:
    """A code that is unregistered before and after the test."""
    assert "TST001" not in RULES
    yield "TST001"
    RULES.pop("TST001", None)


def _expression() -> pl.Expr:
    """A commit is odd.

    It matters
    for this reason. And for that one.
    Fix (rewrite): make it even,
    at once.

    Conforms::
        version: 2
        version: null
    Violates::
        version: 3
    """
    return pl.col("version") % 2 == 1


def register(code: str, **more: str) -> Rule:
    rule(code, requires=more.pop("requires", "log.commit-lines"), view=commits, **more)(_expression)  # type: ignore[arg-type]
    return RULES[code]


def test_docstring_has_message_reason_fix_and_examples(code: str) -> None:
    odd = register(code)
    assert odd.message == "A commit is odd."
    assert odd.why == "It matters for this reason. And for that one."
    assert odd.fix == "make it even, at once."
    assert odd.fix_class == "rewrite"
    assert odd.conforms == [{"version": 2}, {"version": None}]
    assert odd.violates == [{"version": 3}]


def test_rule_is_named_after_the_function(code: str) -> None:
    assert register(code).name == "-expression"


def test_columns_come_from_the_expression(code: str) -> None:
    assert register(code).reads == ("version",)


def test_rule_has_the_level_of_the_view(code: str) -> None:
    assert register(code).level == "log"


def test_finding_of_a_must_is_a_violation(code: str) -> None:
    assert register(code, requires="log.commit-lines").severity == "violation"


def test_finding_of_a_should_is_a_warning(code: str) -> None:
    assert register(code, requires="sidecar.path-is-name").severity == "warning"


def test_finding_of_an_undecided_point_is_a_divergence(code: str) -> None:
    assert register(code, divergence="S21").severity == "divergence"


def test_revisions_are_those_of_all_requirements(code: str) -> None:
    assert register(code, requires="checksum.num-files").revisions == ("current",)
    RULES.pop(code)
    both = register(code, requires=("checksum.num-files", "sidecar.path-is-name"))  # type: ignore[arg-type]
    assert both.revisions == ("r3", "current")
    assert both.requirement.id == "checksum.num-files"


def test_duplicate_code_raises(code: str) -> None:
    register(code)
    with pytest.raises(ValueError, match="TST001 is registered twice"):
        register(code)
