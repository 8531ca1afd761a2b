"""Print a summary of the divergences found in delta-rs tables."""

import pytest
from helpers.known_deviations import list_divergences


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in list_divergences("delta_rs"):
        terminalreporter.write_line(f"divergence: {line}")
