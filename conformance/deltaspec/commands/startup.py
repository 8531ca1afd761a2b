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
        os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10,muzzy_decay_ms:0")


class _NoNumPy:
    """Finder of modules that finds neither NumPy nor pandas."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise `ModuleNotFoundError` for the two; other finders look for any other module."""
        if name in ("numpy", "pandas"):
            raise ModuleNotFoundError("the embedded engine does not need it", name=name)


def import_arrow_alone() -> None:
    """Import Arrow without NumPy and pandas, whose imports take longer than to validate most tables.

    Arrow uses NumPy if it can import it when it is imported itself, and pandas when it converts its first Python value,
    to recognize their objects. After this call, it does not know NumPy, and only `to_pandas` imports pandas. Call it
    before any module that imports Arrow; later, it leaves out only pandas. Processes that give objects of the two
    libraries to Arrow, such as those of Spark, must not call it.
    """
    finder: Any = _NoNumPy
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa
        import pyarrow._compute  # the only other module that imports NumPy

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
