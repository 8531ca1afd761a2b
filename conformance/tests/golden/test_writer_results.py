"""The page of the cases for writers is rendered from its results, and every failure has a listed cause."""

import msgspec

from golden_clients.writer_cases import REPORTS, EngineResult, Failure, render

RESULTS = msgspec.json.decode((REPORTS / "results.json").read_bytes(), type=dict[str, EngineResult])


def test_the_page_is_up_to_date() -> None:
    assert (REPORTS / "README.md").read_text("utf-8") == render(RESULTS)


def test_every_failure_has_a_cause() -> None:
    assert {name: each.unexplained for name, each in RESULTS.items() if each.unexplained} == {}


def test_hundred_cases_were_asked() -> None:
    counts = {name: sum(each.outcomes["history"].values()) for name, each in RESULTS.items()}
    assert counts == dict.fromkeys(RESULTS, 100)


def test_failures_without_a_cause_are_shown() -> None:
    failures = (
        Failure("imported.commits/a", "wrong rows"),
        Failure("imported.commits/b", "x", "its bug", "reports/findings/c"),
    )
    page = render({"engine": EngineResult("1", {"write spec": {"failed": 2}, "history": {}}, {"no kind": 3}, failures)})
    assert "| engine 1 | 2 failed |  | 1 |" in page
    assert "- Without a cause: wrong rows (1): `imported.commits/a`" in page
    assert "- its bug ([c](../../findings/c)) (1): `imported.commits/b`" in page
    assert "- Not asked (3): no kind." in page
