"""The functions that `VIEW_SOURCES` names fill the views, in the steps that it names."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from types import CodeType, FrameType
from typing import Any

import polars as pl
import pytest
from helpers.backends import embedded_backend, table_in_temporary_directory
from helpers.drawn_tables import draw_table
from planted_faults.caught_by import CAUGHT_BY

from deltaspec.rules import RULES
from deltaspec.validation.findings import Findings
from deltaspec.validation.options import Options
from deltaspec.views.base import View
from deltaspec.views.view_sources import VIEW_SOURCES
from planted_tables.faults.all_faults import PLANTED_FAULTS

VIEWS = sorted({rule.view.name for rule in RULES.values()})


def find_code(name: str) -> CodeType:
    """Return the code of a function that is named with its module below `deltaspec`."""
    parts = name.split(".")
    last = next(
        number for number, part in enumerate(parts) if number and (part[0].isupper() or number == len(parts) - 1)
    )
    module = import_module(f"deltaspec.{'.'.join(parts[:last])}")
    function: Any = reduce(getattr, parts[last:], module)
    code: CodeType = getattr(function, "__wrapped__", function).__code__
    return code


def list_stack(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield the code of a frame and of its callers."""
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


@contextmanager
def recording_calls() -> Iterator[set[CodeType]]:
    """Yield the code of every function that has been called, in this thread or in a new one."""
    called: set[CodeType] = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(record)  # facts of file actions are built in threads
    sys.setprofile(record)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_every_view_with_rules_has_a_source() -> None:
    assert sorted(VIEW_SOURCES) == VIEWS


@pytest.mark.parametrize("view", VIEWS)
def test_named_functions_fill_the_view(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = VIEW_SOURCES[view]
    steps, builders = set(map(find_code, source.steps)), set(map(find_code, source.filled_by))
    evaluations = defaultdict[str, int](int)
    evaluate = Findings.evaluate

    def check(self: Findings, evaluated: View, frame: pl.DataFrame, confirm: Any = None) -> None:
        if evaluated.name == view and len(frame):
            stack = list(list_stack(sys._getframe(1)))
            evaluations["in a step"] += bool(steps.intersection(stack))
            evaluations["all"] += 1
            evaluations["after a builder"] += bool(builders & called)
        evaluate(self, evaluated, frame, confirm)

    monkeypatch.setattr(Findings, "evaluate", check)
    names = [name for name, code in CAUGHT_BY.items() if RULES[code].view.name == view]
    for name in names:
        files, revision = draw_table(PLANTED_FAULTS[name], 1), RULES[CAUGHT_BY[name]].revisions[-1]
        options = Options.create(level="rows", history="all", revision=revision, clock=files.clock_ms)
        with table_in_temporary_directory(files) as uri, recording_calls() as called:
            embedded_backend()(uri, options)
        if evaluations["all"]:  # some features are not defined in the newest revision
            break
    assert evaluations["all"] > 0
    assert evaluations == dict.fromkeys(("in a step", "all", "after a builder"), evaluations["all"])
