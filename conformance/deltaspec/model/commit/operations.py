"""Operation names of commits. Source: Commit Provenance Information, which defines `operation` as free text."""

import re

FILE_REUSING_OPERATIONS = "restore|clone|convert|copy|replicat|import|rollback"
"""Words in the names of operations that reuse files of another state or table."""


def reuses_existing_files(operation: str | None) -> bool:
    """Return whether an operation, by its name, reuses files of another state or table with their metadata."""
    return operation is not None and re.search(FILE_REUSING_OPERATIONS, operation.lower()) is not None
