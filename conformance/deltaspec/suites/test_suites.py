"""The suites as pytest tests: `pytest --pyargs deltaspec.suites --deltaspec-candidate NAME`."""

from typing import Any


def test_case(deltaspec_case: Any) -> None:
    """Ask the candidate about one table; `deltaspec.pytest_plugin` supplies the cases."""
    deltaspec_case.run()
