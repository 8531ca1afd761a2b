"""Read log files as bytes with Spark's `binaryFile` source, for executors that cannot read the table otherwise.

This also works on Spark Connect. Files that Spark hides or that do not fit into a row are returned with a reason.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.interface import (
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    FileGone,
    FileTooLarge,
    NoPermission,
    StorageError,
    redact_uri,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

LARGEST_BYTES = (1 << 31) - (1 << 20)
"""Largest content that fits into a Spark row. Spark's limit of 2 GiB - 1 leaves no space for the rest of the row."""
BATCH_BYTES = 16 << 20
"""Size after which Spark closes a batch for Python. A batch contains at least one file."""
BATCH_ROWS = 256
_BATCH_BYTES_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
_IGNORE_METADATA_SETTING = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
_PLAIN = re.compile(r"[A-Za-z0-9._\-]+")
_SCHEME_AND_HOST = "^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?"


class Fetch(msgspec.Struct, frozen=True):
    """Log files that Spark reads as rows, and those that it cannot read."""

    frame: "DataFrame"
    """`name string, content binary`, unordered: one row for each of `requested` that is readable when the job runs."""
    requested: frozenset[str]
    """Names that `frame` should have a row for. If a row is missing, `find_missing_reason` returns why."""
    empty: frozenset[str]
    """Names of empty files, which Spark's file index skips."""
    faults: dict[str, StorageError]
    """Why each of the other files is not fetched."""


def fetch(spark: "SparkSession", uri: str, wanted: Mapping[str, int], limit: int = LARGEST_BYTES) -> Fetch:
    """Plan to read log files as bytes. Run the job with the settings of `list_settings`.

    No other file is read. A file that is missing or unreadable when the job runs has no row. If HDFS denies access or
    has lost a block, the whole job fails.

    Args:
        spark: a classic or Connect session.
        uri: URI of the table, as in `build_hadoop_uri`.
        wanted: names relative to `_delta_log`, with the listed lengths in bytes.
        limit: files of more bytes are not read, even if they were shorter when listed.
    """
    faults: dict[str, StorageError] = {}
    folders: dict[str, list[str]] = defaultdict(list)
    limit = min(limit, LARGEST_BYTES)
    for name, size in wanted.items():
        if is_hidden(name):
            faults[name] = StorageError(f"{LOG_DIRECTORY}/{name}: Spark does not list files with such names")
        elif size > limit:
            faults[name] = FileTooLarge(f"{LOG_DIRECTORY}/{name}: {size} bytes, more than the limit of {limit} bytes")
        elif size > 0:
            folders[posixpath.dirname(name)].append(name)
    frames = []
    for folder, names in folders.items():
        try:
            frame = _list_files(spark, uri, folder, skip_unreadable=True)
            frames.append(_contents(frame.where(_has_name(names)), uri, folder, limit))
        except Exception as fault:  # noqa: BLE001 - any error of Spark or its storage client
            faults.update((name, _translate_error(name, fault)) for name in names)
    return Fetch(
        frame=reduce(_union, frames) if frames else spark.range(0).selectExpr("'' AS name", "X'' AS content"),
        requested=frozenset(name for names in folders.values() for name in names) - faults.keys(),
        empty=frozenset(name for name, size in wanted.items() if size == 0 and name not in faults),
        faults=faults,
    )


def list_log(spark: "SparkSession", uri: str) -> list[Entry]:
    """List the log directory with Spark, sorted by name.

    Empty files and names for which `is_hidden` is true are missing from the listing, even if they exist.

    Raises:
        TableUnreadable: Spark cannot find or list the directory.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    found = []
    for folder in ("", *LISTED_FOLDERS):
        try:
            frame = _list_files(spark, uri, folder)
            facts = frame.select(
                _relative_name(uri, folder).alias("name"),
                "length",
                F.unix_millis("modificationTime").alias("modified_ms"),
            )
            found += [Entry(*row) for row in facts.where("name IS NOT NULL").collect()]
        except Exception as fault:  # noqa: BLE001 - any error of Spark or its storage client
            error = _translate_error(folder, fault)
            if not isinstance(error, FileGone):
                raise TableUnreadable(f"{redact_uri(uri)}: {LOG_DIRECTORY} cannot be listed: {error}") from None
            if not folder:
                raise TableUnreadable(
                    f"{redact_uri(uri)}: has no {LOG_DIRECTORY} directory; pass the root directory of the table"
                ) from None
    return sorted(found, key=lambda entry: entry.name)


def is_hidden(name: str) -> bool:
    """Return whether Spark's file index skips a file because of its name, even if its full path is given."""
    last = posixpath.basename(name)
    return last.startswith(".") or (last.startswith("_") and "=" not in last) or last.endswith("._COPYING_")


def find_missing_reason(spark: "SparkSession", uri: str, name: str) -> StorageError:
    """Return why a name of `Fetch.requested` has no row, by reading it in a separate job that may fail.

    A file that is no longer listed is `FileGone`.
    """
    try:
        frame = _list_files(spark, uri, posixpath.dirname(name)).where(_has_name([name]))
        listed = bool(frame.select("path").collect())
    except Exception as fault:  # noqa: BLE001 - any error of Spark or its storage client
        return _translate_error(name, fault)
    if not listed and name.isascii():
        return FileGone(f"{LOG_DIRECTORY}/{name}: does not exist")
    if not listed:  # a JVM skips local names that its locale cannot encode
        return StorageError(f"{LOG_DIRECTORY}/{name}: Spark's file index does not list it")
    try:
        frame.selectExpr("length(content)").collect()
    except Exception as fault:  # noqa: BLE001 - any error of Spark or its storage client
        error = _translate_error(name, fault)
        return (
            error
            if not isinstance(error, FileGone)
            else StorageError(f"{LOG_DIRECTORY}/{name}: is listed but cannot be opened")
        )
    return StorageError(f"{LOG_DIRECTORY}/{name}: Spark returned no content, but did so in a second job")


def list_settings(spark: "SparkSession") -> dict[str, str]:
    """Return the settings of the session that reads.

    They limit batches for Python to little more than one large file; if the version has no limit in bytes, each batch
    has one file. Directories are listed even if a `_spark_metadata` inside names other files.
    """
    listed = {_IGNORE_METADATA_SETTING: "true"}
    try:
        spark.conf.get(_BATCH_BYTES_SETTING)
    except Exception:  # noqa: BLE001 - the error for an unknown setting depends on the version
        return listed | {_BATCH_ROWS_SETTING: "1"}
    return listed | {_BATCH_BYTES_SETTING: str(BATCH_BYTES), _BATCH_ROWS_SETTING: str(BATCH_ROWS)}


def build_hadoop_uri(uri: str) -> str:
    """Return a table's URI with the escapes that Hadoop expects; Hadoop decodes nothing.

    A path without a scheme refers to Spark's default file system and is returned unchanged.
    """
    if re.match(r"file:/", uri, re.IGNORECASE):
        return "file:" + unquote(urlsplit(uri).path)
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return uri
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{'gs' if scheme.lower() == 'gcs' else scheme}://{unquote(rest)}"


def _list_files(spark: "SparkSession", uri: str, folder: str, *, skip_unreadable: bool = False) -> "DataFrame":
    """Return a frame of all files that Spark lists below a folder of the log. No content is read yet.

    Args:
        skip_unreadable: skip missing and unreadable files when the job runs; otherwise they fail the job, whatever the
            session's settings are.

    Raises:
        Exception: the folder does not exist or cannot be listed; the class depends on Spark.
    """
    directory = f"{build_hadoop_uri(uri).rstrip('/')}/{LOG_DIRECTORY}" + (f"/{folder}" if folder else "")
    options = dict.fromkeys(("ignoreMissingFiles", "ignoreCorruptFiles"), str(skip_unreadable).lower())
    if directory.startswith(("file:", "/")):
        # The default local file system verifies hidden `.crc` files, which are not part of the table. Spark uses
        # another one only if its cache is disabled.
        options |= {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
    # brackets and braces in a path are no glob pattern, and a folder `a=b` is no partition
    reader = spark.read.format("binaryFile").options(__globPaths__="false", recursiveFileLookup="true", **options)
    frame = reader.load(directory)
    frame.schema  # noqa: B018 - Connect resolves the folder lazily
    return frame


def _contents(frame: "DataFrame", uri: str, folder: str, limit: int) -> "DataFrame":
    named = frame.where(f"length <= {limit}").select(_relative_name(uri, folder).alias("name"), "content")
    return named.where("name IS NOT NULL")


def _has_name(names: Iterable[str]) -> "Column":
    """Filter by file name before any file is opened. Spark's `file_name` is percent-encoded."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    plain, odd = [], []
    for name in map(posixpath.basename, names):
        if _PLAIN.fullmatch(name):
            plain.append(f"'{name}'")
        else:
            odd.append(f"cast(X'{name.encode('utf-8', 'surrogateescape').hex()}' AS STRING)")
    # one SQL string: a literal per name takes a call each, 20 s for 20,000 names
    alternatives = [f"_metadata.file_name IN ({', '.join(plain)})"] if plain else []
    if odd:
        alternatives.append(f"url_decode(replace(_metadata.file_name, '+', '%2B')) IN ({', '.join(odd)})")
    return F.expr(" OR ".join(alternatives))


def _relative_name(uri: str, folder: str) -> "Column":
    """Return a file's name relative to the log, or null if it is in a subfolder of the listed folder."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    path = F.regexp_replace("path", _SCHEME_AND_HOST, "")
    last = F.substring_index("path", "/", -1)
    below = f"{folder}/" if folder else ""
    root = re.sub(_SCHEME_AND_HOST, "", build_hadoop_uri(uri))
    if root and not root.startswith("/"):
        is_in_folder = F.endswith(path, F.concat(F.lit(f"/{LOG_DIRECTORY}/{below}"), last))
    else:
        directory = posixpath.normpath(f"/{root.strip('/')}/{LOG_DIRECTORY}/{folder}").rstrip("/")
        is_in_folder = path == F.concat(F.lit(f"{re.sub('/+', '/', directory)}/"), last)
    return F.when(is_in_folder, F.concat(F.lit(below), last))


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)


def _translate_error(name: str, fault: Exception) -> StorageError:
    """Translate an error of Spark about one file or folder of the log into a `StorageError`."""
    path = f"{LOG_DIRECTORY}/{name}".rstrip("/")
    lines = str(fault).splitlines() or [type(fault).__name__]
    causes = [line for line in lines if line.startswith("Caused by: ")] or lines
    if any(re.search(r"AccessControlException|AccessDeniedException|\(Permission denied\)$", line) for line in causes):
        return NoPermission(f"{path}: no permission to read")
    if any(re.search(r"\[(FAILED_READ_FILE\.FILE_NOT_EXIST|PATH_NOT_FOUND)\]", line) for line in lines[:2]):
        return FileGone(f"{path}: does not exist")
    return StorageError(f"{path}: {describe_error(OSError(causes[-1].removeprefix('Caused by: ')))}")
