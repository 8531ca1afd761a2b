"""The file in which a run records each result. `--resume` continues from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import translate_write_errors
from deltaspec.suites.outcomes import CaseResult, Outcome, to_json

R = TypeVar("R", bound=msgspec.Struct)


class Events(Generic[R]):
    """The file of a run. Each line is a result, and the arguments that identify the run."""

    def __init__(self, path: str, file: FileIO, run: Mapping[str, Any]) -> None:
        self._path, self._file, self._run = path, file, run

    def append(self, results: Iterable[R]) -> None:
        """Append results.

        Raises:
            InvalidUsage: they cannot be written.
        """
        data = "".join(f"{to_json({**msgspec.to_builtins(each), **self._run})}\n" for each in results).encode()
        with translate_write_errors(self._path):
            while data:
                data = data[self._file.write(data) :]


@contextmanager
def open_events(
    path: str | None,
    result_type: type[R],
    run: Mapping[str, Any],
    *,
    resume: bool = False,
    group: Callable[[R], str] | None = None,
) -> Iterator[tuple[Events[R] | None, list[R]]]:
    """Open a file to which results are appended, one line of JSON each.

    A last line that is not complete is removed.

    Args:
        path: of the file; None for no file.
        result_type: record of a result. Its first field is its id.
        run: arguments that identify the run, by name. They are written with each result.
        resume: keep earlier results. Otherwise, or without such a file, begin a new one.
        group: returns the group of a result, if results of one group are written together. The last group is then
            removed, because it may be incomplete.

    Yields:
        The file, or None; and the results that it has.

    Raises:
        InvalidUsage: a line is not a result of this run, except the beginning of one at the end of the file. The file
            is unchanged. Or it cannot be opened.
    """
    if path is None:
        yield None, []
        return
    kept: list[R] = []
    resumes = resume and Path(path).exists()
    arguments = msgspec.json.decode(msgspec.json.encode(run))  # a tuple as it is read again
    with translate_write_errors(path):
        # without a buffer: closing the file after a failed write would try to write the rest again
        file = open(path, "r+b" if resumes else "wb", buffering=0)  # noqa: SIM115 - closed below
    with file:
        if resumes:
            lines = file.readall().split(b"\n")
            results = _read_results(lines, path, result_type, arguments)
            kept = results if group is None else [each for each in results if group(each) != group(results[-1])]
            size = sum(len(line) + 1 for line in lines[: len(kept)])
            file.seek(size)
            file.truncate()
        yield Events(path, file, arguments), kept


def _read_results(lines: Sequence[bytes], path: str, result_type: type[R], run: Mapping[str, Any]) -> list[R]:
    """Return the results of complete lines. Text after the last line break must begin like a result."""
    subject = result_type.__struct_fields__[0]
    begin = f'{{"{subject}":'.encode()
    *complete, rest = lines
    if not (begin.startswith(rest) or rest.startswith(begin)):
        complete.append(rest)
    results: list[R] = []
    for number, line in enumerate(complete, 1):
        try:
            event = msgspec.json.decode(line, type=dict[str, Any])
            result = msgspec.convert(event, result_type)
            found = {name: event[name] for name in run}
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
            raise InvalidUsage(f"events {path}, line {number}: not the result of a {subject}: {error}") from None
        if found != run:
            raise InvalidUsage(f"--resume: the events are of a run with other arguments: {_describe_run(found)}")
        results.append(result)
    return results


def _describe_run(run: Mapping[str, Any]) -> str:
    """Return the arguments that identify a run, such as `a with b, seed 1`."""
    described = []
    for name, value in run.items():
        match value:
            case list():
                described.append(" with ".join(map(str, value)))
            case str():
                described.append(value)
            case _:
                described.append(f"{name} {value}")
    return ", ".join(described)


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
