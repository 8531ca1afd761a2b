"""Run tests on mutants in one process, which loads the modules and collects the tests only once.

A mutant replaces the code of the functions that it changes, and only the tests that execute the changed lines run on
it. What this cannot decide is left to a separate process: failures that remain after the mutant was removed, mutants
outside of functions, and mutants that no test executes.

A mutant of a function that runs only while modules are loaded survives here, even if a new process would notice it.
"""

from __future__ import annotations

import difflib
import functools
import gc
import io
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import cosmic_ray.plugins
import coverage
import pytest
from cosmic_ray.mutating import mutate_code

from mutation.mutants import Mutant

Undecided = tuple[Mutant, list[str]]
"""A mutant, and the ids of the tests that execute what it changes; no id if that is not known."""
_Functions = dict[tuple[str, int], CodeType]
"""Code of each function of a module, by qualified name and number of the definition with this name."""


def run_warm_tests(
    options: list[str], mutants: list[Mutant], package: Path, record: Callable[[Mutant, str], None]
) -> tuple[list[Undecided], int]:
    """Run tests on mutants. Return those that this cannot decide, and a time limit for their tests in seconds.

    Args:
        options: command line of pytest.
        mutants: mutants with the same tests.
        package: folder of the modules.
        record: is called with each decided mutant and its result: `killed`, `timeout` or `survived`.

    Raises:
        RuntimeError: a test fails without a mutant, or none was collected.
    """
    tests = _WarmTests(list(mutants), package, record)
    with redirect_stdout(io.StringIO()) as output:
        exit_code = pytest.main(options, plugins=[tests])
    if tests.failing is not None:
        raise RuntimeError(f"without a fault, this fails: {tests.failing}")
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"pytest stopped before the last mutant:\n{output.getvalue()}")
    return tests.undecided, tests.limit


class _WarmTests:
    """A pytest plugin that runs the collected tests without a mutant, and then on each mutant."""

    def __init__(self, mutants: list[Mutant], package: Path, record: Callable[[Mutant, str], None]) -> None:
        self._mutants = mutants
        self._package = package
        self._record = record
        self._kills: Counter[tuple[str, str]] = Counter()
        """Number of mutants of a module or function that each test has killed."""
        self._failed = False
        self._executions: _Executions | None = None
        self.failing: str | None = "the collection of the tests"
        """What fails without a mutant; None if all tests pass."""
        self.limit = 0
        """Seconds after which the tests of a mutant are interrupted."""
        self.undecided: list[Undecided] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self._failed = self._failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests without a mutant, and on each mutant its tests, up to the first failure."""
        start = time.monotonic()
        self._executions = _Executions([self._package / each.module for each in self._mutants])
        for item in session.items:
            with self._executions.record(item):
                failed = self._fails(item)
            if failed:
                self.failing = item.nodeid
                return True
        if not session.items:
            return True
        self.failing = None
        self._executions.finalize()
        self.limit = 60 + 5 * round(time.monotonic() - start)
        signal.signal(signal.SIGALRM, _raise_timeout)
        for mutant in self._mutants:
            result = self._decide(mutant)
            if isinstance(result, str):
                self._record(mutant, result)
            else:
                self.undecided.append((mutant, result))
        return True

    def _decide(self, mutant: Mutant) -> str | list[str]:
        """Return a result, or the ids of the tests to run in a separate process."""
        assert self._executions is not None
        path = self._package / mutant.module
        source = path.read_text(encoding="utf-8")
        operator = cosmic_ray.plugins.get_operator(mutant.operator)()
        mutated = mutate_code(source, operator, mutant.occurrence)
        changed = find_changed_functions(source, mutated)
        if not changed:
            return []
        restore = replace_functions(f"deltaspec.{mutant.module.removesuffix('.py').replace('/', '.')}", changed)
        if restore is None:
            return []
        items = self._executions.list_tests(
            path, list_changed_lines(source, mutated), list_function_lines(source, changed)
        )
        scopes = f"{mutant.module}:{mutant.function}", mutant.module
        items.sort(key=lambda item: [-self._kills[scope, item.nodeid] for scope in scopes])  # stable: then the fastest
        try:
            signal.alarm(self.limit)
            failing = next((item for item in items if self._fails(item)), None)
        except TimeoutError:
            return "timeout"
        finally:
            signal.alarm(0)
            restore()
        if failing is None and items:
            return "survived"
        if failing is None or self._fails(failing):
            return [item.nodeid for item in items]
        self._kills.update((scope, failing.nodeid) for scope in scopes)
        return "killed"

    def _fails(self, item: pytest.Item) -> bool:
        self._failed = False
        item._initrequest()  # type: ignore[attr-defined]
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
        except KeyboardInterrupt:  # a fault may let one through that a test raises
            item.session._setupstate.teardown_exact(None)
            return True
        return self._failed


class _Executions:
    """Which lines of some files each test executes, and how long it takes."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._coverage = coverage.Coverage(data_file=None, include=sorted({str(path.resolve()) for path in paths}))
        self._items: dict[str, pytest.Item] = {}
        self._seconds: dict[str, float] = {}
        self._tests_of_line: dict[Path, dict[int, list[str]]] = {}

    @contextmanager
    def record(self, item: pytest.Item) -> Iterator[None]:
        """Record one test while it runs."""
        self._items[item.nodeid] = item
        start = time.monotonic()
        self._coverage.start()
        self._coverage.switch_context(item.nodeid)
        try:
            yield
        finally:
            self._coverage.stop()
            self._seconds[item.nodeid] = time.monotonic() - start

    def finalize(self) -> None:
        """Make the recorded lines available."""
        data = self._coverage.get_data()
        self._tests_of_line = {Path(path): data.contexts_by_lineno(path) for path in data.measured_files()}

    def list_tests(self, path: Path, changed: Collection[int], around: Collection[int]) -> list[pytest.Item]:
        """Return the tests that execute changed lines, or lines around if none is recorded; the fastest first."""
        tests = self._tests_of_line.get(path.resolve(), {})
        names = {name for line in changed for name in tests.get(line, ())}
        names = names or {name for line in around for name in tests.get(line, ())}
        return [self._items[name] for name in sorted(names - {""}, key=self._seconds.__getitem__)]


def list_changed_lines(before: str, after: str | None) -> set[int]:
    """Return the numbers of the lines that a fault changes, counted from 1."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), (after or "").splitlines(), autojunk=False)
    spans = [range(start + 1, end + 1) for tag, start, end, _, _ in matcher.get_opcodes() if tag != "equal"]
    return {line for span in spans for line in span}


def list_function_lines(source: str, functions: Collection[tuple[str, int]]) -> set[int]:
    """Return the lines with code in some functions of a module, without the lines of their definitions."""
    found = _list_functions(compile(source, "module", "exec", dont_inherit=True))
    return {line for key in functions for line in _iter_lines(found[key])}


def _iter_lines(code: CodeType) -> Iterator[int]:
    yield from (line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _iter_lines(const)


def find_changed_functions(before: str, after: str | None) -> _Functions | None:
    """Return the code of the functions that differ; None if code outside of functions differs."""
    if after is None:
        return None
    try:
        old, new = (compile(each, "module", "exec", dont_inherit=True) for each in (before, after))
    except SyntaxError:
        return None
    olds, news = _list_functions(old), _list_functions(new)
    if olds.keys() != news.keys() or _describe(old, skips_functions=True) != _describe(new, skips_functions=True):
        return None
    return {key: news[key] for key in olds if _describe(olds[key]) != _describe(news[key])}


def replace_functions(module: str, changed: _Functions) -> Callable[[], None] | None:
    """Replace the code of functions, wherever they are used; return a function that takes it back.

    Return None if the functions are not loaded, or have another number of free variables.
    """
    names = {name for name, _ in changed}
    gc.unfreeze()  # the command line freezes what it imports, and `get_objects` leaves that out
    found = [
        (each, each.__code__)
        for each in gc.get_objects()
        if type(each) is FunctionType and each.__module__ == module and each.__code__.co_qualname in names
    ]
    lines = {name: sorted({code.co_firstlineno for _, code in found if code.co_qualname == name}) for name in names}

    def restore() -> None:
        for function, code in found:
            function.__code__ = code
        _clear_caches()

    try:
        for function, code in found:
            key = code.co_qualname, lines[code.co_qualname].index(code.co_firstlineno)
            function.__code__ = changed.get(key, code)
    except ValueError:
        restore()
        return None
    _clear_caches()
    return restore if found else None


def _clear_caches() -> None:
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and str(each.__module__).startswith("deltaspec"):
            each.cache_clear()


def _list_functions(code: CodeType) -> _Functions:
    """Return the functions of a module and of its classes, without those inside of functions."""
    found: _Functions = {}
    for const in code.co_consts:
        if isinstance(const, CodeType) and _is_class_body(const):
            found |= _list_functions(const)
        elif isinstance(const, CodeType):
            found[const.co_qualname, sum(name == const.co_qualname for name, _ in found)] = const
    return found


def _is_class_body(code: CodeType) -> bool:
    return "__qualname__" in code.co_names and "__module__" in code.co_names


def _describe(code: CodeType, *, skips_functions: bool = False) -> Any:
    """Describe code without line numbers; with `skips_functions`, only module and class bodies."""
    consts = [
        _describe(each, skips_functions=skips_functions)
        if isinstance(each, CodeType) and not (skips_functions and not _is_class_body(each))
        else (each.co_qualname if isinstance(each, CodeType) else (type(each).__name__, repr(each)))
        for each in code.co_consts
    ]
    parts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (*parts, code.co_argcount, code.co_flags, consts)


def _raise_timeout(*_: Any) -> None:
    raise TimeoutError
