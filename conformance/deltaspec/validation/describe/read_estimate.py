"""Estimate what a run would read, from the pinned listing and two small files of the log.

- Log: the listing gives exact sizes. Large Parquet checkpoints are an estimate, because how much of them is read
  depends on their row groups and columns.
- Data files: a version checksum or `_last_checkpoint` gives their number. Without either, the size of the log gives a
  guess, and the report labels it as a guess.

Nothing else is opened, except by `read_time` if the time is estimated too.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from deltaspec.protocol.log.file_names import (
    ChecksumName,
    SidecarName,
    StagedCommit,
    checksum_name,
    commit_name,
    compaction_name,
    parse_log_file_name,
)
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.protocol.revisions import Revision
from deltaspec.report.estimate import ESTIMATE_VERSION, Amount, Estimate, LevelReads, Reads, exact_amount
from deltaspec.validation.describe.read_time import add_time
from deltaspec.validation.instants import AtArgument, parse_at
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.derived_files import needs_file_fields
from deltaspec.validation.log.staged_files import list_unpublished
from deltaspec.validation.log.version_at import resolve_at
from deltaspec.validation.plan import Plan, build_plan, parse_history
from deltaspec.version import __version__
from deltaspec.views.log.derived_file_rows import read_checksum
from deltaspec.wire.parquet.file_opener import LARGE_FILE_BYTES
from deltaspec.wire.parquet.footer_reader import TAIL_BYTES as FOOTER_BYTES
from deltaspec.wire.storage.block_reader import TAIL_BYTES
from deltaspec.wire.storage.data_access import KEPT_FILE_BYTES, MAX_KEPT_BYTES
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

LISTING_PAGE_SIZE = 1000
"""Names per list request."""
SMALL_FILE_BYTES = 16 << 20
"""Largest version checksum or `_last_checkpoint` that an estimate opens."""
_PARQUET_BYTES_A_FILE, _JSON_BYTES_A_FILE = 120, 540
"""Log bytes per data file in checkpoints and in commits, measured with statistics of five columns."""
_LISTED = "listed"
_BY_FOOTERS = "how much of them is read depends on their footers"
_GUESS = f"a guess by the size of the log: {_PARQUET_BYTES_A_FILE} or {_JSON_BYTES_A_FILE} bytes per file"
_NO_CHECKSUM = "unknown: no version checksum"
_PASSES = "further passes over live files: one each for SQL expressions, identity columns, variants and row tracking"
_AGAIN = "a second pass over checkpoints that store statistics only as columns"
_CHANGE_DATA = "change data files of the validated commits"
_OF_CATALOG = "commits that only a catalog knows, if one manages the table"
_REWRITTEN = "files that commits without data change removed, if they still exist"


def estimate_table(
    uri: str,
    *,
    at: AtArgument = None,
    history: str | int = "latest",
    revision: str = "current",
    storage: StorageSettings = ENVIRONMENT,
    measures_time: bool = False,
) -> Estimate:
    """Estimate what a run of each level would read.

    Args:
        uri: path or URI of the table's root.
        at, history, revision: as in `deltaspec.validate`.
        storage: settings of storage clients.
        measures_time: also estimate the time, for which a few files of the log are read.

    Raises:
        InvalidUsage: an option has an invalid value, or the table has no such version.
        TableUnreadable: there is no table.
    """
    parsed_history = parse_history(history)
    store = open_store(uri, storage)
    listed = load_pinned_listing(store)
    version, _ = resolve_at(store, listed, parse_at(at), Revision(revision))
    plan = build_plan(store.uri, listed, at=version, history=parsed_history, revision=Revision(revision))
    found = estimate(store, plan, history=parsed_history, revision=revision)
    return add_time(found, store, plan) if measures_time else found


def estimate(store: Store, plan: Plan, *, history: str = "latest", revision: str = "current") -> Estimate:
    """Estimate what a run of the plan would read. Opens the newest version checksum and `_last_checkpoint`, if any."""
    live = _find_live_files(store, plan)
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
            LevelReads(
                level="log",
                reads=list(_estimate_log(plan, history)),
                not_known=[_OF_CATALOG] if list_unpublished(plan.entries) else [],
            ),
            _estimate_files(plan, live),
            _estimate_footers(live),
            _estimate_rows(live, is_remote=store.is_remote),
        ],
    )


# the log


def _estimate_log(plan: Plan, history: str) -> Iterator[Reads]:
    pages = -(-len(plan.entries) // LISTING_PAGE_SIZE)
    source = f"{len(plan.entries):,} names listed, {LISTING_PAGE_SIZE:,} per request"
    yield Reads(
        what="log listing", files=exact_amount(0), requests=exact_amount(pages), bytes=exact_amount(0), source=source
    )
    plans = (*plan.earlier_ranges, plan)
    checkpoints = [c for part in plans for c in (part.base, *part.compared_checkpoints) if c is not None]
    parts = [name for each in checkpoints for name in each.files]
    commits = [version for part in plans for version in (*part.earlier_commits, *part.commits)]
    yield from _estimate_complete_files("commits", plan, map(commit_name, commits))
    yield from _estimate_complete_files("JSON checkpoints", plan, (name for name in parts if name.endswith(".json")))
    yield from _estimate_parquet(
        "checkpoints", [plan.sizes[name] for name in parts if not name.endswith(".json")], opened=2
    )
    yield from _estimate_sidecars(plan, checkpoints)
    compactions = [compaction_name(each.start, each.end) for part in plans for each in part.compactions]
    yield from _estimate_complete_files("compactions", plan, compactions)
    yield from _estimate_checksums(plan, history)
    yield from _estimate_complete_files("checkpoint hint", plan, ["_last_checkpoint"] if plan.has_hint else [])
    yield from _estimate_staged_commits(plan)


def _estimate_checksums(plan: Plan, history: str) -> Iterator[Reads]:
    """Yield the cost of version checksums.

    If no other file has file actions to compare, version checksums are read before the log until one with `allFiles` is
    found.
    """
    once, again, again_at_least = [], [], []
    for part in (*plan.earlier_ranges, plan):
        sizes = [plan.sizes[checksum_name(version)] for version in part.checksums]
        once += sizes
        if not needs_file_fields(part, history):
            again += sizes
            again_at_least += sizes[:1]
    if once:
        numbers = [len(each) for each in (once, again_at_least, again)]
        lengths = [sum(each) for each in (once, again_at_least, again)]
        requests, length = (Amount(a + c, a + b, a + c) for a, b, c in (numbers, lengths))
        yield Reads(
            what="version checksums", files=exact_amount(len(once)), requests=requests, bytes=length, source=_LISTED
        )


def _estimate_complete_files(what: str, plan: Plan, names: Iterable[str]) -> Iterator[Reads]:
    """Yield the cost of files that are read completely, with one request each."""
    sizes = [plan.sizes[name] for name in names]
    if sizes:
        number, length = exact_amount(len(sizes)), exact_amount(sum(sizes))
        yield Reads(what=what, files=number, requests=number, bytes=length, source=_LISTED)


def _estimate_parquet(what: str, sizes: list[int], *, opened: int) -> Iterator[Reads]:
    """Yield the cost of Parquet files with actions, each opened `opened` times."""
    if sizes:
        requests, length = _compute_parquet_cost(sizes, opened)
        source = _LISTED if length.is_exact else f"{sum(sizes):,} bytes listed; {_BY_FOOTERS}"
        yield Reads(what=what, files=exact_amount(len(sizes)), requests=requests, bytes=length, source=source)


def _compute_parquet_cost(sizes: list[int], opened: int) -> tuple[Amount, Amount]:
    """Return requests and bytes. Opening a file reads its tail, which is not read a second time."""
    requests, length = opened * len(sizes), opened * sum(min(each, TAIL_BYTES) for each in sizes)
    large = [each for each in sizes if each > TAIL_BYTES]
    if not large:
        return exact_amount(requests), exact_amount(length)
    # measured on checkpoints of 250,000 and 1,000,000 files: one pass over a row group reads at least a 1 MiB block
    likely_requests = sum(3 + min(each >> 20, 5) + (each >> 20) // 3 for each in large)
    likely_bytes = sum(min(3 * each, each + each // 7 + (4 << 20)) for each in large)
    return Amount(requests + likely_requests, requests), Amount(length + likely_bytes, length)


def _estimate_sidecars(plan: Plan, checkpoints: list[Checkpoint]) -> Iterator[Reads]:
    """Yield the cost of sidecars, each assigned to the next checkpoint in time.

    Only the content of a checkpoint names its sidecars, which an estimate does not read.

    Writers create sidecars just before their checkpoint and for that checkpoint only.
    """
    listed = [each for name, each in plan.entries.items() if isinstance(parse_log_file_name(name), SidecarName)]
    may_name = [each for each in checkpoints if each.naming != "multipart"]
    if not listed or not may_name:
        return
    by_time = sorted(
        (max(plan.entries[name].modified_ms for name in each.files), each.files) for each in plan.all_checkpoints
    )
    chosen = {each.files for each in may_name}
    likely = []
    for sidecar in listed:
        after = min(bisect_left(by_time, (sidecar.modified_ms, ())), len(by_time) - 1)
        if by_time[after][1] in chosen:
            likely.append(sidecar.size_bytes)
    requests, length = _compute_parquet_cost(likely, 1)
    times = len(may_name)
    most_requests, most_bytes = _compute_parquet_cost([each.size_bytes for each in listed] * times, 1)
    yield Reads(
        what="sidecars",
        files=Amount(len(likely), 0, times * len(listed)),
        requests=Amount(requests.about, 0, most_requests.at_most),
        bytes=Amount(length.about, 0, most_bytes.at_most),
        source=f"{len(listed):,} listed; assigned to checkpoints by modification time",
    )


def _estimate_staged_commits(plan: Plan) -> Iterator[Reads]:
    """Yield the cost of staged commits; each is read with the published commit of its version."""
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
            source="listed; read only if the protocol has the feature catalogManaged",
        )


# data files


class _Live(msgspec.Struct, frozen=True):
    """Number and size of the data files of the validated version, as far as known."""

    files: Amount
    bytes: Amount
    source: str
    vectors: Amount
    vectors_source: str


def _find_live_files(store: Store, plan: Plan) -> _Live:
    """Use the newest version checksum or `_last_checkpoint`, whichever is later; else guess by the size of the log."""
    checksum, hint = _read_newest_checksum(store, plan), _read_hint(store, plan)
    if checksum is not None and (hint is None or checksum[0] >= hint.version):
        return _read_counts(plan, *checksum)
    vectors = Amount(None)
    if hint is not None and hint.num_of_add_files is not None:
        source = f"numOfAddFiles of _last_checkpoint, version {hint.version}{_format_lag(plan, hint.version)}"
        return _Live(Amount(hint.num_of_add_files), Amount(None), source, vectors, _NO_CHECKSUM)
    return _Live(Amount(_guess_file_count(plan)), Amount(None), _GUESS, vectors, _NO_CHECKSUM)


def _read_counts(plan: Plan, version: int, checksum: VersionChecksum) -> _Live:
    source = f"version checksum {version}{_format_lag(plan, version)}"
    amount = exact_amount if version == plan.version else Amount
    vectors = checksum.num_deletion_vectors_opt
    if vectors is None and "deletionVectors" not in (checksum.protocol.reader_features or []):
        vectors = 0
    return _Live(
        amount(max(checksum.num_files, 0)),
        amount(max(checksum.table_size_bytes, 0)),
        source,
        Amount(None) if vectors is None else Amount(vectors, 0, vectors if version == plan.version else None),
        f"unknown: {source} has no numDeletionVectorsOpt" if vectors is None else source,
    )


def _read_newest_checksum(store: Store, plan: Plan) -> tuple[int, VersionChecksum] | None:
    found = [name.version for name in map(parse_log_file_name, plan.entries) if isinstance(name, ChecksumName)]
    version = max((each for each in found if each <= plan.version), default=None)
    data = None if version is None else _read_small_file(store, plan, checksum_name(version))
    checksum = None if data is None else read_checksum(data)[0]
    return None if version is None or not isinstance(checksum, VersionChecksum) else (version, checksum)


def _read_hint(store: Store, plan: Plan) -> LastCheckpoint | None:
    """Return `_last_checkpoint` if its version is not later than the validated one and no count is negative."""
    data = _read_small_file(store, plan, "_last_checkpoint")
    try:
        hint = None if data is None else msgspec.json.decode(data, type=LastCheckpoint)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    usable = hint is not None and 0 <= hint.version <= plan.version and (hint.num_of_add_files or 0) >= 0
    return hint if usable else None


def _read_small_file(store: Store, plan: Plan, name: str) -> bytes | None:
    if not 0 < plan.sizes.get(name, 0) <= SMALL_FILE_BYTES:
        return None
    try:
        return store.read(f"{LOG_DIRECTORY}/{name}", SMALL_FILE_BYTES)
    except StorageError:
        return None


def _format_lag(plan: Plan, version: int) -> str:
    return "" if version == plan.version else f", {plan.version - version:,} before the validated version"


def _guess_file_count(plan: Plan) -> int:
    """Guess the number of files from the sizes of the newest checkpoint, its sidecars and the commits after it."""
    usable = [each for each in plan.all_checkpoints if each.version <= plan.version]
    newest = usable[-1] if usable else None
    start = -1 if newest is None else newest.version
    commits = sum(plan.sizes[commit_name(each)] for each in plan.commits if each > start)
    parquet = 0
    if newest is not None:
        sidecars = [each for reads in _estimate_sidecars(plan, [newest]) if (each := reads.bytes.about) is not None]
        parquet = sum(plan.sizes[name] for name in newest.files) + sum(sidecars)
    return commits // _JSON_BYTES_A_FILE + parquet // _PARQUET_BYTES_A_FILE


def _estimate_files(plan: Plan, live: _Live) -> LevelReads:
    names = len(plan.entries)
    files = live.files.about
    pages = None if files is None else -(-(files + names) // LISTING_PAGE_SIZE)
    least = -(-(live.files.at_least + names) // LISTING_PAGE_SIZE)
    listing = Reads(
        what="table listing",
        files=exact_amount(0),
        requests=Amount(pages, least),
        bytes=exact_amount(0),
        source=f"live files and the log, {LISTING_PAGE_SIZE:,} names per request",
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
        not_known=["removed and unrelated files, which the listing also returns"],
    )


def _estimate_footers(live: _Live) -> LevelReads:
    files, length = live.files, live.bytes
    ends = None if files.about is None else files.about * FOOTER_BYTES
    about = ends if ends is None or length.about is None else min(ends, length.about)
    footers = Reads(
        what="footers",
        files=files,
        requests=Amount(files.about, 0, None if files.at_most is None else 2 * files.at_most),
        bytes=Amount(about, 0, None if length.at_most is None else 2 * length.at_most),
        source=f"one request for the last {FOOTER_BYTES >> 10} KiB of each live file; a longer footer costs a second",
    )
    # no lower bound: files that a clone refers to outside the table are opened only if the user allows it
    return LevelReads(level="footers", reads=[footers], not_known=[_CHANGE_DATA])


def _estimate_rows(live: _Live, *, is_remote: bool) -> LevelReads:
    files, length = live.files.about, live.bytes.about
    requests, read = None, None
    if files is not None and length is not None:
        mean = length // max(files, 1)
        # small remote files are read completely for their footers; only their beginnings are counted here
        kept = min(files, MAX_KEPT_BYTES // max(mean, 1)) if is_remote and mean <= KEPT_FILE_BYTES else 0
        opened = files - kept
        requests = opened if mean <= TAIL_BYTES else 2 * opened
        requests += opened * (mean >> 20) if mean > LARGE_FILE_BYTES else 0
        read = opened * mean if mean <= TAIL_BYTES else opened * (mean + TAIL_BYTES)
        read += length % max(files, 1) if opened else 0
        read += kept * max(0, mean - FOOTER_BYTES)
    rows = Reads(
        what="rows",
        files=live.files,
        requests=Amount(requests),
        bytes=Amount(read),
        source="live files, read completely, small ones with their footers; assumes that all have the average size",
    )
    return LevelReads(
        level="rows",
        reads=[rows],
        not_known=[
            _CHANGE_DATA,
            _REWRITTEN,
            _PASSES,
            _AGAIN,
        ],
    )
