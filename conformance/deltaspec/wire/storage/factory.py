"""Choose the storage client for a table's path or URI."""

import re
from urllib.parse import unquote

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.arrow import ArrowStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store, redact_uri, split_uri
from deltaspec.wire.storage.local import LocalStore
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://|(file):/", re.IGNORECASE)
_OBJECT_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl")
_KNOWN = ", ".join(("file", "hdfs", *_OBJECT_SCHEMES))


def is_local(uri: str) -> bool:
    """Return whether a table's path or URI is on the disk of this machine."""
    return _SCHEME.match(uri) is None or split_uri(uri).scheme == "file"


def open_store(uri: str, settings: StorageSettings = ENVIRONMENT) -> Store:
    """Open a table's storage; nothing is read yet.

    Args:
        uri: a path, or a URI of scheme file, s3, s3a, gs, gcs, az, azure, abfs, abfss, adl, hdfs or viewfs.
        settings: credentials, regions and endpoints of object stores, also for files outside of the table.

    Raises:
        InvalidUsage: the URI is empty or malformed, its scheme is not supported, or its client has no such setting.
        TableUnreadable: the storage client rejects the URI.
    """
    if not uri:
        raise InvalidUsage(f"no table is named; name the directory that contains {LOG_DIRECTORY}")
    if _SCHEME.match(uri) is None:
        return LocalStore(uri, settings)
    parts = split_uri(uri)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise InvalidUsage(f"{redact_uri(uri)}: a file URI names no host; write file:///path")
        return LocalStore(unquote(parts.path), settings)
    if parts.scheme in _OBJECT_SCHEMES:
        return ObjectStore(uri, settings)
    if parts.scheme in ("hdfs", "viewfs"):
        return ArrowStore(uri, settings)
    raise InvalidUsage(f"{redact_uri(uri)}: no storage for scheme {parts.scheme!r}; choose from {_KNOWN}")
