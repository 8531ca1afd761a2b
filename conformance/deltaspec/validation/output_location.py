"""Where a run may write: nowhere in a table."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")


def require_outside_table(place: str, table_root: str | None) -> None:
    """Refuse a file or directory that lies in the judged table, or in another one of this machine.

    Args:
        place: path or URI.
        table_root: decoded path or URI of the judged table, as a store has it.

    Raises:
        InvalidUsage: it does.
    """
    local = _local(place)
    if local is None:
        root = (table_root or "").rstrip("/") + "/"
        inside = root != "/" and (unquote(posixpath.normpath(_split(place))) + "/").startswith(_split(root))
    else:
        path = Path(os.path.realpath(local))
        inside = (
            any((parent / LOG_DIRECTORY).is_dir() for parent in (path, *path.parents)) or LOG_DIRECTORY in path.parts
        )
    if inside:
        raise InvalidUsage(f"{place}: lies in a table, where nothing is written; name another place")


def _local(place: str) -> str | None:
    if not _SCHEME.match(place):
        return place
    parts = urlsplit(place)
    return unquote(parts.path) if parts.scheme.lower() == "file" else None


def _split(uri: str) -> str:
    """A URI without the names that one store has several of."""
    scheme, _, rest = uri.partition("://")
    return {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}.get(scheme.lower(), scheme.lower()) + ":/" + rest
