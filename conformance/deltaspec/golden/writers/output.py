"""Write cases for writers: of the written histories, and of histories drawn from a seed."""

import fnmatch
import hashlib
import multiprocessing
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.golden.export.layouts import fill_new_directory
from deltaspec.golden.writers.cases import WriterCase, build_writer_case
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories.drawing import DRAWERS, FEATURE_PROPERTIES, Offer, draw_history
from deltaspec_generators.histories.plain_table import Effect, PlainTable, perform
from deltaspec_generators.histories.written import WRITTEN_HISTORIES

WRITTEN, DRAWN = "history", "drawn-history"
GENERATOR_VERSION = 1
"""Increases when the histories of a seed change."""
_ATTEMPTS = 2_000
_FURTHER_FEATURES = ("checkConstraints", "generatedColumns", "invariants")
FEATURES = (*FEATURE_PROPERTIES, *_FURTHER_FEATURES)
"""Writer features that histories use."""


class WrittenCases(msgspec.Struct, frozen=True):
    """What was written."""

    cases: int = 0
    operations: int = 0
    commits: int = 0
    outside: dict[str, int] = {}
    """Number of operations outside of the write specs, by reason."""


class DrawnHistories(msgspec.Struct, frozen=True):
    """Histories of a seed. Each number is drawn alone."""

    seed: int
    required: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None
    forbidden: tuple[str, ...] = ()
    operations: tuple[str, ...] | None = None
    """Kinds of operations to draw besides `create` and `append`; None for all."""

    @property
    def offer(self) -> Offer:
        """Kinds and features to draw."""
        allowed = set(FEATURES if self.allowed is None else (*self.allowed, *self.required)) - set(self.forbidden)
        kinds = DRAWERS if self.operations is None else ("append", *self.operations)
        return Offer.of(kinds, allowed)

    @property
    def prefix(self) -> str:
        """First part of the ids: version of the generator, seed, and a digest of the restrictions."""
        given = (self.required, self.allowed, self.forbidden, self.operations)
        return f"{DRAWN}.v{GENERATOR_VERSION}-s{self.seed}-{hashlib.sha256(msgspec.json.encode(given)).hexdigest()[:6]}"

    def describe_fault(self) -> str:
        """Return why there is no such history; empty if there may be one."""
        unknown = {*self.required, *(self.allowed or ()), *self.forbidden} - set(FEATURES)
        if unknown:
            return f"no history uses the feature {min(unknown)}; known features: {', '.join(FEATURES)}"
        unknown = set(self.operations or ()) - set(DRAWERS)
        return f"no history has the operation {min(unknown)}; known ones: {', '.join(DRAWERS)}" if unknown else ""

    def build(self, number: int) -> WriterCase:
        """Build the case of a number. Raises `InvalidUsage` if no history has the required features."""
        choices = SeededChoices(self.seed, number)
        for _ in range(_ATTEMPTS):
            steps = draw_history(choices, self.offer)
            created = perform(None, steps[0].operation)
            if isinstance(created, Effect) and set(self.required) <= _list_features(created.table):
                title = f"A drawn history of {len(steps)} operations."
                return build_writer_case(f"{self.prefix}-{number:06}", title, steps)
        raise InvalidUsage(f"of {_ATTEMPTS:,} histories none creates a table with {', '.join(self.required)}")


def _list_features(table: PlainTable) -> set[str]:
    found = {name for name, enabling in FEATURE_PROPERTIES.items() if enabling.items() <= table.properties.items()}
    found |= {"generatedColumns"} if any(each.generated for each in table.columns) else set()
    return found | ({"invariants"} if any(not each.nullable for each in table.columns) else set())


def build_written_case(name: str) -> WriterCase:
    """Build the case of a written history."""
    build = WRITTEN_HISTORIES[name]
    title = (build.__doc__ or "").partition("\n")[0]
    return build_writer_case(f"{WRITTEN}.{name}", title, build())


def select_written(patterns: Sequence[str]) -> list[str]:
    """Return the names of written histories that match a glob. Raises `InvalidUsage` if a pattern matches none."""
    names = list(WRITTEN_HISTORIES)
    found = {each: fnmatch.filter(names, each.removeprefix(f"{WRITTEN}.")) for each in patterns}
    if empty := [pattern for pattern, chosen in found.items() if not chosen]:
        raise InvalidUsage(f"no written history matches {empty[0]}; histories are {', '.join(names)}")
    chosen = {name for matching in found.values() for name in matching}
    return [name for name in names if not patterns or name in chosen]


def write_written_cases(names: Sequence[str], directory: Path) -> WrittenCases:
    """Write the cases of written histories into a new or empty directory. Raises `InvalidUsage`."""
    with fill_new_directory(directory) as content:
        return _count(_write(build_written_case(name), content) for name in names)


def write_drawn_histories(drawn: DrawnHistories, count: int, directory: Path, jobs: int) -> WrittenCases:
    """Write the cases of drawn histories into a new or empty directory. Raises `InvalidUsage`."""
    with fill_new_directory(directory) as content:
        write = partial(_build_and_write, drawn, content)
        if jobs == 1:
            return _count(map(write, range(count)))
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            return _count(pool.map(write, range(count), chunksize=16))


def _build_and_write(drawn: DrawnHistories, content: Path, number: int) -> WriterCase:
    return _write(drawn.build(number), content)


def _write(case: WriterCase, content: Path) -> WriterCase:
    """Write the files of a case; return it without them."""
    for path, data in case.files.items():
        target = content / case.id / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return msgspec.structs.replace(case, files={})


def _count(cases: Iterator[WriterCase]) -> WrittenCases:
    found = list(cases)
    outside = Counter(reason for case in found for reason in case.outside)
    operations, commits = sum(case.operations for case in found), sum(case.commits for case in found)
    return WrittenCases(len(found), operations, commits, dict(outside.most_common()))
