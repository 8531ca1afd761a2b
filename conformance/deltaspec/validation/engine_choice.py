"""Which engine judges a table: the one asked for, or by what a run would read the one that is done sooner."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from deltaspec.errors import InvalidUsage
from deltaspec.report.estimate import Amount, Estimate, sum_amounts
from deltaspec.report.text import size

Engine = Literal["embedded", "spark", "auto"]
_BY_NAME: dict[str, Engine] = {each: each for each in get_args(Engine)}

MAX_EMBEDDED_LOG_BYTES = 512 << 20
"""Of log: some four million files in checkpoints. By then the embedded engine takes as long as a session of Spark
takes to come up, and gigabytes of memory."""
MAX_EMBEDDED_REQUESTS = 200_000
"""Footers and deletion vectors. From an object store a process reads some thousand a second."""
MAX_EMBEDDED_ROW_BYTES = 20 << 30
"""Of data. A process decodes some 100 MB a second, so that these take it minutes."""
_MASTER = re.compile(r"local(\[[^\]]+\])?|local-cluster\[[^\]]+\]|yarn|(spark|k8s|sc)://.+")


@dataclass(frozen=True)
class RequestedEngine:
    """The engine that a user asked for."""

    engine: Engine
    master: str | None = None
    """Of Spark; None for the one that its own configuration names, or this machine."""


@dataclass(frozen=True)
class EngineChoice:
    """The engine that is taken, and why."""

    engine: Literal["embedded", "spark"]
    reason: str


def is_master(text: str) -> bool:
    """Whether a text names a master of Spark: `local[*]`, `spark://…`, `yarn`, `k8s://…`, or `sc://…` for Connect."""
    return _MASTER.fullmatch(text) is not None


def parse_engine(text: str) -> RequestedEngine:
    """`embedded`, `auto`, `spark` or `spark=MASTER`.

    Raises:
        InvalidUsage: it is none of these.
    """
    if text in _BY_NAME:
        return RequestedEngine(_BY_NAME[text])
    engine, _, master = text.partition("=")
    if engine != "spark":
        raise InvalidUsage(f"there is no engine {text!r}; there is: embedded, spark[=MASTER], auto")
    check_master(master)
    return RequestedEngine("spark", master)


def check_master(master: str) -> None:
    """Raises `InvalidUsage` where a text names no master of Spark."""
    if not is_master(master):
        raise InvalidUsage(
            f"{master!r} is no master of Spark; such are local[*], spark://host:7077, yarn, k8s://host, sc://host"
        )


def choose_engine(estimate: Estimate, level: str, spark_missing: str | None) -> EngineChoice:
    """The embedded engine for tables that it is done with soon, Spark for larger ones if it is there.

    Args:
        estimate: what a run would read.
        level: of the run.
        spark_missing: why Spark cannot be started here; None where it can.
    """
    heavy = _too_much(estimate, level)
    if heavy is None:
        return EngineChoice("embedded", f"{_log_bytes(estimate)} of log to read, {_told(estimate)}")
    if spark_missing is not None:
        return EngineChoice("embedded", f"{heavy} would be for Spark, but {spark_missing}")
    return EngineChoice("spark", heavy)


def _too_much(estimate: Estimate, level: str) -> str | None:
    """What of a run is more than one process does soon; None where nothing is."""
    log, *others = estimate.up_to(level)
    read = _likely(log.bytes)
    if read > MAX_EMBEDDED_LOG_BYTES:
        return f"{size(read)} of log to read, more than {size(MAX_EMBEDDED_LOG_BYTES)}"
    requests = sum(_likely(each.requests) for part in others if part.level != "rows" for each in part.reads)
    if requests > MAX_EMBEDDED_REQUESTS:
        return f"{requests:,} requests for what lies beside the log, more than {MAX_EMBEDDED_REQUESTS:,}"
    rows = _likely(sum_amounts(part.bytes for part in others if part.level == "rows"))
    if rows > MAX_EMBEDDED_ROW_BYTES:
        return f"{size(rows)} of data to read, more than {size(MAX_EMBEDDED_ROW_BYTES)}"
    return None


def _likely(amount: Amount) -> int:
    return amount.at_least if amount.about is None else amount.about


def _log_bytes(estimate: Estimate) -> str:
    return size(_likely(estimate.levels[0].bytes))


def _told(estimate: Estimate) -> str:
    files = estimate.live_files
    return f"{'' if files.is_exact else 'about '}{_likely(files):,} live files"
