"""Identify the build: two installations of one release may have different sources."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from deltaspec.version import __version__

_SOURCES = (".py", ".toml", ".json")


@cache
def describe_build() -> str:
    """Return release and hash of the sources, such as `1.0.0 (build 8ff5f03c)`; also for packages in a zip file."""
    digest = hashlib.sha256()
    for name, content in _iter_sources(files("deltaspec"), ""):
        digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return f"{__version__} (build {digest.hexdigest()[:8]})"


def _iter_sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            yield from _iter_sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SOURCES):
            yield prefix + entry.name, entry.read_bytes()
