"""`conformance/COVERAGE.md` is up to date with the catalogue, the model, the rules and the planted faults."""

from project.coverage_page import PAGE, render_page


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "run `nox -s coverage`"
