"""The `Scenario` helper: refused commits leave no trace."""

import pytest
from helpers.scenario import Scenario, add, metadata, protocol, remove


def test_refused_commit_leaves_no_trace() -> None:
    scenario = Scenario(protocol(1, 2), metadata())
    scenario.commit(add("a"))
    assert scenario.expect_refusal(add("b"), add("b")) == "reconciliation.no-repeated-actions"
    assert (scenario.version, len(scenario.commits)) == (1, 2)
    scenario.commit(remove("a"))
    assert not scenario.now.files
    assert [add.path for add in scenario[1].files.values()] == ["a"]


def test_refusal_of_a_legal_commit_is_a_failure() -> None:
    scenario = Scenario(protocol(1, 2), metadata())
    with pytest.raises(AssertionError, match="accepted"):
        scenario.expect_refusal(add("a"))
    with pytest.raises(AssertionError):
        scenario.commit(add("b"), add("b"))
