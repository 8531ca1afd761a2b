"""What commits say they do. Source: Commit Provenance Information, whose `operation` is free text by the protocol."""

import re

FILE_REUSING_OPERATIONS = "restore|clone|convert|copy|replicat|import|rollback"
"""Words of operations that take over files of another state or table."""


def reuses_existing_files(operation: str | None) -> bool:
    """Whether an operation, by its name, takes over files of another state or table, and what it had with them."""
    return operation is not None and re.search(FILE_REUSING_OPERATIONS, operation.lower()) is not None
