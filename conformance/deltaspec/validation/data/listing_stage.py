"""List the directories of the table. A large table is listed by several tasks, each of which lists some parts."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import partial

import polars as pl

from deltaspec.validation.aggregates import Aggregates, PathSample
from deltaspec.validation.bucketing import find_keys_of_buckets
from deltaspec.validation.buckets import Buckets, RowsByTag, StageOutput
from deltaspec.validation.data.data_bucket import LISTING_SCHEMA
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.progress import Progress
from deltaspec.wire.storage.interface import Entry, StorageError, Store
from deltaspec.wire.storage.listing_parts import ListingPart, SplittableStore, split_listing

FILES_OF_ONE_TASK = 20_000
"""Number of live files up to which one process lists the table: in an object store this takes 2 seconds."""
_PARTS_PER_TASK = 4
"""Number of parts per task, so that all tasks end at about the same time."""
_PARTS = "listing parts"
"""Tag of pickled parts, by bucket."""
_LISTED_AT_ONCE = 10_000


def list_table(
    facts: LogFacts, findings: Findings, buckets: Buckets, tag: str, live_paths: PathSample, progress: Progress
) -> str | None:
    """List the directories of the table once, and put the files into the buckets.

    Args:
        facts: of the log.
        findings: nothing is added.
        buckets: receive rows with `LISTING_SCHEMA`.
        tag: of these rows.
        live_paths: some of the files that the log names.
        progress: called while the table is listed.

    Returns:
        Why the listing is incomplete; None if it is complete.
    """
    progress("listing", 0, None)
    tasks = buckets.readers if live_paths.files > FILES_OF_ONE_TASK else 1
    split = partial(_split, facts.store, buckets, tag, live_paths.paths, tasks, progress)
    errors, has_parts = buckets.run_once(split)
    if has_parts:
        found = buckets.run_stage(_ListParts(tag), facts, findings, (_PARTS,), opens_files=True)
        buckets.drop((_PARTS,))
        errors += filter(None, [found.listing_error])
    return min(errors, default=None)


def _split(
    store: Store, buckets: Buckets, tag: str, names: list[str], tasks: int, progress: Progress
) -> tuple[list[str], bool]:
    """Put the parts into the buckets, and the files that are found meanwhile: all of them for a single task.

    Returns:
        The first reason why the listing is incomplete, if it is, and whether there are parts.
    """
    files = _ListedFiles(buckets, tag, progress)
    parts = files.take(split_listing(store, names, tasks * _PARTS_PER_TASK if tasks > 1 else 1))
    if parts:
        keys = find_keys_of_buckets(buckets.readers)
        number = pl.int_range(len(parts), eager=True)
        rows = pl.DataFrame({"number": number, "part": [pickle.dumps(each) for each in parts]})
        buckets.put(_PARTS, rows, keys.gather(number % len(keys)))
    return files.errors, bool(parts)


class _ListParts:
    """The stage that lists parts."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def __call__(self, facts: LogFacts, _: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
        assert isinstance(facts.store, SplittableStore), "its listing was split"
        files = _ListedFiles(output, self.tag, output.report_progress)
        if _PARTS in rows:
            for part in rows[_PARTS].sort("number")["part"]:
                files.take(facts.store.list_part(pickle.loads(part)))
        return Aggregates(listing_error=min(files.errors, default=None))


class _ListedFiles:
    """Puts listed files into the buckets."""

    def __init__(self, output: Buckets | StageOutput, tag: str, progress: Progress) -> None:
        self._output, self._tag, self._progress = output, tag, progress
        self._listed = 0
        self.errors: list[str] = []
        """The first reason in sort order why the listing is incomplete; empty if it is complete."""

    def take(self, items: Iterable[Entry | StorageError | ListingPart]) -> list[ListingPart]:
        """Put files into the buckets, and return the parts among the items."""
        names: list[str] = []
        sizes: list[int] = []
        parts: list[ListingPart] = []
        for item in items:
            if isinstance(item, Entry):
                names.append(item.name)
                sizes.append(item.size_bytes)
                if len(names) >= _LISTED_AT_ONCE:
                    self._put(names, sizes)
                    names, sizes = [], []
            elif isinstance(item, StorageError):
                self.errors = [min([*self.errors, str(item)])]
            else:
                parts.append(item)
        self._put(names, sizes)
        return parts

    def _put(self, names: list[str], sizes: list[int]) -> None:
        self._listed += len(names)
        self._progress("listing", self._listed, None)
        self._output.put(self._tag, pl.DataFrame({"path_key": names, "actual_size": sizes}, schema=LISTING_SCHEMA))
