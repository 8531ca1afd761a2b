"""Hooks of both test trees: seed property tests, select multiplied tests, print how to reproduce a failure."""

from __future__ import annotations

import os

import pytest
from helpers.selection import (
    compute_seed,
    describe_selection,
    format_reproduction,
    is_in_folder_share,
    is_selected,
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
    return describe_selection()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that this commit does not run, unless tests are named one by one; Spark first."""
    if any("::" in argument for argument in config.args):
        return
    selected, deselected = [], []
    for item in items:
        mark = item.get_closest_marker("multiplied")
        runs = (
            is_in_folder_share(item.name, item.path)
            if mark is None
            else is_selected(item.name, mark.args[0], mark.args[1:])
        )
        (selected if runs else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
    # Spark tests come first: they wait for the JVM, and other workers take over the tests behind them
    items[:] = sorted(selected, key=_rank)


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
            terminalreporter.write_line(format_reproduction(node_id))
