"""The pytest plugin: options, a fixture, one test for each case, and known failures.

It imports nothing heavy when it is loaded.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from deltaspec.candidates.host import Candidate
    from deltaspec.suites.checks import TableUnderTest
    from deltaspec.suites.known_failures import KnownFailures
    from deltaspec.suites.outcomes import CaseResult

OPTIONS_ATTRIBUTE = "_deltaspec_options"
"""Attribute of a class of `deltaspec.pytest.suite` with its options."""
_RUNS = pytest.StashKey["dict[SuiteOptions, _Run]"]()


@dataclass(frozen=True)
class SuiteOptions:
    """Options of one suite: the candidate, and what to ask it."""

    candidate: str
    suites: tuple[str, ...] = ()
    """All suites if empty."""
    tables: int = 100
    seed: int = 1
    known: str | None = None
    timeout_scale: float = 1.0


@dataclass
class _Run:
    """The state of a candidate's tests in this process."""

    options: SuiteOptions
    complete: bool = True
    """Whether all collected cases were selected."""
    directory: str = field(default_factory=lambda: tempfile.mkdtemp(prefix="deltaspec-"))
    _subject: TableUnderTest | None = None

    @cached_property
    def candidate(self) -> Candidate:
        from deltaspec.suites.startup import start_candidate

        return start_candidate(self.options.candidate, timeout_scale=self.options.timeout_scale)

    @cached_property
    def known_failures(self) -> KnownFailures:
        import datetime

        from deltaspec.suites.known_failures import KnownFailures, load_known_failures

        entries = load_known_failures(Path(self.options.known)) if self.options.known else []
        today = datetime.datetime.now(datetime.UTC).date()
        return KnownFailures(entries, self.candidate.capabilities.version, today)

    def build_subject(self, table: str) -> TableUnderTest:
        """Return a table on disk. Tests of one table follow each other, so only the last one is kept."""
        from deltaspec.suites.subjects import build_subject

        if self._subject is None or self._subject.id != table:
            self._remove_tables()
            self._subject = build_subject(table, Path(self.directory) / table)
        return self._subject

    def _remove_tables(self) -> None:
        for each in Path(self.directory).iterdir():
            shutil.rmtree(each, ignore_errors=True)

    def close(self) -> None:
        """End the candidate and remove the files."""
        if "candidate" in self.__dict__:
            self.candidate.close()
        shutil.rmtree(self.directory, ignore_errors=True)


@dataclass(frozen=True)
class CaseRunner:
    """One case of a candidate, as the argument of a test."""

    run_state: _Run = field(repr=False)
    check: str
    table: str

    def run(self) -> CaseResult:
        """Ask the candidate; fail, skip or xfail the test by the outcome."""
        from deltaspec.candidates.host import GivenUp
        from deltaspec.suites.all_checks import CHECKS
        from deltaspec.suites.cases import Case, run_case
        from deltaspec.suites.outcomes import Outcome
        from deltaspec.suites.rendering import render_failure

        case = Case(CHECKS[self.check], self.run_state.build_subject(self.table))
        try:
            result = self.run_state.known_failures.judge(run_case(self.run_state.candidate, case))
        except GivenUp as error:
            pytest.exit(f"deltaspec: {error}", returncode=error.exit_code)
        if result.outcome.is_bad:
            pytest.fail("\n".join(render_failure(result, self.run_state.options.candidate)), pytrace=False)
        if result.outcome is Outcome.EXPECTED_FAILURE:
            pytest.xfail(result.known_failure)
        if result.outcome is Outcome.NOT_ASKED:
            pytest.skip(result.message)
        return result


@pytest.fixture(scope="session")
def assert_conformant() -> Callable[..., None]:
    """Return the function `deltaspec.pytest.assert_conformant`: it fails if a table violates the protocol."""
    from deltaspec.table_assertion import assert_conformant

    return assert_conformant


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `pytest --pyargs deltaspec.suites`."""
    group = parser.getgroup("deltaspec", "conformance of Delta engines (deltaspec)")
    group.addoption(
        "--deltaspec-candidate",
        action="append",
        default=[],
        metavar="NAME",
        help="engine under test: an adapter, cmd:COMMAND or py:MODULE:CLASS; can be repeated",
    )
    group.addoption(
        "--deltaspec-suite", action="append", default=[], metavar="NAME", help="run only this suite; can be repeated"
    )
    group.addoption("--deltaspec-tables", type=_parse_count, default=100, metavar="N", help="number of drawn tables")
    group.addoption("--deltaspec-seed", type=_parse_count, default=1, metavar="N", help="seed of the drawn tables")
    group.addoption("--deltaspec-known", metavar="FILE", help="known failures of the candidate (TOML)")
    group.addoption("--deltaspec-timeout-scale", type=float, default=1.0, metavar="X", help="multiplies all deadlines")


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0, found {text}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the state of the candidates."""
    config.stash[_RUNS] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Supply the cases of the candidates to tests with the argument `deltaspec_case`."""
    if "deltaspec_case" not in metafunc.fixturenames:
        return
    from deltaspec.errors import DeltaspecError

    chosen = getattr(metafunc.cls, OPTIONS_ATTRIBUTE, None)
    all_options = [chosen] if chosen is not None else _read_options(metafunc.config)
    runs = metafunc.config.stash[_RUNS]
    try:
        cases = [
            (case, identity)
            for options in all_options
            for case, identity in _list_cases(runs.setdefault(options, _Run(options)), len(all_options) > 1)
        ]
    except DeltaspecError as error:
        _stop(str(error))
    metafunc.parametrize("deltaspec_case", [case for case, _ in cases], ids=[identity for _, identity in cases])


def _stop(reason: str) -> NoReturn:
    """Fail the collection, without a traceback."""
    raise pytest.Collector.CollectError(f"deltaspec: {reason}")


def _read_options(config: pytest.Config) -> list[SuiteOptions]:
    candidates: Sequence[str] = config.getoption("--deltaspec-candidate")
    if not candidates:
        _stop("--deltaspec-candidate is missing: the engine to test, such as deltalake")
    return [
        SuiteOptions(
            candidate,
            tuple(config.getoption("--deltaspec-suite")),
            config.getoption("--deltaspec-tables"),
            config.getoption("--deltaspec-seed"),
            config.getoption("--deltaspec-known"),
            config.getoption("--deltaspec-timeout-scale"),
        )
        for candidate in candidates
    ]


def _list_cases(run: _Run, named: bool) -> Iterator[tuple[CaseRunner, str]]:
    """Yield the cases of a candidate with their ids: check, table, and the features of the table in kebab case."""
    from deltaspec.suites.cases import list_cases
    from deltaspec.suites.runner import build_suite_plan, select_suites
    from deltaspec.suites.subjects import describe_subject

    suites = select_suites(run.options.suites)
    assert run.known_failures  # reads the file, so that a fault in it ends the collection
    prefix = f"{run.options.candidate}/" if named else ""
    for table in build_suite_plan(suites, run.options.seed, run.options.tables).corpus.list_ids():
        subject = describe_subject(table)
        features = "+".join(sorted(map(_to_kebab_case, subject.table.features)))
        for case in list_cases(run.candidate.capabilities, [subject], suites):
            yield CaseRunner(run, case.check.name, table), f"{prefix}{case.id}{f'/{features}' if features else ''}"


def _to_kebab_case(name: str) -> str:
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in name)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Remember that not all cases run, so that known failures without a case are no fault."""
    for item in items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("deltaspec_case")  # type: ignore[attr-defined]
        if isinstance(case, CaseRunner):
            case.run_state.complete = False


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End the candidates. Known failures that match no case fail the run."""
    runs: dict[SuiteOptions, _Run] = session.config.stash.get(_RUNS, {})
    unused: list[str] = []
    has_stopped = exitstatus not in (0, 1) or session.shouldfail or session.shouldstop
    is_complete = not has_stopped and not _is_distributed(session.config)
    for run in runs.values():
        if run.options.known and run.complete and is_complete:
            from deltaspec.suites.runner import select_suites

            unused += run.known_failures.list_unused(select_suites(run.options.suites))
        run.close()
    if unused:
        session.config.stash[_UNUSED] = unused
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


_UNUSED = pytest.StashKey[list[str]]()


def _is_distributed(config: pytest.Config) -> bool:
    """Return whether pytest-xdist gives this process only a part of the tests."""
    return hasattr(config, "workerinput") or bool(getattr(config.option, "numprocesses", None))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """List known failures that match no case."""
    unused = config.stash.get(_UNUSED, [])
    if unused:
        terminalreporter.section("known failures that match no case", red=True)
        for line in unused:
            terminalreporter.line(line)
