"""The documentation site: links, requests, search and small screens. A sample of its pages is built."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.documented_commands import CHECKOUT, SITE
from playwright.sync_api import Browser, expect

SAMPLE = 25
"""One of so many generated pages is built, the first of them among them."""
PAGES = ("index.html", "rules/index.html", "rules/*.html", "requirements/*/*.html", "commands.html", "api.html")


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(sys.path)} | variables
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True, check=False)


of_the_built_site = pytest.mark.slow("conformance/site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    directory = tmp_path_factory.mktemp("site")
    options = ["--strict", "--quiet", "--config-file", str(SITE / "mkdocs.yml"), "--site-dir", str(directory)]
    built = run_python("-m", "mkdocs", "build", *options, DELTASPEC_SITE_SAMPLE=str(SAMPLE))
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return directory


@of_the_built_site
def test_links_lead_somewhere_and_nothing_is_requested_from_elsewhere(site: Path) -> None:
    checked = run_python(str(SITE / "check.py"), str(site), "--sample")
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def test_check_notices_faults(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="gone.html"></a><a href="#gone"></a><a href="https://a.test/"></a>'
        '<script src="https://b.test/b.js"></script><style>@import "//c.test/c.css";</style>',
        "utf-8",
    )
    (tmp_path / "search").mkdir()
    (tmp_path / "search/search_index.json").write_text(json.dumps({"docs": []}), "utf-8")
    checked = run_python(str(SITE / "check.py"), str(tmp_path))
    assert (checked.returncode, checked.stdout.splitlines()) == (
        1,
        [
            "index.html: gone.html leads to no file",
            "index.html: #gone leads to no heading",
            "index.html: script src requests https://b.test/b.js",
            'index.html: a style requests @import "//c.test/c.css"',
            "index.html: not in the search index",
            "search/search_index.js is missing",
        ],
    )


@of_the_built_site
@pytest.mark.browser
def test_search_works_from_a_file_and_pages_fit_a_small_screen(site: Path, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 800})
    page = context.new_page()
    wrong: list[str] = []
    page.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    for pattern in PAGES:
        page.goto(next(site.glob(pattern)).as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > 360:
            wrong.append(f"{page.url} scrolls sideways")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("glossary tombstone")
    expect(page.get_by_role("link", name="Glossary").first).to_be_visible()
    context.close()
    assert wrong == []
