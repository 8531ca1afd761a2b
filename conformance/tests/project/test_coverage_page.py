"""`conformance/COVERAGE.md` is what the catalogue, the model, the rules and the mutations say."""

from project.coverage_page import PAGE, render_page


def test_page_is_as_computed() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "run `nox -s coverage`"
