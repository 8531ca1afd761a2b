"""Checks of `deltaspec doctor`: installed packages, engines to test, and access to a table from this process."""

import platform
import re
from collections.abc import Iterator
from importlib import metadata

from deltaspec import __version__
from deltaspec.errors import DeltaspecError
from deltaspec.installation import build_install_command
from deltaspec.report.diagnosis import Check

_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_NAME = re.compile(r"[\w.-]+")
_USER_EXTRAS = ("spark", "deltalake")
"""Extras for users; the others are for developers of the kit."""


def check_installation(table: str | None = None) -> Iterator[Check]:
    """Check the installed packages, the engines that can be tested and, optionally, access to a table.

    Args:
        table: path or URI of a table's root; None for no table.
    """
    yield Check("ok", "deltaspec", __version__)
    yield Check("ok", "Python", f"{platform.python_version()} on {platform.platform(terse=True)}")
    required, extras = get_requirements()
    for name in required:
        version = get_installed_version(name)
        if version is None:
            yield Check("problem", name, "is not installed", f"pip install {name}")
        else:
            yield Check("ok", name, version)
    for extra, names in extras.items():
        versions = {name: get_installed_version(name) for name in names}
        is_missing = None in versions.values()
        summary = ", ".join(f"{name} {version or 'is not installed'}" for name, version in versions.items())
        fix = build_install_command(extra) if is_missing else None
        yield Check("note" if is_missing else "ok", f"extra {extra}", summary, fix)
    yield from check_candidates()
    if table is not None:
        yield check_table_access(table)


def check_candidates() -> Iterator[Check]:
    """Check which engines can be tested here. The kit ships their adapters, but not the engines."""
    from deltaspec.candidates.registry import list_adapters

    for adapter, reason in list_adapters():
        name = f"candidate {adapter.name}"
        if reason is None:
            yield Check("ok", name, f"{adapter.engine} can be tested")
        else:
            yield Check("note", name, f"{adapter.engine} cannot be tested: {reason}", adapter.install)


def get_requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return the names of required packages, sorted, and the packages of each user extra."""
    required: list[str] = []
    extras: dict[str, list[str]] = {name: [] for name in _USER_EXTRAS}
    for each in metadata.requires("deltaspec") or []:
        name, extra = _NAME.match(each), _EXTRA.search(each)
        if name is None:
            continue
        if extra is None:
            required.append(name[0])
        elif extra[1] in extras:
            extras[extra[1]].append(name[0])
    return sorted(required), extras


def get_installed_version(name: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check_table_access(table: str) -> Check:
    """Check that this process can list the log of a table."""
    from deltaspec.wire.storage.factory import open_store

    try:
        store = open_store(table)
        number = len(store.list_log())
    except DeltaspecError as fault:
        return Check("problem", "table", str(fault))
    return Check("ok", "table", f"this process can read it; its log has {number:,} files")
