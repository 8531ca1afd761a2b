"""Choose the storage client for a table's path or URI."""

import re
from urllib.parse import SplitResult

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store, decode_file_uri, redact_uri, split_uri
from deltaspec.wire.storage.local import LocalStore
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+)://|(file):/", re.IGNORECASE)
OBJECT_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl")
_ARROW_SCHEMES = ("hdfs", "viewfs")
_KNOWN = ", ".join(("file", "hdfs", *OBJECT_SCHEMES))


def is_uri(location: str) -> bool:
    """Return whether a location is a URI and not a path."""
    return _SCHEME.match(location) is not None


def is_local(uri: str) -> bool:
    """Return whether a table's path or URI is on the disk of this machine."""
    return not is_uri(uri) or split_uri(uri).scheme == "file"


def open_store(uri: str, settings: StorageSettings = ENVIRONMENT) -> Store:
    """Open a table's storage; nothing is read yet.

    Args:
        uri: a path, or a URI of scheme file, s3, s3a, gs, gcs, az, azure, abfs, abfss, adl, hdfs or viewfs.
        settings: credentials, regions and endpoints of object stores, also for files outside of the table.

    Raises:
        InvalidUsage: the URI is empty or malformed, its scheme is not supported, or its client has no such setting.
        TableUnreadable: the storage client rejects the URI.
    """
    parts = split_supported_uri(uri)
    if parts is None:
        return LocalStore(uri, settings)
    if parts.scheme == "file":
        return LocalStore(decode_file_uri(uri), settings)
    if parts.scheme in OBJECT_SCHEMES:
        from deltaspec.wire.storage.object_store import ObjectStore

        return ObjectStore(uri, settings)
    from deltaspec.wire.storage.arrow import ArrowStore

    return ArrowStore(uri, settings)


def split_supported_uri(uri: str) -> SplitResult | None:
    """Return the parts of a URI; None for a path.

    Raises:
        InvalidUsage: the URI is empty or malformed, or its scheme is not supported.
    """
    if not uri:
        raise InvalidUsage(f"no table is named; name the directory that contains {LOG_DIRECTORY}")
    if not is_uri(uri):
        return None
    parts = split_uri(uri)
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise InvalidUsage(f"{redact_uri(uri)}: a file URI names no host; write file:///path")
    if parts.scheme not in ("file", *OBJECT_SCHEMES, *_ARROW_SCHEMES):
        raise InvalidUsage(f"{redact_uri(uri)}: no storage for scheme {parts.scheme!r}; choose from {_KNOWN}")
    if parts.scheme in OBJECT_SCHEMES and not parts.netloc:
        raise InvalidUsage(f"{redact_uri(uri)}: names no bucket; write {parts.scheme}://bucket/path")
    return parts
