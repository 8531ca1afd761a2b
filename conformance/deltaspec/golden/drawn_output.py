"""Write drawn golden cases in a layout, in several processes, with the memory of a few cases."""

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from deltaspec import __version__
from deltaspec.golden.build import SCHEMA, BuiltCase
from deltaspec.golden.case_format import build_json_schema, encode_document
from deltaspec.golden.drawing import DrawnCases
from deltaspec.golden.export.archive import describe_case, encode_index
from deltaspec.golden.export.layouts import Layout, fill_new_directory, find_obstacle, write_case
from deltaspec.golden.index import INDEX, IndexedCase

DrawnLayout: TypeAlias = Layout | Literal["folder"]
Plan: TypeAlias = Sequence[tuple[DrawnCases, int]]
"""Which numbers of which seeds to build."""
_CASES_AT_A_TIME = 8


class DrawnOutput(msgspec.Struct, frozen=True):
    """What was written."""

    written: int
    left_out: dict[str, int]
    """Number of cases that the layout cannot express, by reason."""


class _Task(msgspec.Struct, frozen=True):
    plan: tuple[tuple[DrawnCases, int], ...]
    layout: DrawnLayout
    content: Path
    """Directory that is written to."""
    directory: Path
    """Directory that it will be moved to."""


def write_drawn_cases(plan: Plan, layout: DrawnLayout, directory: Path, jobs: int) -> DrawnOutput:
    """Build the cases of a plan, and write them into a new or empty directory.

    Raises:
        InvalidUsage: the directory exists and is not empty, or cannot be written; no table meets the restrictions.
    """
    indexed: list[IndexedCase] = []
    left_out: Counter[str] = Counter()
    with fill_new_directory(directory) as content:
        tasks = [_Task(part, layout, content, directory) for part in _split(plan)]
        for cases, reasons in _run(tasks, jobs):
            indexed += cases
            left_out.update(reasons)
        if layout == "folder":
            (content / INDEX).write_bytes(encode_index(sorted(indexed, key=lambda case: case.id), __version__))
            (content / SCHEMA).write_bytes(encode_document(build_json_schema()))
    return DrawnOutput(len(indexed), dict(left_out))


def _split(plan: Plan) -> Iterator[tuple[tuple[DrawnCases, int], ...]]:
    left = iter(plan)
    while part := tuple(islice(left, _CASES_AT_A_TIME)):
        yield part


def _run(tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[list[IndexedCase], list[str]]]:
    if jobs == 1:
        yield from map(_write_part, tasks)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(_write_part, tasks)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _write_part(task: _Task) -> tuple[list[IndexedCase], list[str]]:
    """Build and write a few cases; return their entries in the index, and the reasons of those that are left out."""
    indexed, left_out = [], []
    for cases, number in task.plan:
        for case in cases.build(number):
            reason = "" if task.layout == "folder" else find_obstacle(case, task.layout)
            if reason:
                left_out.append(reason)
                continue
            _write(case, task)
            indexed.append(describe_case(case, case.iter_files()))
    return indexed, left_out


def _write(case: BuiltCase, task: _Task) -> None:
    if task.layout != "folder":
        write_case(case, task.layout, task.content, task.directory)
        return
    for path, data in case.iter_files():
        target = task.content / case.listed.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
