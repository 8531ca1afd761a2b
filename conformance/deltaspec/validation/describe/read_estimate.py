"""What a run would read of a table, told by the pinned listing and by two small files of the log.

Of the log the listing tells the bytes exactly; only of large Parquet checkpoints it does not, since which parts of them
are asked for depends on their row groups and columns. Of the data files a version checksum or the checkpoint hint tells
the number, or else the length of the log does, as a guess that is called one. Nothing else is opened.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from deltaspec import __version__
from deltaspec.model.log.file_names import (
    ChecksumName,
    SidecarName,
    StagedCommit,
    checksum_name,
    commit_name,
    compaction_name,
    parse_log_file_name,
)
from deltaspec.model.log.last_checkpoint import LastCheckpoint
from deltaspec.model.log.segment import Checkpoint
from deltaspec.model.log.version_checksum import VersionChecksum
from deltaspec.model.revisions import Revision
from deltaspec.report.estimate import ESTIMATE_VERSION, Amount, Estimate, LevelReads, Reads, exact_amount
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.plan import Plan, build_plan, parse_history
from deltaspec.views.log.derived_file_rows import read_checksum
from deltaspec.wire.parquet.file_opener import LARGE_FILE_BYTES
from deltaspec.wire.parquet.footer_reader import TAIL_BYTES as FOOTER_BYTES
from deltaspec.wire.storage.block_reader import TAIL_BYTES
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store

LISTING_PAGE_SIZE = 1000
"""Names that one request for a listing gives."""
SMALL_FILE_BYTES = 16 << 20
"""Longest version checksum and hint that is opened for an estimate."""
_PARQUET_BYTES_A_FILE, _JSON_BYTES_A_FILE = 120, 540
"""Of the log for each data file, in checkpoints and in commits: of files with statistics of five columns."""
_LISTED = "listed"
_BY_FOOTERS = "which parts are asked for, and how often, their footers tell"
_GUESS = f"a guess by the length of the log, {_PARQUET_BYTES_A_FILE} or {_JSON_BYTES_A_FILE} bytes a file"
_NO_CHECKSUM = "no version checksum tells"
_PASSES = "further passes over live files: one each for SQL conditions, identity columns, variants and row tracking"
_AGAIN = "checkpoints once more, where they have statistics as columns alone"
_CHANGE_DATA = "change data files of the judged commits"


def estimate_table(
    uri: str, *, at: int | None = None, history: str | int = "latest", revision: str = "current"
) -> Estimate:
    """What runs of each level would read of a table.

    Args:
        uri: path or URI of the table's root.
        at, history, revision: as `validate_table` takes them.

    Raises:
        InvalidUsage: an option that has no such value, no such version.
        TableUnreadable: there is no table.
    """
    looked = parse_history(history)
    store = open_store(uri)
    plan = build_plan(store.uri, load_pinned_listing(store), at=at, history=looked)
    return estimate(store, plan, history=looked, revision=revision)


def estimate(store: Store, plan: Plan, *, history: str = "latest", revision: str = "current") -> Estimate:
    """What runs by a plan would read; opens a version checksum and the checkpoint hint, where they are there."""
    live = _live_files(store, plan)
    return Estimate(
        estimate_version=ESTIMATE_VERSION,
        deltaspec=__version__,
        table=store.uri,
        version=plan.version,
        history=history,
        revision=revision,
        live_files=live.files,
        live_bytes=live.bytes,
        live_source=live.source,
        levels=[
            LevelReads(level="log", reads=list(_log(plan, Revision(revision))), not_known=[]),
            _files(plan, live),
            _footers(live),
            _rows(live),
        ],
    )


# the log


def _log(plan: Plan, revision: Revision) -> Iterator[Reads]:
    pages = -(-len(plan.entries) // LISTING_PAGE_SIZE)
    source = f"{len(plan.entries):,} names listed, {LISTING_PAGE_SIZE:,} a request"
    yield Reads(
        what="log listing", files=exact_amount(0), requests=exact_amount(pages), bytes=exact_amount(0), source=source
    )
    checkpoints = [*([plan.base] if plan.base else []), *plan.compared_checkpoints]
    parts = [name for each in checkpoints for name in each.files]
    yield from _whole("commits", plan, map(commit_name, plan.commits))
    yield from _whole("JSON checkpoints", plan, (name for name in parts if name.endswith(".json")))
    yield from _parquet("checkpoints", [plan.sizes[name] for name in parts if not name.endswith(".json")], opened=2)
    yield from _sidecars(plan, checkpoints)
    if revision.since(Revision.R3):
        yield from _whole("compactions", plan, (compaction_name(each.start, each.end) for each in plan.compactions))
    yield from _whole("version checksums", plan, map(checksum_name, plan.checksums))
    yield from _whole("checkpoint hint", plan, ["_last_checkpoint"] if plan.has_hint else [])
    yield from _staged(plan)


def _whole(what: str, plan: Plan, names: Iterable[str]) -> Iterator[Reads]:
    """Files that are read as a whole, by one request each."""
    sizes = [plan.sizes[name] for name in names]
    if sizes:
        number, length = exact_amount(len(sizes)), exact_amount(sum(sizes))
        yield Reads(what=what, files=number, requests=number, bytes=length, source=_LISTED)


def _parquet(what: str, sizes: list[int], *, opened: int) -> Iterator[Reads]:
    """Parquet files of actions, each opened so many times."""
    if sizes:
        requests, length = _parquet_cost(sizes, opened)
        told = _LISTED if length.is_exact else f"{sum(sizes):,} bytes listed; {_BY_FOOTERS}"
        yield Reads(what=what, files=exact_amount(len(sizes)), requests=requests, bytes=length, source=told)


def _parquet_cost(sizes: list[int], opened: int) -> tuple[Amount, Amount]:
    """Requests and bytes: what the end of a file, which opening it gives, holds is not asked for again."""
    requests, length = opened * len(sizes), opened * sum(min(each, TAIL_BYTES) for each in sizes)
    large = [each for each in sizes if each > TAIL_BYTES]
    if not large:
        return exact_amount(requests), exact_amount(length)
    # measured with checkpoints of 250,000 and 1,000,000 files: a pass over a row group costs a block of 1 MiB or more
    likely_requests = sum(3 + min(each >> 20, 5) + (each >> 20) // 3 for each in large)
    likely_bytes = sum(min(3 * each, each + each // 7 + (4 << 20)) for each in large)
    return Amount(requests + likely_requests, requests), Amount(length + likely_bytes, length)


def _sidecars(plan: Plan, checkpoints: list[Checkpoint]) -> Iterator[Reads]:
    """Which sidecars a checkpoint names stands in it; writers make them just before it, and for it alone."""
    listed = [each for name, each in plan.entries.items() if isinstance(parse_log_file_name(name), SidecarName)]
    may_name = [each for each in checkpoints if each.naming != "multipart"]
    if not listed or not may_name:
        return
    made = sorted(
        (max(plan.entries[name].modified_ms for name in each.files), each.files) for each in plan.all_checkpoints
    )
    chosen = {each.files for each in may_name}
    likely = []
    for sidecar in listed:
        after = min(bisect_left(made, (sidecar.modified_ms, ())), len(made) - 1)
        if made[after][1] in chosen:
            likely.append(sidecar.size_bytes)
    requests, length = _parquet_cost(likely, 1)
    times = len(may_name)
    most_requests, most_bytes = _parquet_cost([each.size_bytes for each in listed] * times, 1)
    yield Reads(
        what="sidecars",
        files=Amount(len(likely), 0, times * len(listed)),
        requests=Amount(requests.about, 0, most_requests.at_most),
        bytes=Amount(length.about, 0, most_bytes.at_most),
        source=f"{len(listed):,} listed; which of them are named the checkpoints tell, taken by their times",
    )


def _staged(plan: Plan) -> Iterator[Reads]:
    """Each staged commit, and the published commit of its version once more, if a catalog manages the table."""
    staged = [each for name, each in plan.entries.items() if isinstance(parse_log_file_name(name), StagedCommit)]
    names = (
        commit_name(found.version)
        for each in staged
        if isinstance(found := parse_log_file_name(each.name), StagedCommit)
    )
    again = [plan.sizes[name] for name in names if name in plan.entries]
    if staged:
        files, length = len(staged) + len(again), sum(each.size_bytes for each in staged) + sum(again)
        yield Reads(
            what="staged commits",
            files=Amount(len(staged), 0, len(staged)),
            requests=Amount(files, 0, files),
            bytes=Amount(length, 0, length),
            source="listed; read if the protocol has catalogManaged",
        )


# data files


@dataclass(frozen=True)
class _Live:
    """What is known of the data files of the judged version."""

    files: Amount
    bytes: Amount
    source: str
    vectors: Amount
    vectors_source: str


def _live_files(store: Store, plan: Plan) -> _Live:
    """By the newest version checksum or by the hint, whichever is of a later version; else by the length of the log."""
    checksum, hint = _newest_checksum(store, plan), _hint(store, plan)
    if checksum is not None and (hint is None or checksum[0] >= hint.version):
        version, claim = checksum
        return _by_checksum(plan, version, claim)
    vectors = Amount(None)
    if hint is not None and hint.num_of_add_files is not None:
        source = f"numOfAddFiles of _last_checkpoint, version {hint.version}{_behind(plan, hint.version)}"
        return _Live(Amount(hint.num_of_add_files), Amount(None), source, vectors, _NO_CHECKSUM)
    return _Live(Amount(_guessed_files(plan)), Amount(None), _GUESS, vectors, _NO_CHECKSUM)


def _by_checksum(plan: Plan, version: int, claim: VersionChecksum) -> _Live:
    source = f"version checksum {version}{_behind(plan, version)}"
    of_this = exact_amount if version == plan.version else Amount
    vectors = claim.num_deletion_vectors_opt
    if vectors is None and "deletionVectors" not in (claim.protocol.reader_features or []):
        vectors = 0
    return _Live(
        of_this(max(claim.num_files, 0)),
        of_this(max(claim.table_size_bytes, 0)),
        source,
        Amount(None) if vectors is None else Amount(vectors, 0, vectors if version == plan.version else None),
        f"{source} says nothing of them" if vectors is None else source,
    )


def _newest_checksum(store: Store, plan: Plan) -> tuple[int, VersionChecksum] | None:
    found = [name.version for name in map(parse_log_file_name, plan.entries) if isinstance(name, ChecksumName)]
    version = max((each for each in found if each <= plan.version), default=None)
    data = None if version is None else _small_file(store, plan, checksum_name(version))
    claim = None if data is None else read_checksum(data)[0]
    return None if claim is None or version is None else (version, claim)


def _hint(store: Store, plan: Plan) -> LastCheckpoint | None:
    """The checkpoint hint, if it is of a version up to the judged one and says how many files that has."""
    data = _small_file(store, plan, "_last_checkpoint")
    try:
        hint = None if data is None else msgspec.json.decode(data, type=LastCheckpoint)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    usable = hint is not None and 0 <= hint.version <= plan.version and (hint.num_of_add_files or 0) >= 0
    return hint if usable else None


def _small_file(store: Store, plan: Plan, name: str) -> bytes | None:
    if not 0 < plan.sizes.get(name, 0) <= SMALL_FILE_BYTES:
        return None
    try:
        return store.read(f"{LOG_DIRECTORY}/{name}", SMALL_FILE_BYTES)
    except StorageError:
        return None


def _behind(plan: Plan, version: int) -> str:
    return "" if version == plan.version else f", {plan.version - version:,} before the judged version"


def _guessed_files(plan: Plan) -> int:
    """By the length of the newest checkpoint with its sidecars, and of the commits after it."""
    usable = [each for each in plan.all_checkpoints if each.version <= plan.version]
    newest = usable[-1] if usable else None
    start = -1 if newest is None else newest.version
    commits = sum(plan.sizes[commit_name(each)] for each in plan.commits if each > start)
    parquet = 0
    if newest is not None:
        sidecars = [each for reads in _sidecars(plan, [newest]) if (each := reads.bytes.about) is not None]
        parquet = sum(plan.sizes[name] for name in newest.files) + sum(sidecars)
    return commits // _JSON_BYTES_A_FILE + parquet // _PARQUET_BYTES_A_FILE


def _files(plan: Plan, live: _Live) -> LevelReads:
    names = len(plan.entries)
    files = live.files.about
    pages = None if files is None else -(-(files + names) // LISTING_PAGE_SIZE)
    least = -(-(live.files.at_least + names) // LISTING_PAGE_SIZE)
    listing = Reads(
        what="table listing",
        files=exact_amount(0),
        requests=Amount(pages, least),
        bytes=exact_amount(0),
        source=f"live files and the log, {LISTING_PAGE_SIZE:,} names a request",
    )
    most = live.vectors.at_most
    vectors = Reads(
        what="deletion vectors",
        files=Amount(live.vectors.about, 0, most),
        requests=Amount(live.vectors.about, 0, None if most is None else 3 * most),
        bytes=Amount(0, 0, 0) if most == 0 else Amount(None),
        source=live.vectors_source,
    )
    return LevelReads(
        level="files",
        reads=[listing, vectors],
        not_known=["removed and foreign files below the table, which are listed along"],
    )


def _footers(live: _Live) -> LevelReads:
    files, length = live.files, live.bytes
    ends = None if files.about is None else files.about * FOOTER_BYTES
    about = ends if ends is None or length.about is None else min(ends, length.about)
    footers = Reads(
        what="footers",
        files=files,
        requests=Amount(files.about, 0, None if files.at_most is None else 2 * files.at_most),
        bytes=Amount(about, 0, None if length.at_most is None else 2 * length.at_most),
        source=f"one request for the last {FOOTER_BYTES >> 10} KiB of each live file; a longer footer costs another",
    )
    # not even the least is known: files that a clone names elsewhere are opened with leave alone
    return LevelReads(level="footers", reads=[footers], not_known=[_CHANGE_DATA])


def _rows(live: _Live) -> LevelReads:
    files, length = live.files.about, live.bytes.about
    requests, read = None, None
    if files is not None and length is not None:
        mean = length // max(files, 1)
        requests = files if mean <= TAIL_BYTES else 2 * files
        requests += files * (mean >> 20) if mean > LARGE_FILE_BYTES else 0
        read = length if mean <= TAIL_BYTES else length + files * TAIL_BYTES
    rows = Reads(
        what="rows",
        files=live.files,
        requests=Amount(requests),
        bytes=Amount(read),
        source="live files read whole, as if all were of one length",
    )
    return LevelReads(
        level="rows",
        reads=[rows],
        not_known=[
            _CHANGE_DATA,
            _PASSES,
            _AGAIN,
        ],
    )
