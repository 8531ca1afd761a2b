"""`reports/lake.md` is up to date with the faults; the faults are numbered without a gap."""

from collections import Counter

from lake.page import PAGE, render_page
from lake.registry import FAULTS

LAST = 40


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "run `nox -s lake`"


def test_every_number_has_a_fault() -> None:
    assert {fault.number for fault in FAULTS} == set(range(1, LAST + 1))


def test_names_are_unique_and_titles_are_sentences() -> None:
    assert Counter(fault.name for fault in FAULTS).most_common(1)[0][1] == 1
    assert [fault for fault in FAULTS if not (fault.title.endswith(".") and fault.says)] == []
