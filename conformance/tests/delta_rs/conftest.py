"""Prints the divergences seen in the tables of delta-rs."""

import pytest
from deviations import summary


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in summary("delta_rs"):
        terminalreporter.write_line(f"divergence: {line}")
