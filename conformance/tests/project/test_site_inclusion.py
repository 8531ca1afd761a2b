"""Pages of the documentation site include sections of files, with links between pages."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from helpers.documented_commands import SITE
from mkdocs.exceptions import PluginError

FILE = """# Title

Start.

## One

See [two](#two), [the other](docs/other.md), [a folder](docs) and [elsewhere](https://a.test/).

```sh
# no heading
```

### Part

## Two

Begin here.
End here.
"""


@pytest.fixture
def inclusions(tmp_path: Path) -> Any:
    """Inclusions of a repository with two files, which three pages include."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "FILE.md").write_text(FILE, "utf-8")
    (tmp_path / "docs/other.md").write_text("# Other\n", "utf-8")
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "one.md").write_text("# Page\n\n<!-- include FILE.md#one -->\n", "utf-8")
    (pages / "second.md").write_text("# Page\n\n<!-- include FILE.md#two -->\n", "utf-8")
    (pages / "third.md").write_text("<!-- include docs/other.md -->\n", "utf-8")
    return runpy.run_path(str(SITE / "inclusion.py"))["Inclusions"](tmp_path, pages)


def test_section_is_included_with_links_to_pages(inclusions: Any) -> None:
    assert inclusions.expand("# Page\n\n## Mine\n\n<!-- include FILE.md#one -->", "one.md") == (
        "# Page\n\n## Mine\n\n\nSee [two](second.md), [the other](third.md), a folder and [elsewhere](https://a.test/).\n\n"
        "```sh\n# no heading\n```\n\n### Part\n"
    )


def test_headings_are_moved_below_that_of_the_page(inclusions: Any) -> None:
    text = inclusions.expand('# Page\n\n<!-- include FILE.md from "## One" to "## Two" -->', "one.md")
    assert [line for line in text.splitlines() if line.startswith("##")] == ["## One", "### Part"]
    assert inclusions.expand("## Page\n\n<!-- include docs/other.md -->", "one.md").endswith("### Other")


def test_lines_between_two_texts_are_included(inclusions: Any) -> None:
    assert inclusions.expand('<!-- include FILE.md#two from "Begin" to "End" -->', "one.md") == "Begin here."


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        ("GONE.md", "one.md: GONE.md not found"),
        ("FILE.md#three", "one.md: heading 'three' not found in FILE.md"),
        ('FILE.md#two to "See"', "one.md: no line of FILE.md begins with 'See'"),
    ],
)
def test_missing_text_is_an_error(inclusions: Any, directive: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        inclusions.expand(f"<!-- include {directive} -->", "one.md")
