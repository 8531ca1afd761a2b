"""What commits say they do. Source: Commit Provenance Information, whose `operation` is free text by the protocol."""

import re

OF_OLDER_FILES = "restore|clone|convert|copy|replicat|import|rollback"
"""Words of operations that take over files of another state or table."""


def takes_over(operation: str | None) -> bool:
    """Whether an operation, by its name, takes over files of another state or table, and what it had with them."""
    return operation is not None and re.search(OF_OLDER_FILES, operation.lower()) is not None
