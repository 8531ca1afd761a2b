"""How deltaspec was installed: from which checkout, and how to add an extra to it."""

import json
import shlex
from functools import cache
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

GOLDEN_TABLES = "golden-tables"
"""Directory of a checkout that an installed package does not have."""


@cache
def find_checkout() -> Path | None:
    """Return the checkout that contains this module, or from which pip installed it; None if there is none any more.

    Source: `direct_url.json` (PEP 610), which pip writes for `pip install DIRECTORY`.
    """
    own = get_own_checkout()
    if own is not None:
        return own
    try:
        text = metadata.distribution("deltaspec").read_text("direct_url.json")
        url = urlsplit(str(json.loads(text or "{}").get("url", "")))
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return None
    directory = Path(unquote(url.path))
    return directory if url.scheme == "file" and (directory / GOLDEN_TABLES).is_dir() else None


def get_own_checkout() -> Path | None:
    """Return the checkout that contains this module; None for a copy in site-packages."""
    root = Path(__file__).parents[2]
    return root if (root / GOLDEN_TABLES).is_dir() else None


def build_install_command(extra: str) -> str:
    """Return the shell command that adds an extra to this installation."""
    checkout = find_checkout()
    if checkout is None:
        return f"pip install {shlex.quote(f'deltaspec[{extra}]')}"
    editable = "-e " if get_own_checkout() else ""
    return f"pip install {editable}{shlex.quote(f'{checkout}[{extra}]')}"


def build_nox_command(session: str) -> str:
    """Return the shell command that runs a session of nox, which only a checkout has."""
    checkout = find_checkout()
    prefix = "in a checkout of deltaspec: " if checkout is None else f"cd {shlex.quote(str(checkout))} && "
    return f"{prefix}nox -s {session}"
