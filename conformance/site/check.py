"""Check a built site: links lead somewhere, nothing is requested from elsewhere, and the search index is complete.

    python conformance/site/check.py SITE [--sample]

Exits with 1 and a line for each fault. With `--sample`, generated pages may be missing.
"""

import json
import re
import sys
from collections.abc import Iterator
from html import unescape
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TAG = re.compile(r"<(a|link|script|img|source|iframe|video|audio|object|embed)\s([^>]*)>")
_GENERATED = ("rules/", "requirements/", "golden/")
"""Directories where a sample has only some pages. MkDocs checks that links to the others are right."""
_ADDRESS = re.compile(r'\b(href|src|srcset|data|poster)="?([^"\s>]*)')
_ID = re.compile(r'\bid="?([^"\s>]+)')
_CODE = re.compile(r"<(script|style)\b[^>]*>.*?</\1>", re.S)
_STYLE_REQUEST = re.compile(r"url\(\s*[\"']?(?:https?:)?//[^)]*|@import[^;]*//[^;]*")
_MATRIX = "matrix.html"
"""A page that MkDocs does not build. It keeps its filters in the fragment of addresses."""


def find_faults(site: Path, *, is_sample: bool = False) -> list[str]:
    """Return one line for each fault of a built site.

    Args:
        site: the directory.
        is_sample: whether generated pages may be missing.
    """
    texts = {file.relative_to(site).as_posix(): file.read_text("utf-8") for file in sorted(site.rglob("*.html"))}
    ids = {path: frozenset(unescape(each) for each in _ID.findall(text)) for path, text in texts.items()}
    faults = [fault for path, text in texts.items() for fault in _check_page(site, path, text, ids, is_sample)]
    for file in sorted(site.rglob("*.css")):
        requests = _STYLE_REQUEST.findall(file.read_text("utf-8"))
        faults += [f"{file.relative_to(site)}: requests {each}" for each in requests]
    return faults + _check_search_index(site, ids)


def _check_page(site: Path, page: str, text: str, ids: dict[str, frozenset[str]], is_sample: bool) -> Iterator[str]:
    for tag, attributes in _TAG.findall(_CODE.sub(lambda code: code[0].partition(">")[0] + ">", text)):
        for name, address in _ADDRESS.findall(attributes):
            parts = urlsplit(unescape(address))
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if tag != "a" and "canonical" not in attributes:
                    yield f"{page}: {tag} {name} requests {address}"
                continue
            # the page for missing addresses is served at any of them, so its links begin at the root
            path = unquote(parts.path).lstrip("/") if page == "404.html" else unquote(parts.path)
            target = normpath(f"{page}/../{path}") if path else page
            if not (site / target).is_file():
                if not (is_sample and target.startswith(_GENERATED)):
                    yield f"{page}: {address} leads to no file"
            elif page != _MATRIX and parts.fragment and unquote(parts.fragment) not in ids.get(target, ()):
                yield f"{page}: {address} leads to no heading"
    for each in _STYLE_REQUEST.findall(text):
        yield f"{page}: a style requests {each}"


def _check_search_index(site: Path, ids: dict[str, frozenset[str]]) -> list[str]:
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))
    found = {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    faults = [f"{path}: not in the search index" for path in sorted(set(ids) - found - {"404.html", _MATRIX})]
    # a page that is opened from a file cannot request the index, so it loads a script
    if not (site / "search/search_index.js").is_file():
        faults.append("search/search_index.js is missing")
    return faults


if __name__ == "__main__":
    found = find_faults(Path(sys.argv[1]), is_sample="--sample" in sys.argv[2:])
    print("\n".join(found) or "no dead link, no request to other hosts, and every page can be found")
    sys.exit(1 if found else 0)
