"""Check where a run may write: never into a table."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import LOG_DIRECTORY, decode_file_uri

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")


def require_outside_table(place: str, table_root: str | None) -> None:
    """Check that a file or directory is neither in the validated table nor in another table on this machine.

    Args:
        place: path or URI.
        table_root: decoded path or URI of the validated table, from its store.

    Raises:
        InvalidUsage: it is in a table.
    """
    local = _get_local_path(place)
    if local is None:
        root = (table_root or "").rstrip("/") + "/"
        inside = root != "/" and (unquote(posixpath.normpath(normalize_scheme(place))) + "/").startswith(
            normalize_scheme(root)
        )
    else:
        path = Path(os.path.realpath(local))
        inside = (
            any((parent / LOG_DIRECTORY).is_dir() for parent in (path, *path.parents)) or LOG_DIRECTORY in path.parts
        )
    if inside:
        raise InvalidUsage(f"{place}: is in a table, where deltaspec does not write; name another location")


def _get_local_path(place: str) -> str | None:
    if not _SCHEME.match(place):
        return place
    parts = urlsplit(place)
    return decode_file_uri(place) if parts.scheme.lower() == "file" else None


def normalize_scheme(uri: str) -> str:
    """Return a URI with a canonical scheme, because several schemes name the same store."""
    scheme, _, rest = uri.partition("://")
    return {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}.get(scheme.lower(), scheme.lower()) + ":/" + rest
