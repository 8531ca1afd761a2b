"""Questions of an imported directory, as a list for people and machines."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from deltaspec.golden.importing.questions import (
    CannotAsk,
    ImportedCase,
    LoadSnapshot,
    PerformCommits,
    PerformOperations,
    Question,
    ReadChanges,
    ReadRows,
    Refuse,
)
from deltaspec.report.text import escape_text

_KINDS: dict[type[Question], str] = {
    ReadRows: "read", ReadChanges: "changes", LoadSnapshot: "snapshot", Refuse: "refuse", PerformCommits: "write",
    PerformOperations: "operations", CannotAsk: "not asked",
}  # fmt: skip


def describe_cases(cases: Sequence[ImportedCase]) -> list[dict[str, Any]]:
    """Return cases with their questions as plain values."""
    return [
        {
            "id": case.id,
            "format": case.format,
            "questions": [
                {"name": each.name, "kind": _KINDS[type(each)]}
                | ({"reason": each.reason} if isinstance(each, CannotAsk) else {})
                for each in case.questions
            ],
        }
        for case in cases
    ]


def render_cases(cases: Sequence[ImportedCase]) -> str:
    """Return a line for each case, the total, and the reasons why questions are not asked."""
    width = max(len(case.id) for case in cases)
    lines = [f"{case.format:<10}  {case.id:<{width}}  {_count(case.questions)}" for case in cases]
    every = [each for case in cases for each in case.questions]
    lines += ["", f"{len(cases):,} cases, {_count(every)}"]
    reasons = Counter(each.reason for each in every if isinstance(each, CannotAsk))
    lines += [f"not asked: {escape_text(reason, 300)} ({number:,})" for reason, number in reasons.most_common()]
    return "\n".join(lines)


def _count(questions: Sequence[Question]) -> str:
    counts = Counter(_KINDS[type(each)] for each in questions)
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in _KINDS.values() if counts[kind]) or "no questions"
