"""Distinguish corrupt Parquet files from files that only Arrow cannot read."""

import pyarrow as pa

_UNSUPPORTED = (
    "not built",
    "decrypt",
    "encrypt",
    "not implemented",
    "not supported",
    "unsupported",
    "not yet",
    "unknown encoding",
    "malloc",
)
"""Parts of Arrow's messages for pages that are unsupported but may be valid."""


def is_corruption(fault: Exception) -> bool:
    """Return whether an error of Arrow means that pages are corrupt, rather than unsupported."""
    if isinstance(fault, (MemoryError, NotImplementedError)) or getattr(fault, "errno", None) is not None:
        return False
    return isinstance(fault, (OSError, pa.ArrowException)) and not is_unsupported(fault)


def is_unsupported(fault: Exception) -> bool:
    """Return whether an error of Arrow means that it does not implement a part of the format that the file uses."""
    text = str(fault).casefold()
    return isinstance(fault, NotImplementedError) or any(part in text for part in _UNSUPPORTED)
