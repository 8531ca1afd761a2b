"""Choose the number of buckets of a run, from what the log says about the number and the size of the files."""

from __future__ import annotations

from typing import Any

import msgspec

from deltaspec.validation.buckets import matches_tag
from deltaspec.validation.describe.read_estimate import estimate
from deltaspec.validation.log.replay_stage import REPLAYED_TAGS
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.wire.storage.interface import Store

BYTES_OF_A_BUCKET = 16 << 20
"""Log bytes per bucket, which is about 100,000 files in checkpoints. Level `log`, which opens no files, has twice."""
MAX_BUCKETS = 4096
"""Number of buckets of the log. More would split the rows of each task into tiny payloads."""
MAX_TASKS = 1 << 16
"""Number of buckets of files, and so of tasks of a stage that opens files."""
FILES_OF_A_TASK = {"files": 100_000, "footers": 10_000, "rows": 1_000}
"""Number of files that a task opens, by level."""
DATA_BYTES_OF_A_TASK = 2 << 30
"""Bytes of data files whose rows a task reads."""
TASKS_OF_A_CORE = {"files": 1, "footers": 2, "rows": 4}
"""Number of tasks for each task that runs at once, by level: rows of files differ most in size."""
_SMALLEST_ADD_BYTES = 8
"""Log bytes of the smallest add in a compressed checkpoint; counts in the log that need less are false."""


class BucketCounts(msgspec.Struct, frozen=True):
    """Numbers of buckets. A bucket of the log consists of the buckets of files with its number modulo `log`."""

    log: int
    """Number of buckets for stages that open no files."""
    splits: int = 1
    """Number of buckets of files in each bucket of the log."""

    @property
    def files(self) -> int:
        """Number of buckets for stages that open files."""
        return self.log * self.splits

    def get_count(self, tag: str) -> int:
        """Return the number of buckets for rows of a tag."""
        return self.log if any(matches_tag(tag, each) for each in REPLAYED_TAGS) else self.files

    def to_key(self) -> list[int]:
        """Return the value for the key of a resume state."""
        return [self.log, self.splits]

    @classmethod
    def from_key(cls, value: Any) -> BucketCounts:
        """Return the numbers in the key of a resume state.

        Raises:
            ValueError, TypeError: the value is not from `to_key`.
        """
        log, splits = map(int, value)
        return cls(log, splits)


def compute_bucket_counts(store: Store, plan: Plan, options: Options, parallelism: int) -> BucketCounts:
    """Compute numbers of buckets that occupy all tasks and keep each bucket small enough for one task.

    The log states the number and the size of the files in version checksums and `_last_checkpoint`, or else its own
    size suggests them. These numbers may be false, so they are bounded by the size of the log.
    """
    log_bytes = sum(entry.size_bytes for entry in plan.entries.values())
    bucket_bytes = BYTES_OF_A_BUCKET * (2 if options.level == "log" else 1)
    rounds = log_bytes // bucket_bytes // parallelism + 1  # each has a task for every core
    log = min(MAX_BUCKETS, rounds * parallelism)
    if options.level == "log":
        return BucketCounts(log)
    reads = estimate(store, plan)
    files = min(reads.live_files.about or 0, log_bytes // _SMALLEST_ADD_BYTES)
    tasks = max(parallelism * TASKS_OF_A_CORE[options.level], files // FILES_OF_A_TASK[options.level] + 1)
    if options.level == "rows":
        tasks = max(tasks, (reads.live_bytes.about or 0) // DATA_BYTES_OF_A_TASK + 1)
    tasks = min(tasks, MAX_TASKS, max(files, parallelism))
    return BucketCounts(log, max(1, -(-tasks // log)))
