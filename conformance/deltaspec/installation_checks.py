"""`deltaspec doctor`: what is installed, and whether it is all that a run needs."""

import platform
import re
from collections.abc import Iterator
from importlib import metadata

from deltaspec import __version__
from deltaspec.errors import DeltaspecError
from deltaspec.report.diagnosis import Check

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_NAME = re.compile(r"[\w.-]+")
_FOR_ALL = ("spark", "deltalake")
"""Extras that users may want; the others are for those who work on the project."""


def check_installation(table: str | None = None) -> Iterator[Check]:
    """The packages that are installed, and whether a table can be reached.

    Args:
        table: path or URI of a table's root.
    """
    yield Check("ok", "deltaspec", __version__)
    yield Check("ok", "Python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    needed, extras = requirements()
    for name in needed:
        version = installed(name)
        if version is None:
            yield Check("problem", name, "is not installed", f"pip install {name}")
        else:
            yield Check("ok", name, version)
    for extra, names in extras.items():
        found = {name: installed(name) for name in names}
        lacking = [name for name, version in found.items() if version is None]
        told = ", ".join(f"{name} {version or 'is not installed'}" for name, version in found.items())
        todo = f"pip install 'deltaspec[{extra}]'" if lacking else None
        yield Check("note" if lacking else "ok", f"extra {extra}", told, todo)
    if table is not None:
        yield reach(table)


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Names of the packages that deltaspec needs, and of those of its extras for users."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {name: [] for name in _FOR_ALL}
    for each in metadata.requires("deltaspec") or []:
        name, extra = _NAME.match(each), _EXTRA.search(each)
        if name is None:
            continue
        if extra is None:
            needed.append(name[0])
        elif extra[1] in extras:
            extras[extra[1]].append(name[0])
    return sorted(needed), extras


def installed(name: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def reach(table: str) -> Check:
    """Whether the storage of this process lists the log of a table."""
    from deltaspec.wire.storage.factory import open_store

    try:
        store = open_store(table)
        number = len(store.list_log())
    except DeltaspecError as fault:
        return Check("problem", "table", str(fault))
    return Check("ok", "table", f"{number:,} files of its log are listed from here")
