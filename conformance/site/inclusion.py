"""Include files of the repository in pages, so that each text is stored once.

A page has the line `<!-- include FILE -->` or `<!-- include FILE#heading -->`; the second form includes one section
without its heading. `from "TEXT"` and `to "TEXT"` restrict the included text: it starts with the line that begins with
the first text, and ends before the line that begins with the second.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError

_INCLUDE = re.compile(
    r'^<!-- include (?P<file>[^\s#]+)(?:#(?P<heading>\S+))?(?: from "(?P<start>[^"]+)")?(?: to "(?P<end>[^"]+)")? -->$',
    re.M,
)
_HEADING = re.compile(r"(#+) (.*)")
_LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])+)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Line:
    """A line of a Markdown file."""

    text: str
    depth: int
    """Level of the heading; 0 for other lines, also for lines of code that begin with `#`."""

    @property
    def anchor(self) -> str:
        """Name of the heading in addresses."""
        return str(slugify(self.text.lstrip("#").replace("`", ""), "-"))


class Inclusions:
    """The files of the repository that pages include."""

    def __init__(self, root: Path, pages: Path) -> None:
        self._root = root
        self._places: dict[tuple[str, str], str] = {}
        for page in sorted(pages.rglob("*.md")):
            uri = page.relative_to(pages).as_posix()
            for found in _INCLUDE.finditer(page.read_text("utf-8")):
                file, heading = found["file"], found["heading"] or ""
                self._places.setdefault((file, heading), uri)
                for line in self._select(found, uri):
                    if line.depth:
                        self._places.setdefault((file, line.anchor), f"{uri}#{line.anchor}")

    def expand(self, markdown: str, page: str) -> str:
        """Return a page with the included texts in place of the lines that name them.

        Args:
            markdown: the page.
            page: path of the page below the directory of pages.

        Raises:
            PluginError: a file, heading or line is missing.
        """
        return _INCLUDE.sub(lambda found: self._render(found, page, _find_depth(markdown[: found.start()])), markdown)

    def _render(self, found: re.Match[str], page: str, depth: int) -> str:
        lines = list(self._select(found, page))
        highest = min((line.depth for line in lines if line.depth), default=0)
        shift = depth + 1 - highest if depth else 0
        text = "\n".join("#" * shift + line.text if line.depth and shift > 0 else line.text for line in lines)
        if not found["file"].endswith(".md"):
            return text
        return _LINK.sub(lambda link: self._rewrite(link, found["file"], page), text)

    def _select(self, found: re.Match[str], page: str) -> Iterator[Line]:
        """Yield the lines that a page asks for."""
        path = self._root / found["file"]
        if not path.is_file():
            raise PluginError(f"{page}: {found['file']} not found")
        lines = list(_iter_lines(path.read_text("utf-8"), is_markdown=path.suffix == ".md"))
        begin, end = 0, len(lines)
        if heading := found["heading"]:
            begin = next((at for at, line in enumerate(lines) if line.depth and line.anchor == heading), -1)
            if begin < 0:
                raise PluginError(f"{page}: heading {heading!r} not found in {found['file']}")
            depth = lines[begin].depth
            after = (at for at, line in enumerate(lines) if at > begin and 0 < line.depth <= depth)
            begin, end = begin + 1, next(after, end)
        for name in ("start", "end"):
            if text := found[name]:
                at = next((at for at in range(begin, end) if lines[at].text.startswith(text)), -1)
                if at < 0:
                    raise PluginError(f"{page}: no line of {found['file']} begins with {text!r}")
                begin, end = (at, end) if name == "start" else (begin, at)
        yield from lines[begin:end]

    def _rewrite(self, link: re.Match[str], file: str, page: str) -> str:
        """Return a link of an included file, to the page that includes its target; only its text without one."""
        text, target = link["text"], link["target"]
        if re.match(r"[a-z]+:", target):
            return link[0]
        path, _, heading = target.partition("#")
        named = normpath(str(PurePosixPath(file).parent / path)) if path else file
        place = self._places.get((named, heading))
        if place is None:
            return text
        return f"[{text}]({relpath(place, str(PurePosixPath(page).parent))})"


def _iter_lines(text: str, *, is_markdown: bool = True) -> Iterator[Line]:
    code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        heading = _HEADING.fullmatch(line) if is_markdown and not code else None
        yield Line(line, len(heading[1]) if heading else 0)


def _find_depth(text: str) -> int:
    """Return the level of the last heading; 0 without one."""
    return next((line.depth for line in reversed(list(_iter_lines(text))) if line.depth), 0)
