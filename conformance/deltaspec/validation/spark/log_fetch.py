"""Files of the log as bytes by Spark's own `binaryFile` source, for executors that have no other way to the table.

Works on Spark Connect as well. What Spark's file index hides, and what fits into no row, has its reason beside it.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

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
"""What still fits into a row of Spark; its own limit of 2 GiB less a byte leaves no room for the rest of the row."""
BATCH_BYTES = 16 << 20
"""Size at which a batch for Python is closed: it holds one file more than fit, and one file at least."""
BATCH_ROWS = 256
_BATCH_BYTES_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
_PLAIN = re.compile(r"[A-Za-z0-9._\-]+")
_BEFORE_THE_PATH = "^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?"


@dataclass(frozen=True)
class Fetch:
    """Files of the log that Spark brings as rows, and those that it cannot."""

    frame: "DataFrame"
    """`name string, content binary`, a row for each of `asked` that could be read when its turn came, in no order."""
    asked: frozenset[str]
    """Names that `frame` has a row of; where one has none in the end, `find_missing_reason` tells why."""
    empty: frozenset[str]
    """Names of files without content, which Spark's file index passes over."""
    faults: dict[str, StorageError]
    """Why each of the others is not fetched."""


def fetch(spark: "SparkSession", uri: str, wanted: Mapping[str, int], limit: int = LARGEST_BYTES) -> Fetch:
    """Plan to read files of the log as bytes. Run the job within `limit_batch_bytes`.

    The content of no other file is read. A file that is gone by then, or that cannot be read, has no row, and the job
    goes on; but HDFS refusing one, or having lost a block of it, ends the job: `find_failed_file` names it.

    Args:
        spark: a session of either kind.
        uri: of the table, as `build_hadoop_uri` takes it.
        wanted: names relative to `_delta_log` with lengths in bytes, as listed.
        limit: files of more bytes are left out, also of those that grow.
    """
    faults: dict[str, StorageError] = {}
    folders: dict[str, list[str]] = defaultdict(list)
    limit = min(limit, LARGEST_BYTES)
    for name, size in wanted.items():
        if is_hidden(name):
            faults[name] = StorageError(f"{LOG_DIRECTORY}/{name}: Spark's file index hides files of such names")
        elif size > limit:
            faults[name] = FileTooLarge(
                f"{LOG_DIRECTORY}/{name}: {size} bytes, more than the {limit} that are read at once"
            )
        elif size > 0:
            folders[posixpath.dirname(name)].append(name)
    frames = []
    for folder, names in folders.items():
        try:
            frame = _files(spark, uri, folder, skips=True)
            frames.append(_contents(frame.where(_named(names)), uri, folder, limit))
        except Exception as fault:  # noqa: BLE001 - whatever Spark or the client of the storage says
            faults.update((name, _fault_of(name, fault)) for name in names)
    return Fetch(
        frame=reduce(_union, frames) if frames else spark.range(0).selectExpr("'' AS name", "X'' AS content"),
        asked=frozenset(name for names in folders.values() for name in names) - faults.keys(),
        empty=frozenset(name for name, size in wanted.items() if size == 0 and name not in faults),
        faults=faults,
    )


def list_log(spark: "SparkSession", uri: str) -> list[Entry]:
    """What Spark shows of the log directory, by name, where nothing else can list it.

    Files without content and names that `hidden` tells of are not among them, though they may be there.

    Raises:
        TableUnreadable: Spark does not find or reach the directory.
    """
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    found = []
    for folder in ("", *LISTED_FOLDERS):
        try:
            frame = _files(spark, uri, folder)
            facts = frame.select(
                _name(uri, folder).alias("name"), "length", F.unix_millis("modificationTime").alias("modified_ms")
            )
            found += [Entry(*row) for row in facts.where("name IS NOT NULL").collect()]
        except Exception as fault:  # noqa: BLE001 - whatever Spark or the client of the storage says
            said = _fault_of(folder, fault)
            if not isinstance(said, FileGone):
                raise TableUnreadable(f"{redact_uri(uri)}: {LOG_DIRECTORY} cannot be listed: {said}") from None
            if not folder:
                raise TableUnreadable(
                    f"{redact_uri(uri)}: holds no {LOG_DIRECTORY}; name the directory that does"
                ) from None
    return sorted(found, key=lambda entry: entry.name)


def is_hidden(name: str) -> bool:
    """Whether Spark's file index passes a file over for its name, also where it is asked for by its whole path."""
    last = posixpath.basename(name)
    return last.startswith(".") or (last.startswith("_") and "=" not in last) or last.endswith("._COPYING_")


def find_missing_reason(spark: "SparkSession", uri: str, name: str) -> StorageError:
    """Why a name of `Fetch.asked` has no row: asked for alone, by a job that may fail. Gone is what is not listed."""
    try:
        frame = _files(spark, uri, posixpath.dirname(name)).where(_named([name]))
        listed = bool(frame.select("path").collect())
    except Exception as fault:  # noqa: BLE001 - whatever Spark or the client of the storage says
        return _fault_of(name, fault)
    if not listed and name.isascii():
        return FileGone(f"{LOG_DIRECTORY}/{name}: is not there")
    if not listed:  # a JVM in a locale without the letters lists no such name of a local directory
        return StorageError(f"{LOG_DIRECTORY}/{name}: Spark's file index does not show it")
    try:
        frame.selectExpr("length(content)").collect()
    except Exception as fault:  # noqa: BLE001 - whatever Spark or the client of the storage says
        said = _fault_of(name, fault)
        return (
            said
            if not isinstance(said, FileGone)
            else StorageError(f"{LOG_DIRECTORY}/{name}: is listed and cannot be opened")
        )
    return StorageError(f"{LOG_DIRECTORY}/{name}: Spark gave nothing of it, and did when it was asked again")


def find_failed_file(fault: BaseException, names: Collection[str]) -> str | None:
    """Which of the names Spark says it was reading when a job failed; a job without it may go on."""
    for place in re.findall(r"error while reading file (\S+)", str(fault)):
        path = unquote(place.removesuffix("."))
        for name in names:
            if path.endswith(f"/{LOG_DIRECTORY}/{name}"):
                return name
    return None


@contextmanager
def limit_batch_bytes(spark: "SparkSession") -> Iterator[None]:
    """Settings of a session, for a while, under which no batch for Python holds much more than one large file.

    Spark reads them when a job starts, and not when its frame is made. One that knows no limit in bytes sends files one
    by one.
    """
    before: dict[str, str | None] = {}
    for key in (_BATCH_BYTES_SETTING, _BATCH_ROWS_SETTING):
        with suppress(Exception):  # each version says in its own way that it has no such setting
            spark.conf.get(key)
            before[key] = spark.conf.get(key, None)  # None where it has its default
    rows = BATCH_ROWS if _BATCH_BYTES_SETTING in before else 1
    values = {_BATCH_BYTES_SETTING: str(BATCH_BYTES), _BATCH_ROWS_SETTING: str(rows)}
    try:
        for key in before:
            spark.conf.set(key, values[key])
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def build_hadoop_uri(uri: str) -> str:
    """Return a table's URI with the escapes that Hadoop expects; Hadoop decodes nothing.

    A path without a scheme is one of Spark's default file system and stays as it is.
    """
    if re.match(r"file:/", uri, re.IGNORECASE):
        return "file:" + unquote(urlsplit(uri).path)
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return uri
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{'gs' if scheme.lower() == 'gcs' else scheme}://{unquote(rest)}"


def _files(spark: "SparkSession", uri: str, folder: str, *, skips: bool = False) -> "DataFrame":
    """Every file that Spark shows below a folder of the log; reads nothing yet but the listing.

    Args:
        skips: pass over what is gone or cannot be read, once its turn comes; else the job fails, whatever the session's
            settings are.

    Raises:
        Exception: whatever Spark says of a folder that is not there or cannot be listed.
    """
    place = f"{build_hadoop_uri(uri).rstrip('/')}/{LOG_DIRECTORY}" + (f"/{folder}" if folder else "")
    options = dict.fromkeys(("ignoreMissingFiles", "ignoreCorruptFiles"), str(skips).lower())
    if place.startswith(("file:", "/")):
        # The usual file system for local paths checks hidden `.crc` files, which say nothing of the table. Another one
        # is only taken where none is kept from before.
        options |= {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
    # Spark takes brackets and braces of a path for a pattern unless told; a folder `a=b` below is no partition
    reader = spark.read.format("binaryFile").options(__globPaths__="false", recursiveFileLookup="true", **options)
    frame = reader.load(place)
    frame.schema  # noqa: B018 - Connect looks for the folder only when something is asked
    return frame


def _contents(frame: "DataFrame", uri: str, folder: str, limit: int) -> "DataFrame":
    named = frame.where(f"length <= {limit}").select(_name(uri, folder).alias("name"), "content")
    return named.where("name IS NOT NULL")


def _named(names: Iterable[str]) -> "Column":
    """Whether a file has one of the names, told before any is opened. Spark knows names in the escapes of a URI."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    plain, odd = [], []
    for name in map(posixpath.basename, names):
        if _PLAIN.fullmatch(name):
            plain.append(f"'{name}'")
        else:
            odd.append(f"cast(X'{name.encode('utf-8', 'surrogateescape').hex()}' AS STRING)")
    # as text, since a literal of its own takes a call each: 20 seconds for 20,000 names
    either = [f"_metadata.file_name IN ({', '.join(plain)})"] if plain else []
    if odd:
        either.append(f"url_decode(replace(_metadata.file_name, '+', '%2B')) IN ({', '.join(odd)})")
    return F.expr(" OR ".join(either))


def _name(uri: str, folder: str) -> "Column":
    """The name of a file relative to the log, or null where it lies in a folder below the one that was listed."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    path = F.regexp_replace("path", _BEFORE_THE_PATH, "")
    last = F.substring_index("path", "/", -1)
    below = f"{folder}/" if folder else ""
    root = re.sub(_BEFORE_THE_PATH, "", build_hadoop_uri(uri))
    if root and not root.startswith("/"):
        is_in_folder = F.endswith(path, F.concat(F.lit(f"/{LOG_DIRECTORY}/{below}"), last))
    else:
        place = posixpath.normpath(f"/{root.strip('/')}/{LOG_DIRECTORY}/{folder}").rstrip("/")
        is_in_folder = path == F.concat(F.lit(f"{re.sub('/+', '/', place)}/"), last)
    return F.when(is_in_folder, F.concat(F.lit(below), last))


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)


def _fault_of(name: str, fault: Exception) -> StorageError:
    """The exception of ours that a failure of Spark over one file or folder of the log comes to."""
    path = f"{LOG_DIRECTORY}/{name}".rstrip("/")
    lines = str(fault).splitlines() or [type(fault).__name__]
    said = [line for line in lines if line.startswith("Caused by: ")] or lines
    if any(re.search(r"AccessControlException|AccessDeniedException|\(Permission denied\)$", line) for line in said):
        return NoPermission(f"{path}: no permission to read")
    if any(re.search(r"\[(FAILED_READ_FILE\.FILE_NOT_EXIST|PATH_NOT_FOUND)\]", line) for line in lines[:2]):
        return FileGone(f"{path}: is not there")
    return StorageError(f"{path}: {describe_error(OSError(said[-1].removeprefix('Caused by: ')))}")
