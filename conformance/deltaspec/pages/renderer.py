"""Render a page: one file that loads nothing, and in which only the script of the page can run.

Everything from tables and engines is escaped twice: Jinja escapes markup, and the filter `plain` makes control and
bidirectional characters visible. The content security policy names the hash of the script and of the style sheet.
"""

import base64
import hashlib
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.report.text import count, escape_text, size


def require_jinja() -> None:
    """Raise `InvalidUsage` if Jinja is not installed."""
    if find_spec("jinja2") is None:
        raise InvalidUsage(f"HTML needs Jinja: {build_install_command('html')}")


def render_page(name: str, **values: Any) -> str:
    """Render the template `NAME.html.jinja` with the script `NAME.js`.

    Args:
        name: the page.
        values: variables of the template.

    Raises:
        InvalidUsage: Jinja is not installed.
    """
    require_jinja()
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deltaspec.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(plain=escape_text, codes=_mark_codes, count=count, size=size)
    style, script = _read("page.css"), _read("page.js") + _read(f"{name}.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    template = environment.get_template(f"{name}.html.jinja")
    return template.render(policy=policy, style=Markup(style), script=Markup(script), **values)


def _mark_codes(text: str) -> Any:
    """Escape a text and wrap the parts between backticks in `<code>`."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in escape_text(text).split("`")]
    if len(parts) % 2 == 0:
        return escape(escape_text(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _read(name: str) -> str:
    return (files("deltaspec.pages") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
