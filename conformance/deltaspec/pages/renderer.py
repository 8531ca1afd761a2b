"""Render a page: one file that loads nothing, or a page of a site that loads its style sheet and scripts from the site.

Only these scripts can run.

Everything from tables and engines is escaped twice: Jinja escapes markup, and the filter `plain` makes control and
bidirectional characters visible. The content security policy names the hash of the script and of the style sheet.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import chain
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.report.text import count, escape_text, size


def require_jinja() -> None:
    """Raise `InvalidUsage` if Jinja is not installed."""
    if find_spec("jinja2") is None:
        raise InvalidUsage(f"HTML needs Jinja: {build_install_command('html')}")


STYLES = "page.css"
SHARED_SCRIPT = "page.js"


def render_page(name: str, *, assets: str | None = None, **values: Any) -> str:
    """Render the template `NAME.html.jinja` with the script `NAME.js`, if there is one.

    Args:
        name: the page.
        assets: path of the folder with the files of `list_assets`, relative to the page, with a slash at its end; None
            for a page that contains its style sheet and scripts.
        values: variables of the template.

    Raises:
        InvalidUsage: Jinja is not installed.
    """
    require_jinja()
    from markupsafe import Markup

    if assets is None:
        style, script = _read(STYLES), "".join(map(_read, _list_scripts(name)))
        style_source, script_source = f"'{_hash(style)}'", f"'{_hash(script)}'"
        shell = {"style": Markup(style), "script": Markup(script), "scripts": []}
    else:
        # `self` does not include files of a folder in every browser, and `file:` includes nothing on a server
        style_source = script_source = "'self' file:"
        shell = {"style": "", "script": "", "scripts": [f"{assets}{each}" for each in _list_scripts(name)]}
    policy = (
        f"default-src 'none'; style-src {style_source}; script-src {script_source}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _open_environment().get_template(f"{name}.html.jinja")
    rendered: str = template.render(policy=policy, assets=assets, **shell, **values)
    return rendered


def list_assets(pages: Iterable[str]) -> dict[str, bytes]:
    """Return the style sheet and the scripts of pages of a site, by name."""
    names = {STYLES, *chain.from_iterable(map(_list_scripts, pages))}
    return {name: _read(name).encode() for name in sorted(names)}


@cache
def _open_environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deltaspec.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=escape_text, codes=_mark_codes, count=count, size=size)
    return environment


def _list_scripts(name: str) -> list[str]:
    own = f"{name}.js"
    return [SHARED_SCRIPT, own] if (files("deltaspec.pages") / "templates" / own).is_file() else [SHARED_SCRIPT]


def _mark_codes(text: str) -> Any:
    """Escape a text and wrap the parts between backticks in `<code>`."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in escape_text(text).split("`")]
    if len(parts) % 2 == 0:
        return escape(escape_text(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


@cache
def _read(name: str) -> str:
    return (files("deltaspec.pages") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
