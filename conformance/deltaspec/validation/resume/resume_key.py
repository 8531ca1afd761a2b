"""The key of a resume state: everything that determines the report of a run and the format of its state."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
import polars as pl

from deltaspec.errors import InvalidUsage
from deltaspec.validation.acceptance import Acceptance
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.version import __version__
from deltaspec.wire.storage.interface import Store, escape_file_name

STATE_FORMAT = 6
"""Format number of a state. Increase it if the content or the encoding of a state changes within a release."""
Key = dict[str, Any]
"""JSON values by the name that messages use."""
BUCKET_COUNT = "the number of buckets"
_LISTING, _CLOCK = "the listing of the log", "the clock"


def build_key(
    options: Options, store: Store, plan: Plan, backend: str, buckets: int | list[int], acceptance: Acceptance | None
) -> Key:
    """Build the key of a run.

    Args:
        options: of the run.
        store: the table.
        plan: of the run.
        backend: name of the backend, with the way it reads the table.
        buckets: number of buckets, or several such numbers.
        acceptance: what the user accepts; None for nothing.
    """
    return {
        "the format of the state": STATE_FORMAT,
        "the release of deltaspec": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "polars": pl.__version__,  # its hash assigns rows to buckets
        "the backend": backend,
        BUCKET_COUNT: buckets,
        "the table": store.uri,
        "the revision": str(options.revision),
        "the level": options.level,
        "the version": options.at if isinstance(options.at, int | None) else str(options.at),
        "the history": options.history,
        _CLOCK: options.clock_ms,
        "the selection of rules": list(options.selection.selected),
        "the number of samples": options.samples,
        "--accept-unchecked": sorted(options.accept_unchecked),
        "--allow-outside": options.allow_outside,
        "--confirm": options.confirm,
        "--hints": options.hints,
        "--writer-time-zone": options.writer_time_zone,
        "--baseline": None if options.baseline is None else escape_file_name(options.baseline),
        "the set of accepted findings": None if acceptance is None else _list_accepted(acceptance),
        "--since": None if options.since is None else options.since.version,
        "--catalog-commits": None if options.ratified is None else _compute_digest(options.ratified),
        _LISTING: _compute_listing_digest(plan),
    }


def _list_accepted(acceptance: Acceptance) -> list[Any]:
    digest = _compute_digest(sorted((name, each.count) for name, each in acceptance.known.items()))
    return [*(msgspec.to_builtins(each) for each in acceptance.entries), digest]


def _compute_listing_digest(plan: Plan) -> str:
    listed = sorted((each.name, each.size_bytes, each.modified_ms) for each in (*plan.entries.values(), *plan.ignored))
    return _compute_digest(listed)


def _compute_digest(value: Any) -> str:
    return sha256(msgspec.json.encode(value)).hexdigest()


def to_bytes(key: Key) -> bytes:
    """Encode a key as the file of a state contains it."""
    return msgspec.json.format(msgspec.json.encode(key), indent=1)


def check_key(place: str, saved: bytes, expected: Key) -> None:
    """Check that a state belongs to this run.

    Args:
        place: location of the state, for the message.
        saved: key of the state.
        expected: key of this run.

    Raises:
        InvalidUsage: the keys differ, or the saved one cannot be decoded. The message names the parts that differ.
    """
    try:
        found = msgspec.json.decode(saved, type=dict[str, Any])
    except msgspec.DecodeError as fault:
        raise InvalidUsage(f"{place}: contains no state that this release can read; name another directory") from fault
    differences = [_describe(part, found, expected) for part in expected if found.get(part) != expected[part]]
    if differences:
        raise InvalidUsage(
            f"{place}: contains the state of another run: {'; '.join(differences)}; name another directory"
        )


def _describe(part: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    if part == _LISTING:
        return "the log has changed since the state was saved"
    if not all(isinstance(each.get(part), str | int | None) for each in (found, expected)):
        return f"{part} differs"
    saved, current = (_format(part, each.get(part)) for each in (found, expected))
    return f"{part} is {saved} in the state and {current} now"


def _format(part: str, value: Any) -> str:
    if value is None:
        return "not given"
    if part == _CLOCK:
        with suppress(OverflowError, TypeError):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
            return moment.isoformat(timespec="milliseconds")
    return str(value)
