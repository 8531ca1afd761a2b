"""Hooks of MkDocs: pages that are written from the catalogue, and pages that include files of the repository."""

from pathlib import Path
from typing import Any

import catalogue
import reference
from inclusion import Inclusions
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
KEYS = "<!-- configuration keys -->"
_LISTED = {"rules/index.md", "requirements/index.md", "golden/index.md", "notes.md", "features.md", reference.COMMANDS}
"""Generated pages in the navigation; the others are reached from them and by search."""
_STATIC = {"matrix.html": ROOT / "reports/matrix/matrix.html"}
"""Files that the site has as they are."""


def on_config(config: MkDocsConfig) -> None:
    """Find out which page includes which file."""
    config.extra["inclusions"] = Inclusions(ROOT, Path(config.docs_dir))
    config.watch += [str(ROOT / name) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "conformance")]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    left_out = 0
    for path, markdown in (catalogue.build_pages() | reference.build_pages()).items():
        file = File.generated(config, path, content=markdown)
        if path not in _LISTED:
            left_out = (left_out + 1) % int(config.extra["sample"])
            file.inclusion = InclusionLevel.EXCLUDED if left_out else InclusionLevel.NOT_IN_NAV
        files.append(file)
    for path, source in _STATIC.items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Replace the directives of a page."""
    expanded: str = config.extra["inclusions"].expand(markdown, page.file.src_uri)
    return expanded.replace(KEYS, reference.render_configuration_keys()) if KEYS in expanded else expanded
