"""Hooks of both test trees: seed property tests, leave out slow tests, print how to reproduce a failure."""

from __future__ import annotations

import os

import pytest
from helpers.selection import (
    SPARK,
    compute_seed,
    differs_from_main,
    format_reproduction,
    leaves_out_slow_tests,
)
from hypothesis import Phase, settings

_PRINTED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(compute_seed())
    settings.register_profile("deltaspec", deadline=None)  # a loaded machine must not fail a test
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    settings.register_profile("unshrunk", settings.get_profile("deltaspec"), phases=phases)
    settings.load_profile(os.environ.get("DELTASPEC_PROFILE", "deltaspec"))


def pytest_report_header(config: pytest.Config) -> str | None:
    if config.stash.setdefault(_PRINTED, False):  # both conftest modules register these hooks
        return None
    config.stash[_PRINTED] = True
    tests = "fast tests and those of changed files" if leaves_out_slow_tests() else "every test"
    return f"deltaspec: {tests}, --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect slow tests of unchanged files, unless tests are named one by one; Spark first."""
    if any("::" in argument for argument in config.args):
        return
    deselected = [item for item in items if leaves_out_slow_tests() and not _runs(item)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
    selected = set(items) - set(deselected)
    # Spark tests come first: they wait for the JVM, and other workers take over the tests behind them
    items[:] = sorted((item for item in items if item in selected), key=_rank)


def _runs(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("slow")
    if mark is None and item.get_closest_marker("spark") is None:
        return True
    return differs_from_main(item.path, (SPARK,) if mark is None else mark.args)


def _rank(item: pytest.Item) -> int:
    if item.get_closest_marker("before_spark") is not None:
        return 0
    return 1 if item.get_closest_marker("spark") is not None else 2


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.stash.setdefault(_PRINTED, True):
        return
    config.stash[_PRINTED] = False
    failed = [*terminalreporter.stats.get("failed", []), *terminalreporter.stats.get("error", [])]
    node_ids = dict.fromkeys(report.nodeid for report in failed if hasattr(report, "nodeid"))
    if node_ids:
        terminalreporter.section("reproduce")
        for node_id in node_ids:
            terminalreporter.write_line(format_reproduction(node_id, config.option.hypothesis_seed))
