"""Operation names of commits. Source: Commit Provenance Information, which defines `operation` as free text."""

import re
from typing import Any

FILE_REUSING_OPERATIONS = "restore|clone|convert|copy|replicat|import|rollback"
"""Words in the names of operations that reuse files of another state or table."""

_MAKES_OR_RESTORES = re.compile("create|replace|restore|rollback|clone|convert|import|replicat", re.IGNORECASE)
"""The protocol does not define operation names; engines agree on these words."""


def reuses_existing_files(operation: str | None) -> bool:
    """Return whether an operation, by its name, reuses files of another state or table with their metadata."""
    return operation is not None and re.search(FILE_REUSING_OPERATIONS, operation.lower()) is not None


def creates_or_restores_table(operation: Any) -> bool:
    """Return whether a commit states that it creates, replaces or restores a table."""
    return isinstance(operation, str) and _MAKES_OR_RESTORES.search(operation) is not None
