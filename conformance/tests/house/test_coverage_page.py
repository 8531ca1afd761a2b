"""`conformance/COVERAGE.md` is what the catalogue, the model, the rules and the mutations say."""

from house.coverage_page import PAGE, page


def test_page_is_as_computed() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `nox -s coverage`"
