"""The page of a validation report in a browser."""

import pytest
from browser.conftest import OpenPage
from browser.test_matrix_page import read_contrast
from helpers.validation_pages import render_hostile_report
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow("conformance/deltaspec/pages"),
]


def test_findings_can_be_filtered(open_page: OpenPage) -> None:
    page = open_page(render_hostile_report())
    expect(page.locator(".status")).to_have_text("2 rules with findings.")
    page.get_by_role("combobox", name="Severity").select_option("divergence")
    expect(page.locator(".status")).to_have_text("1 of 2 rules with findings.")
    page.get_by_label("Text").fill("FIL001")
    expect(page.locator(".empty")).to_be_visible()
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".cause:visible")).to_have_count(2)


def test_hostile_texts_are_shown_and_do_nothing(open_page: OpenPage) -> None:
    page = open_page(render_hostile_report())
    expect(page.locator(".place").first).to_contain_text("<img src=x onerror=alert(1)> \\u202e\\x1b[31m")
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_page_does_not_scroll_sideways(open_page: OpenPage, width: int) -> None:
    page = open_page(render_hostile_report(), width=width)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_texts_can_be_read_in_both_color_schemes(open_page: OpenPage, colors: str) -> None:
    page = open_page(render_hostile_report(), colors=colors)
    for selector in (".verdict h2", ".tallies .violation", ".tallies .warning", ".ledger li", ".evidence dt", ".place"):
        assert read_contrast(page, selector) >= 4.5, selector
