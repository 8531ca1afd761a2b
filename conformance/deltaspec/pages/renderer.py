"""Render a page: one file that loads nothing, and in which only the script of the page can run.

Everything from tables and engines is escaped twice over: Jinja escapes markup, and the filter `plain` makes control and
bidirectional characters visible. The content security policy names the hash of the script and of the style sheet.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.report.text import count, escape_text, size

INSTALL = "HTML needs Jinja: pip install 'deltaspec[html]'"


def render_page(name: str, **values: Any) -> str:
    """Render the template `NAME.html.jinja` with the script `NAME.js`.

    Args:
        name: the page.
        values: variables of the template.

    Raises:
        InvalidUsage: Jinja is not installed.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise InvalidUsage(INSTALL) from None

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deltaspec.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=escape_text, count=count, size=size)
    style, script = _read("page.css"), _read("page.js") + _read(f"{name}.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = environment.get_template(f"{name}.html.jinja")
    return template.render(policy=policy, style=Markup(style), script=Markup(script), **values)


def _read(name: str) -> str:
    return (files("deltaspec.pages") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
