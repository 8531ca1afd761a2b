"""A browser for tests of pages, with everything that a page could do wrong turned into a failure."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

MOST_MILLISECONDS = 60_000
expect.set_options(timeout=MOST_MILLISECONDS)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium; without it the tests are skipped, and fail in CI."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        reason = "Chromium is missing; on Debian: apt-get install chromium, or name it in CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        options = ["--disable-dev-shm-usage"]  # containers have little of it
        options += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=program, args=options)
        yield opened
        opened.close()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[OpenPage]:
    """Return a function that opens HTML from a file. The test fails if the page asks for anything, or has an error."""
    wrong: list[str] = []

    def open_html(html: str, *, width: int = 1280, colors: str = "light", address: str = "") -> Page:
        path = tmp_path / "page.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=colors)  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(MOST_MILLISECONDS)
        page.on("request", lambda request: request.url.split("#")[0] == path.as_uri() or wrong.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri() + address)
        return page

    yield open_html
    for context in browser.contexts:
        context.close()
    assert wrong == []
