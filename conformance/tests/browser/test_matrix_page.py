"""The page of the matrix in a browser: filters, details, keyboard, small screens, dark mode, hostile texts."""

from pathlib import Path

import pytest
from browser.conftest import OpenPage
from helpers.matrix_reports import HOSTILE, WRONG_ROWS, build, build_hostile_matrix, build_result, build_suite_report
from playwright.sync_api import Browser, Page, expect

from deltaspec.matrix.comparison import compare_matrices
from deltaspec.matrix.page import render_html
from deltaspec.suites.outcomes import Outcome

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow("conformance/deltaspec/matrix", "conformance/deltaspec/pages"),
]
VECTORS, MAPPING = "deletionVectors", "columnMapping"


@pytest.fixture
def html(tmp_path: Path) -> str:
    """A matrix of two engines with five failures."""
    failed = {"message": WRONG_ROWS, "history": ("0: create the table", "1: delete by vector")}
    mill = [
        build_result("read.all-rows/drawn.1.0", features=(VECTORS,)),
        build_result("read.all-rows/drawn.1.1", Outcome.FAILED, features=(VECTORS,),
                     requirements=("deletion-vectors.honoured", "log.replay-in-order"), **failed),
        build_result("read.all-rows/drawn.1.2", Outcome.FAILED, features=(MAPPING,),
                     requirements=("log.replay-in-order",), **failed),
        build_result("snapshot.protocol/drawn.1.2", Outcome.CRASHED, features=(MAPPING,), message="crash: exit code 4"),
        build_result("changes.changed-rows/drawn.1.2", Outcome.NOT_ASKED, features=(MAPPING,), message="no changes"),
    ]  # fmt: skip
    loom = [
        build_result("read.all-rows/drawn.1.1", Outcome.FAILED, features=(VECTORS,), **failed),
        build_result("read.row-count/drawn.1.1", Outcome.EXPECTED_FAILURE, features=(VECTORS,), message="wrong count",
                     known_failure="counts deleted rows", known_link="https://example.org/1"),
    ]  # fmt: skip
    declared = (VECTORS, MAPPING)
    reports = [build_suite_report(mill, declared=declared), build_suite_report(loom, name="loom", declared=declared)]
    matrix = build(tmp_path, *reports)
    earlier = build(tmp_path, build_suite_report(mill[:2], suites=("read", "snapshot", "changes"), declared=declared))
    return render_html(compare_matrices(matrix, earlier, "matrix.json"))


def open_all(open_page: OpenPage, html: str, **options: object) -> Page:
    """Open a page and all its parts, which are closed at first."""
    page = open_page(html, **options)
    page.evaluate("for (const each of document.querySelectorAll('details.part')) each.open = true")
    return page


def test_engines_fit_on_a_screen_and_lead_to_their_failures(html: str, open_page: OpenPage) -> None:
    page = open_page(html)
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    expect(page.locator(".engines tbody tr")).to_have_count(2)
    expect(page.locator(".cause").first).to_be_hidden()
    page.locator(".engines a", has_text="loom").click()
    expect(page.locator(".status")).to_have_text("2 of 5 failures with 2 causes.")
    expect(page.locator(".cause:visible")).to_have_count(2)


def list_causes(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".cause:visible .engine").all_inner_texts()]


def test_filters_narrow_the_failures_down(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html)
    expect(page.locator(".status")).to_have_text("5 failures with 4 causes.")
    for name, value, left in (
        ("Engine", "loom 1.0", "2 of 5 failures with 2 causes."),
        ("Feature or fault", MAPPING, "2 of 5 failures with 2 causes."),
        ("Suite", "snapshot", "1 of 5 failures with 1 cause."),
        ("Outcome", "crashed", "1 of 5 failures with 1 cause."),
        ("Outcome", "not listed as known", "4 of 5 failures with 3 causes."),
        ("Outcome", "fails now", "2 of 5 failures with 2 causes."),
    ):
        page.get_by_role("combobox", name=name, exact=True).select_option(value)
        expect(page.locator(".status")).to_have_text(left)
        page.get_by_role("button", name="Reset").click()
        expect(page.locator(".status")).to_have_text("5 failures with 4 causes.")
    page.get_by_label("Requirement").fill("deletion-vectors.honoured")
    expect(page.locator(".status")).to_have_text("1 of 5 failures with 1 cause.")
    page.get_by_role("combobox", name="Engine", exact=True).select_option("loom 1.0")
    expect(page.locator(".empty")).to_be_visible()


def test_address_holds_the_filters(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html, address="#engine=loom+1.0&suite=read")
    assert list_causes(page) == ["loom 1.0", "loom 1.0"]
    page.get_by_role("combobox", name="Suite", exact=True).select_option("snapshot")
    assert page.url.endswith("#engine=loom+1.0&suite=snapshot")


def test_cell_leads_to_its_failures(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html)
    page.get_by_role("link", name="mill, columnMapping: 1 failed, 1 crashed, 1 not asked").click()
    expect(page.locator(".status")).to_have_text("2 of 5 failures with 2 causes.")
    expect(page.locator(".selection")).to_have_text("mill, columnMapping: 1 failed, 1 crashed, 1 not asked.")
    assert list_causes(page) == ["mill 1.0", "mill 1.0"]
    page.go_back()
    expect(page.locator(".status")).to_have_text("5 failures with 4 causes.")


def test_failure_shows_rows_history_requirements_and_command(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html, address=f"#engine=mill+1.0&row=feature:{VECTORS}")
    page.locator(".cause:visible summary").click()
    page.get_by_text("read.all-rows/drawn.1.1").click()
    case = page.locator(".case[open]")
    expect(case.locator(".missing li")).to_have_text(["(id=1, p='a')"])
    expect(case.locator(".surplus li")).to_have_text(["(id=1, p=null)"])
    expect(case.locator(".condition code")).to_have_text('("id" > 0)')
    expect(case.locator(".history li")).to_have_text(["0: create the table", "1: delete by vector"])
    expect(case.locator(".command code")).to_have_text("deltaspec replay read.all-rows/drawn.1.1 --candidate mill")
    expect(case.locator(".requirements li").first).to_contain_text("deletion-vectors.honoured MUST: ")
    case.get_by_role("button", name="log.replay-in-order").click()
    expect(page.locator(".status")).to_have_text("2 of 5 failures with 1 cause.")


def test_suites_of_a_row_and_of_the_table(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html)
    hidden = page.get_by_role("link", name="mill, columnMapping, snapshot: 1 crashed")
    expect(hidden).to_be_hidden()
    page.get_by_role("button", name="Suites of columnMapping").click()
    expect(hidden).to_be_visible()
    page.get_by_role("combobox", name="Suite of Reading and writing").select_option("read")
    expect(hidden).to_be_hidden()
    expect(page.get_by_role("link", name="mill, columnMapping, read: 1 failed")).to_be_visible()


def test_everything_works_with_the_keyboard(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the failures")).to_be_focused()
    page.locator("[data-suites]").focus()
    page.keyboard.press("Tab")  # the button that shows the suites of the first row
    page.keyboard.press("Enter")
    expect(page.locator("tbody.all .expand")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Tab")  # one stop for all cells
    for key in ("End", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Home"):
        page.keyboard.press(key)
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("mill, deletionVectors: ")
    page.keyboard.press("Enter")
    expect(page.locator("#failures")).to_be_focused()
    page.locator(".cause:visible summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".case summary")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".case[open] .text")).to_contain_text("wrong rows")


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_page_does_not_scroll_sideways(html: str, open_page: OpenPage, width: int, tmp_path: Path) -> None:
    for text in (html, render_html(build_hostile_matrix(tmp_path))):
        page = open_all(open_page, text, width=width)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate("for (const each of document.querySelectorAll('.expand')) each.click()")
        page.wait_for_function("document.querySelector('.case')")
        page.evaluate("for (const each of document.querySelectorAll('.case')) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"page that begins with {text[:60]}"


@pytest.mark.parametrize("width", [360, 1280])
def test_numbers_stay_in_the_column_of_their_engine(open_page: OpenPage, width: int, tmp_path: Path) -> None:
    results = [build_result(f"read.all-rows/drawn.1.{number}") for number in range(1000)]
    results.append(build_result("read.all-rows/drawn.1.1000", Outcome.FAILED, message=WRONG_ROWS))
    reports = [build_suite_report(results, name=f"engine_{number}") for number in range(13)]
    page = open_all(open_page, render_html(build(tmp_path, *reports)), width=width)
    figures = page.locator(".all .figure:visible")
    assert {text.split("\n")[-1] for text in figures.all_inner_texts()} == {"1,000/1,001 ✗"}
    cut = """(figures) => figures.filter((figure) => {
      const text = document.createRange();
      text.selectNodeContents(figure);
      return text.getBoundingClientRect().right > figure.closest("td").getBoundingClientRect().right - 4;
    }).length"""
    assert figures.count() == len(reports)
    assert figures.evaluate_all(cut) == 0


def read_contrast(page: Page, selector: str) -> float:
    """Return the contrast of a text to the next ground behind it, as WCAG defines it."""
    return page.evaluate(
        """(selector) => {
        const light = (color) => {
          const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
          return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const element = document.querySelector(selector);
        let ground = element;
        while (ground && getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
        const [one, two] = [light(getComputedStyle(element).color), light(getComputedStyle(ground).backgroundColor)];
        return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
      }""",
        selector,
    )


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_texts_can_be_read_in_both_color_schemes(html: str, open_page: OpenPage, colors: str) -> None:
    page = open_all(open_page, html, colors=colors)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.strip("rgb()").split(","))) < 200) == (colors == "dark")
    for selector in ("body", ".lead", ".figure i", ".wrong .figure", ".title", ".count", ".engine", ".tag.unlisted"):
        assert read_contrast(page, selector) >= 4.5, selector


def test_hostile_texts_are_shown_and_do_nothing(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_all(open_page, render_html(build_hostile_matrix(tmp_path)))
    page.locator(".cause summary").first.click()
    page.locator(".case summary").first.click()
    expect(page.locator(".case .id")).to_contain_text("<script>alert(1)</script><img src=x onerror=alert(1)>")
    expect(page.locator(".history li")).to_contain_text("\\u202e\\x1b[31m")
    assert page.locator("img, .case a, .inside a").count() == 0
    page.get_by_label("Text").fill(HOSTILE[:20])
    expect(page.locator(".status")).to_contain_text("1 failure")


def test_policy_stops_what_the_page_did_not_bring(html: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    injected = "<script>document.title = 'injected'</script><img src='https://example.org/x'><h1 onclick='alert(1)'>"
    path.write_text(html.replace("<h1>", injected), "utf-8")
    page = browser.new_page()
    blocked: dict[str, str | None] = {}
    page.on("requestfailed", lambda request: blocked.update({request.url: request.failure}))
    page.goto(path.as_uri())
    assert page.title() == "Delta conformance matrix"
    assert blocked == {"https://example.org/x": "csp"}


def test_page_shows_what_changed(html: str, open_page: OpenPage) -> None:
    page = open_all(open_page, html)
    expect(page.get_by_role("heading", name="Changes since matrix.json")).to_be_visible()
    expect(page.locator(".block summary").first).to_have_text("Fails now: 2 cases")
