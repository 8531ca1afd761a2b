"""The site of many tables in a browser: from files, and behind a server with a strict content security policy."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from browser.conftest import MOST_MILLISECONDS
from browser.test_matrix_page import read_contrast
from helpers.cli import run
from helpers.lake_reports import HOSTILE, build_report, save_lake, save_night
from playwright.sync_api import Browser, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow("conformance/deltaspec/pages", "conformance/deltaspec/lake")]
TABLES = 130


class StrictHandler(SimpleHTTPRequestHandler):
    """Serves a folder with a policy that allows no inline script and no inline style."""

    def end_headers(self) -> None:
        self.send_header(
            "Content-Security-Policy", "default-src 'self'; script-src 'self'; style-src 'self'; img-src data:"
        )
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    save_lake(folder / "reports", TABLES)
    save_night(folder / "reports", "2026-11-29", {"hostile": build_report(HOSTILE, {"FIL007": 1})})
    (folder / "deltaspec.toml").write_text('[tables."s3://lake/web/*"]\nowner = "web"\n')
    options = ("--output", folder / "site", "--config", folder / "deltaspec.toml")
    assert run("overview", folder / "reports", *options).exit_code == 0
    return folder / "site"


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(StrictHandler, directory=str(site))) as found:
        thread = Thread(target=found.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page; the test fails if it logs an error."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.set_default_timeout(MOST_MILLISECONDS)
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    yield opened
    context.close()
    assert wrong == []


@pytest.fixture(params=["file", "server"])
def address(request: pytest.FixtureRequest, site: Path, server: str) -> str:
    return site.as_uri() if request.param == "file" else server


def test_filters_narrow_the_tables_down(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    rows = page.locator(".tables tbody tr")
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Show 31 more of 31").click()
    expect(rows).to_have_count(131)
    page.locator(".filters [name='verdict']").select_option("violations")
    expect(page.locator(".status")).to_have_text("45 of 131 tables.")
    page.locator(".filters [name='owner']").select_option("web")
    expect(page.locator(".status")).to_have_text("22 of 131 tables.")
    assert page.url.endswith("#verdict=violations&owner=web")
    page.get_by_role("button", name="Reset").click()
    page.locator(".filters [name='folder']").select_option("s3://lake/sales/")
    page.locator(".filters [name='rule']").select_option("CRC007")
    expect(page.locator(".status")).to_have_text("22 of 131 tables.")
    page.locator(".filters [name='text']").fill("nothing")
    expect(page.locator(".empty")).to_be_visible()


def test_trend_follows_the_filter(page: Page, site: Path) -> None:
    page.goto(f"{site.as_uri()}/index.html")
    most = page.locator(".trend .most")
    expect(most).to_have_text("46")
    page.locator(".filters [name='folder']").select_option("s3://lake/web/")
    expect(most).to_have_text("23")
    titles = page.locator(".trend title").all_text_contents()
    assert titles[0] == "2026-11-27: 1 incomplete, 64 conform"
    assert titles[2] == "2026-11-29: 22 violations, 1 incomplete, 42 conform"


def test_address_holds_filter_and_order(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html#state=new&order=name")
    expect(page.locator(".status")).to_have_text("44 of 131 tables.")
    first = page.locator(".tables tbody tr").first
    expect(first).to_contain_text("s3://lake/sales/table-0000")
    page.goto(f"{address}/index.html")
    page.locator(".ranked a[href='#rule=FIL007']").click()
    expect(page.locator(".status")).to_have_text("45 of 131 tables.")
    page.locator(".verdicts a").first.click()
    expect(page.locator(".tables tbody tr").first).to_contain_text("violations")


def test_table_and_rule_are_one_click_away(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html")
    page.locator(".tables tbody a", has_text="s3://lake/sales/table-0006").first.click()
    expect(page.locator("h1")).to_have_text("s3://lake/sales/table-0006")
    page.get_by_role("combobox", name="Severity").select_option("violation")
    expect(page.locator(".status")).to_contain_text("rules with findings")
    page.locator(".inside a", has_text="FIL007").first.click()
    expect(page.locator("h1")).to_have_text("FIL007 partition-column-missing")
    page.locator(".kicker a").click()
    expect(page.locator("h1")).to_have_text("131 tables")


def test_hostile_location_is_shown_and_does_nothing(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html#text=onerror")
    expect(page.locator(".tables tbody a")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_do_not_scroll_sideways(page: Page, site: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    tables = sorted((site / "tables").iterdir())
    for path in ("index.html", "tables.html", "rules/FIL007.html", f"tables/{tables[0].name}"):
        page.goto(f"{site.as_uri()}/{path}")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_texts_can_be_read_in_both_color_schemes(page: Page, site: Path, colors: str) -> None:
    page.emulate_media(color_scheme=colors)  # type: ignore[arg-type]
    page.goto(f"{site.as_uri()}/index.html")
    for selector in (".lead", ".verdicts a", ".mark.violations", ".mark.conforms", ".changes span", ".keys", ".note"):
        assert read_contrast(page, selector) >= 4.5, selector


def test_page_without_scripts_lists_the_tables(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/index.html")
    expect(page.locator(".tables tbody tr")).to_have_count(20)
    page.get_by_role("link", name="All tables").click()
    expect(page.locator(".tables tbody tr")).to_have_count(131)
    context.close()
