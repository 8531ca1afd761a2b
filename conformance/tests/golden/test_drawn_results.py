"""The page of drawn golden cases names steps, clients, and failures without a cause."""

from pathlib import Path

from golden_clients.drawn import ClientResult, DrawnReport, Step, copy_first, render
from golden_clients.writer_cases import Failure


def test_failures_without_a_cause_are_shown() -> None:
    failures = (Failure("drawn.a/specs/all.json", "wrong rows"), Failure("drawn.b/specs/all.json", "x", "its bug"))
    client = ClientResult("engine 1", 2, {"passed": 5, "failed": 2}, failures)
    page = render(DrawnReport(10, {"draw": Step(5.0, 3, 40), "verify": Step(20.0)}, "fine", {"engine": client}))
    assert "| draw | 5 | 2.0 | 3 | 40 |\n| verify | 20 | 0.5 | | |\n" in page
    assert "| engine 1 | 2 | 2 failed, 5 passed | 1 |" in page
    assert "- Without a cause: wrong rows (1)\n- its bug (1)\n" in page


def test_only_the_first_cases_are_copied(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / "acceptance" / name / "specs").mkdir(parents=True)
    assert sorted(path.name for path in copy_first(tmp_path, 2, tmp_path / "asked").iterdir()) == ["a", "b"]
