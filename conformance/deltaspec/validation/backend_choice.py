"""Choose the backend: the one that the user names, or the one that is faster for what a run would read."""

import re
from typing import Literal, get_args

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.report.estimate import Amount, Estimate, sum_amounts
from deltaspec.report.text import size

Backend = Literal["embedded", "spark", "auto"]
_BY_NAME: dict[str, Backend] = {each: each for each in get_args(Backend)}

MAX_EMBEDDED_LOG_BYTES = 512 << 20
"""Log size up to which the embedded backend is chosen: about four million files in checkpoints. For more, it needs
gigabytes of memory, and more time than starting a Spark session."""
MAX_EMBEDDED_REQUESTS = 200_000
"""Number of footers and deletion vectors. One process reads about a thousand per second from an object store."""
MAX_EMBEDDED_ROW_BYTES = 20 << 30
"""Size of data. One process decodes about 100 MB per second, so this much takes minutes."""
_MASTER = re.compile(r"local(\[[^\]]+\])?|local-cluster\[[^\]]+\]|yarn|(spark|k8s|sc)://.+")


class RequestedBackend(msgspec.Struct, frozen=True):
    """The backend that the user named."""

    backend: Backend
    master: str | None = None
    """Spark master; None for the one in the configuration of Spark, or else this machine."""


class BackendChoice(msgspec.Struct, frozen=True):
    """The chosen backend, and why."""

    backend: Literal["embedded", "spark"]
    reason: str


def is_master(text: str) -> bool:
    """Return whether a string is a Spark master: local[*], spark://…, yarn, k8s://…, or sc://… for Connect."""
    return _MASTER.fullmatch(text) is not None


def parse_backend(text: str) -> RequestedBackend:
    """Parse `embedded`, `auto`, `spark` or `spark=MASTER`.

    Raises:
        InvalidUsage: it is none of these.
    """
    if text in _BY_NAME:
        return RequestedBackend(_BY_NAME[text])
    backend, _, master = text.partition("=")
    if backend != "spark":
        raise InvalidUsage(f"invalid backend {text!r}; choose from embedded, spark[=MASTER], auto")
    check_master(master)
    return RequestedBackend("spark", master)


def check_master(master: str) -> None:
    """Raise `InvalidUsage` if a string is not a Spark master."""
    if not is_master(master):
        raise InvalidUsage(
            f"invalid Spark master {master!r}; examples are local[*], spark://host:7077, yarn, k8s://host, sc://host"
        )


def choose_backend(estimate: Estimate, level: str, spark_missing: str | None) -> BackendChoice:
    """Choose the embedded backend for small tables, and Spark for large ones if it is available.

    Args:
        estimate: what a run would read.
        level: of the run.
        spark_missing: why Spark cannot be started; None if it can.
    """
    excess = _describe_excess(estimate, level)
    if excess is None:
        return BackendChoice("embedded", f"{_log_size(estimate)} of log to read, {_live_files(estimate)}")
    if spark_missing is not None:
        return BackendChoice("embedded", f"Spark would be faster ({excess}), but {spark_missing}")
    return BackendChoice("spark", excess)


def _describe_excess(estimate: Estimate, level: str) -> str | None:
    """Describe what is too much for one process; None if nothing is."""
    log, *others = estimate.up_to(level)
    read = _likely(log.bytes)
    if read > MAX_EMBEDDED_LOG_BYTES:
        return f"{size(read)} of log to read, more than {size(MAX_EMBEDDED_LOG_BYTES)}"
    requests = sum(_likely(each.requests) for part in others if part.level != "rows" for each in part.reads)
    if requests > MAX_EMBEDDED_REQUESTS:
        return f"{requests:,} requests for footers and deletion vectors, more than {MAX_EMBEDDED_REQUESTS:,}"
    rows = _likely(sum_amounts(part.bytes for part in others if part.level == "rows"))
    if rows > MAX_EMBEDDED_ROW_BYTES:
        return f"{size(rows)} of data to read, more than {size(MAX_EMBEDDED_ROW_BYTES)}"
    return None


def _likely(amount: Amount) -> int:
    return amount.at_least if amount.about is None else amount.about


def _log_size(estimate: Estimate) -> str:
    return size(_likely(estimate.levels[0].bytes))


def _live_files(estimate: Estimate) -> str:
    files = estimate.live_files
    return f"{'' if files.is_exact else 'about '}{_likely(files):,} live files"
