"""What a kept state goes for: all that the answer of a run, or the form that its state is kept in, depends on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
import polars as pl

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.validation.options import Asked
from deltaspec.validation.plan import Plan
from deltaspec.wire.storage.interface import Store

STATE_FORMAT = 1
"""Of a state: raised when what is kept, or how, changes within a release."""
Key = dict[str, Any]
"""By words for messages; values of JSON."""
BUCKET_COUNT = "the number of shares"
_LISTING, _CLOCK = "the listing of the log", "the clock"


def build_key(asked: Asked, store: Store, plan: Plan, engine: str, buckets: int) -> Key:
    """The key of a run.

    Args:
        asked: its options.
        store: the table.
        plan: made of the pinned listing.
        engine: that looks at the table.
        shares: over how many its files are spread.
    """
    return {
        "the form of the state": STATE_FORMAT,
        "the release of deltaspec": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "polars": pl.__version__,  # its hash deals rows to shares
        "the engine": engine,
        BUCKET_COUNT: buckets,
        "the table": store.uri,
        "the revision": str(asked.revision),
        "the level": asked.level,
        "the version": asked.at,
        "the history": asked.history,
        _CLOCK: asked.clock,
        "the selection of rules": asked.wanted,
        "the number of samples": asked.samples,
        "what is accepted unchecked": sorted(asked.accept_unchecked),
        "leave to follow paths out of the table": asked.allow_outside,
        _LISTING: _digest_of(plan),
    }


def _digest_of(plan: Plan) -> str:
    listed = sorted((each.name, each.size_bytes, each.modified_ms) for each in plan.entries.values())
    return sha256(msgspec.json.encode(listed)).hexdigest()


def to_bytes(key: Key) -> bytes:
    """As a file holds it."""
    return msgspec.json.format(msgspec.json.encode(key), indent=1)


def check_key(place: str, kept: bytes, mine: Key) -> None:
    """Refuse a state of another run.

    Args:
        place: where it is kept, for the message.
        kept: its key.
        mine: the key of the run that would go on with it.

    Raises:
        InvalidUsage: it is no key, or another one; says which parts differ.
    """
    try:
        theirs = msgspec.json.decode(kept, type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise InvalidUsage(f"{place}: holds no state that this deltaspec knows; name another directory") from fault
    told = [_told(part, theirs, mine) for part in mine if theirs.get(part) != mine[part]]
    if told:
        raise InvalidUsage(f"{place}: holds the state of another run: {'; '.join(told)}; name another directory")


def _told(part: str, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    if part == _LISTING:
        return "the log was written to since, and a state goes for one listing of it"
    if not all(isinstance(each.get(part), str | int | None) for each in (theirs, mine)):
        return f"{part} is another one"
    there, here = (_value(part, each.get(part)) for each in (theirs, mine))
    return f"{part} is {there} there and {here} here"


def _value(part: str, value: Any) -> str:
    if value is None:
        return "not given"
    if part == _CLOCK:
        with suppress(OverflowError, TypeError):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
            return moment.isoformat(timespec="milliseconds")
    return str(value)
