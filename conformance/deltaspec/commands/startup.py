"""Start commands that read tables quickly: how Arrow is set up, and how modules are imported."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def choose_allocator() -> None:
    """Prefer jemalloc for Arrow on Linux, and let it and Polars return freed memory to the system soon.

    Checkpoint batches are freed with fewer page faults. Memory that is kept for later batches would be a third of the
    peak, because each of the two libraries has its own allocator.
    """
    if sys.platform == "linux" and "pyarrow" not in sys.modules:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
        os.environ.setdefault("JE_ARROW_MALLOC_CONF", "dirty_decay_ms:20,muzzy_decay_ms:0")
        os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")


class _NoPandas:
    """Finder of modules that does not find pandas."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise `ModuleNotFoundError` for pandas; other finders look for any other module."""
        if name == "pandas":
            raise ModuleNotFoundError("the embedded engine does not need pandas", name=name)


def leave_out_pandas() -> None:
    """Make Arrow convert its first Python value without pandas, whose import takes longer than to validate most tables.

    Arrow imports pandas, if it is installed, to recognize its objects among Python values. It tries only once: after
    this call, only `to_pandas` imports it. Processes that give pandas objects to Arrow must not call this.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder: Any = _NoPandas
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)


@contextmanager
def faster_imports() -> Iterator[None]:
    """Import modules without garbage collection, and never traverse them later: they live as long as the process."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
