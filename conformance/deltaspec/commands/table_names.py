"""Names of tables in the paths of files: `{table}` stands for a name that no other table has."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import unquote

from deltaspec.errors import InvalidUsage

PLACEHOLDER = "{table}"
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")
_SAME_SCHEMES = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "azure": "az"}
_NAME_CHARACTERS = 80
_HASH_DIGITS = 12
_EXTENSIONS = {"text": "txt", "junit": "xml", "markdown": "md", "github": "txt"}


def normalize_location(location: str) -> str:
    """Return the location that names a table in every run: an absolute path, a decoded URI, or a name in a catalog."""
    from deltaspec.validation.spark.catalog import is_catalog_name
    from deltaspec.wire.storage.factory import is_local
    from deltaspec.wire.storage.interface import decode_file_uri, redact_uri

    if is_catalog_name(location):
        return location
    if is_local(location):
        path = decode_file_uri(location) if location.lower().startswith("file:/") else location
        return os.path.abspath(path)
    scheme, _, rest = unquote(redact_uri(location)).partition("://")
    return f"{_SAME_SCHEMES.get(scheme.lower(), scheme.lower())}://{re.sub('/+', '/', rest).rstrip('/')}"


def build_table_name(location: str) -> str:
    """Return the name of a table in paths: the last folders of its location, and a hash of the location.

    It is the same in every run and does not depend on the other tables of the run.
    """
    normalized = normalize_location(location)
    readable = ".".join(normalized.split("/")[-2:]).strip(".")
    readable = _UNSAFE.sub("_", readable)[-_NAME_CHARACTERS:].lstrip(".-") or "table"
    digest = sha256(normalized.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{readable}-{digest[:_HASH_DIGITS]}"


def expand_report(text: str, names: Sequence[str]) -> list[str]:
    """Return the value of `--report` for each table.

    Args:
        text: `FORMAT:PATH`. A path that is a directory, or ends with `/`, gets a file for each table.
        names: names of the tables.

    Raises:
        InvalidUsage: the reports of several tables would be written to one file.
    """
    output_format, _, path = text.partition(":")
    if path.endswith("/") or (PLACEHOLDER not in path and os.path.isdir(path)):
        path = os.path.join(path, f"{PLACEHOLDER}.{_EXTENSIONS.get(output_format, output_format)}")
    if PLACEHOLDER not in path:
        raise InvalidUsage(
            f"--report {text}: names one file for several tables; "
            f"write a path with {PLACEHOLDER}, or a directory with / at its end"
        )
    return [f"{output_format}:{path.replace(PLACEHOLDER, name)}" for name in names]


def expand_path(option: str, path: str, names: Sequence[str]) -> list[str]:
    """Return the path of an option for each table.

    Raises:
        InvalidUsage: it is the same for all.
    """
    if PLACEHOLDER not in path:
        raise InvalidUsage(f"{option} {path}: names one place for several tables; write a path with {PLACEHOLDER}")
    return [path.replace(PLACEHOLDER, name) for name in names]
