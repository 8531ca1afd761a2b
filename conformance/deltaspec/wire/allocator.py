"""How Arrow and Polars allocate memory in processes that run nothing but commands."""

import os
import sys

_KEPT_MS = 1_000

_is_chosen = False


def choose_allocator() -> None:
    """Prefer jemalloc for Arrow on Linux, and let it and Polars return freed memory to the system soon.

    Checkpoint batches are freed with fewer page faults. Memory that is kept for later batches would be a third of the
    peak, because each of the two libraries has its own allocator.
    """
    global _is_chosen
    if sys.platform == "linux" and "pyarrow" not in sys.modules:
        _is_chosen = os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc") == "jemalloc"
        os.environ.setdefault("JE_ARROW_MALLOC_CONF", "dirty_decay_ms:20,muzzy_decay_ms:0")
        os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10,muzzy_decay_ms:0")


def keep_freed_memory() -> None:
    """Let Arrow use freed memory again for a second, if `choose_allocator` chose its allocator.

    For reading many data files: each needs little memory, and about as much as the one before.
    """
    if _is_chosen:
        import pyarrow as pa

        pa.jemalloc_set_decay_ms(_KEPT_MS)
