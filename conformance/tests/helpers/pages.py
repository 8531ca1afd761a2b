"""Read HTML pages in tests."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """Collects the tags of a document with their attributes, and the contents of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def parse_page(html: str) -> Tags:
    """Return the tags of a page."""
    tags = Tags()
    tags.feed(html)
    return tags


def assert_markup_is_ours(html: str, *, data_scripts: int) -> None:
    """Assert that no text became markup: tags, links, attributes and scripts are those of the templates."""
    found = parse_page(html)
    types = [attributes.get("type") for tag, attributes in found.tags if tag == "script"]
    assert types == ["application/json"] * data_scripts + [None]
    assert not {"img", "iframe", "object", "base"} & {tag for tag, _ in found.tags}
    links = [attributes.get("href") or "" for tag, attributes in found.tags if tag in ("a", "link")]
    assert [link for link in links if not link.startswith(("#", "data:,"))] == []
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on") or name == "style"]
    assert not set("\u202e\x1b") & set(html)
