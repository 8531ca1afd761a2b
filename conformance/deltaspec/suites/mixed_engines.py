"""Several engines that write to one table in turn, as one candidate."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import msgspec

from deltaspec.candidates.host import Candidate, Refused, Rows
from deltaspec.candidates.messages import Apply, ApplyAnswer, Changes, Scan, Snapshot, SnapshotAnswer
from deltaspec.suites.write_judging import find_newest_version


class MixedEngines:
    """Passes each operation to one of several engines; the newest version decides which one is the first to be asked.

    An engine that does not offer the operation, or refuses it as unsupported, passes it on to the next one. Therefore a
    history always has the same writers. Questions of readers go to the first engine.

    Args:
        engines: the first one creates the tables, with features that it offers.
    """

    def __init__(self, engines: Sequence[Candidate]) -> None:
        self.engines = tuple(engines)
        first, *others = (each.capabilities for each in self.engines)
        kinds = dict.fromkeys(kind for each in (first, *others) for kind in each.kinds)
        self.capabilities = msgspec.structs.replace(first, kinds=tuple(kinds))
        self.writer = first.name
        """Engine that performed the last operation."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def snapshot(self, request: Snapshot) -> SnapshotAnswer:
        return self.engines[0].snapshot(request)

    def scan(self, request: Scan) -> Rows:
        return self.engines[0].scan(request)

    def changes(self, request: Changes) -> Rows:
        return self.engines[0].changes(request)

    def apply(self, request: Apply) -> ApplyAnswer:
        kind = str(request.operation.__struct_config__.tag)
        offering = [each for each in self.engines if kind in each.capabilities.kinds]
        turn = (find_newest_version(Path(request.table)) + 1) % len(offering)
        last = None
        for engine in (*offering[turn:], *offering[:turn]):
            self.writer = engine.capabilities.name
            try:
                return engine.apply(request)
            except Refused as refused:
                if refused.refusal.category != "unsupported":
                    raise
                last = refused
        assert last is not None
        raise last

    def close(self) -> None:
        with ExitStack() as stack:
            for each in self.engines:
                stack.callback(each.close)


def list_readers(candidate: Candidate) -> tuple[Candidate, ...]:
    """Return the engines that read what another engine wrote; none if a single engine is tested."""
    return candidate.engines if isinstance(candidate, MixedEngines) else ()


def get_writer(candidate: Candidate) -> str:
    """Return the name of the engine that performed the last operation."""
    return candidate.writer if isinstance(candidate, MixedEngines) else candidate.capabilities.name
