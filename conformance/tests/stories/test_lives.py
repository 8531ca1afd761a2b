"""The life of a table in tests: what is refused leaves no trace."""

import pytest
from stories.lives import Life, add, metadata, protocol, remove


def test_refused_commit_leaves_no_trace() -> None:
    life = Life(protocol(1, 2), metadata())
    life.commit(add("a"))
    assert life.refused(add("b"), add("b")) == "reconciliation.no-repeated-actions"
    assert (life.version, len(life.commits)) == (1, 2)
    life.commit(remove("a"))
    assert not life.now.files
    assert [add.path for add in life[1].files.values()] == ["a"]


def test_refusal_of_a_legal_commit_is_a_failure() -> None:
    life = Life(protocol(1, 2), metadata())
    with pytest.raises(AssertionError, match="accepted"):
        life.refused(add("a"))
    with pytest.raises(AssertionError):
        life.commit(add("b"), add("b"))
