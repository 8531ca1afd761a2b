"""The file in which a run records each result. `--resume` continues from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from deltaspec.errors import InvalidUsage
from deltaspec.suites.outcomes import CaseResult, Outcome, to_json


class _Event(CaseResult, frozen=True, kw_only=True):
    candidate: str


_decode = msgspec.json.Decoder(_Event).decode
_BEGIN = b'{"case":'


@contextmanager
def open_events(path: Path, candidate: str, *, resume: bool) -> Iterator[tuple[BufferedRandom, list[CaseResult]]]:
    """Open a file to which results are appended, one line of JSON each.

    The results of one table are written together, so only the last table of an interrupted run may be incomplete. Its
    lines are removed.

    Args:
        path: of the file.
        candidate: its name in the report.
        resume: keep its results. Otherwise, or without such a file, begin a new one.

    Yields:
        The file, and the results of complete tables that it has.

    Raises:
        InvalidUsage: a line is not a result of the candidate, except the beginning of one at the end of the file. The
            file is unchanged.
        OSError: the file cannot be opened.
    """
    with open(path, "r+b" if resume and path.exists() else "w+b") as file:
        results, lengths = _read_results(file, path, candidate)
        kept = [each for each in results if each.table != results[-1].table]
        file.seek(sum(lengths[: len(kept)]))
        file.truncate()
        yield file, kept


def append_results(file: BufferedRandom, results: list[CaseResult], candidate: str) -> None:
    """Append the results of one table."""
    events = [_Event(**asdict(each), candidate=candidate) for each in results]
    file.write("".join(f"{to_json(each)}\n" for each in events).encode())
    file.flush()


def _read_results(file: BufferedRandom, path: Path, candidate: str) -> tuple[list[CaseResult], list[int]]:
    """Return the results of a file, and the length of each line in bytes."""
    lines = file.readlines()
    results: list[CaseResult] = []
    for number, line in enumerate(lines, 1):
        try:
            event = _decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if line.endswith(b"\n") or line[: len(_BEGIN)] != _BEGIN[: len(line)]:
                raise InvalidUsage(f"events {path}, line {number}: not the result of a case: {error}") from None
            continue
        if event.candidate != candidate:
            raise InvalidUsage(f"--resume: the events are of a run with other arguments: {event.candidate}")
        results.append(msgspec.convert(event, CaseResult, from_attributes=True))
    return results, list(map(len, lines))


def undo_judgement(result: CaseResult) -> CaseResult:
    """Return a result as it was before it was compared with the known failures."""
    if result.outcome is Outcome.UNEXPECTED_PASS:
        return replace(result, outcome=Outcome.PASSED, message="")
    message = result.message
    if result.outcome is Outcome.DRIFT:
        message = message.rpartition("\n")[0]
    return replace(
        result, outcome=result.found or result.outcome, message=message, known_failure="", known_link="", found=None
    )
