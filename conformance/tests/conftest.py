"""Register the hooks of both test trees."""

from helpers.pytest_hooks import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_terminal_summary,
)

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_report_header", "pytest_terminal_summary"]
