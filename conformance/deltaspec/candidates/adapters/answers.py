"""Exceptions of engines as categories of the candidate protocol, and helpers that adapters share."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from deltaspec.candidates.messages import ErrorCategory, Phase
from deltaspec.candidates.serve import EngineError

ErrorTable: TypeAlias = Sequence[tuple[str, ErrorCategory]]
"""Regular expressions over `ExceptionName: message` and their categories; the first match decides. The group `features`
holds the names of table features."""

KERNEL_ERRORS: ErrorTable = (
    (r"Feature '(?P<features>[\w-]+)' is not supported", "unsupported"),
    (r"Max catalog version is required|requires max_catalog_version", "unsupported"),
    (r"Unsupported Delta table type|Unsupported: ", "unsupported"),
    (r"LogSegment end version \d+ not the same|Requested version .* does not exist", "not-found"),
    (r"No files in log segment|Invalid table location: Path does not exist", "not-found"),
    (r"found gap|No (table metadata|protocol)|Invalid protocol action|[Jj]son error|JSON", "corrupt"),
    (r"Deletion Vector error|File not found|[Pp]arquet error|Invalid Parquet|Requested range was invalid", "corrupt"),
    (r"EOF: file size of \d+ is less than footer", "corrupt"),
    (r"Object at location .* not found", "corrupt"),
    (r"Object [Ss]tore error", "io"),
)
"""Messages of kernel-rs and its default engine, which several engines use."""
KERNEL_READER_FEATURES = (
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
)
"""Reader features of the engines that read tables with kernel-rs."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_FRAME = re.compile(r"\s+(at |\.\.\. \d+ )|Driver stacktrace:")
"""A line of a Java stack trace with a location and no message; Spark quotes traces in its messages."""


@contextmanager
def translate_errors(errors: ErrorTable, phase: Phase) -> Iterator[None]:
    """Raise exceptions of an engine as `EngineError`; an exception that no entry matches is internal."""
    try:
        yield
    except (EngineError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of native code do not derive from Exception
        native, message = type(error).__name__, str(error)
        category, features = find_category(errors, f"{native}: {message}")
        shown = show_causes(message) if native == "Py4JJavaError" else message
        raise EngineError(category, shown, phase=phase, features=features, native=native) from error


def show_causes(trace: str) -> str:
    """Return the messages of a Java stack trace without its frames, the deepest cause first."""
    causes: list[list[str]] = []
    for line in trace.splitlines():
        if line.startswith(("Caused by: ", ": ")):
            causes.append([line.partition(": ")[2]])
        elif causes and line.strip() and not _FRAME.match(line):
            causes[-1].append(line.strip())
    found = dict.fromkeys(" ".join(lines) for lines in reversed(causes))
    return "; passed on as ".join(found) or trace


def find_category(errors: ErrorTable, text: str) -> tuple[ErrorCategory, tuple[str, ...]]:
    """Return category and features of an error."""
    for pattern, category in errors:
        if match := re.search(pattern, text, re.DOTALL):
            return category, tuple(re.findall(r"[\w-]+", match.groupdict().get("features") or ""))
    return "internal", ()


def refuse_operation(message: str, phase: Phase) -> EngineError:
    """Return the error for something that an engine does not offer."""
    return EngineError("unsupported", message, code="operation", phase=phase)


def to_datetime(timestamp_ms: int) -> datetime:
    """Convert milliseconds since the epoch, exactly."""
    return _EPOCH + timedelta(milliseconds=timestamp_ms)
