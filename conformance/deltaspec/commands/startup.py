"""Start commands that read tables quickly: how Arrow is set up, and how modules are imported."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

_ALLOCATION = "narenas:2,muzzy_decay_ms:0,dirty_decay_ms:"
_LARGE_CHECKPOINT_BYTES = 256 << 20


def choose_allocator(table: str = "", *, reads_rows: bool = False) -> None:
    """Choose how Arrow and Polars allocate memory on Linux, and how soon they return it to the system.

    Memory that is kept for later batches would be a third of the peak, because each of the two libraries has its own
    allocator. With few arenas, threads reuse what others freed, so a tenth of a second saves most page faults.

    Arrow doubles a buffer until the strings of a batch fit, and jemalloc returns each freed buffer of some megabytes
    immediately. The allocator of the system keeps them, which saves a tenth of the CPU time for large checkpoints and
    for rows, and takes up to 130 MB more for checkpoints. Polars keeps memory for ten seconds with large ones.

    Args:
        table: path of the table to read, if there is only one.
        reads_rows: whether rows of its data files are read.
    """
    if sys.platform == "linux" and "pyarrow" not in sys.modules:
        is_large = bool(table) and _has_large_checkpoint(table)
        allocation = f"{_ALLOCATION}{10_000 if is_large else 100}"
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system" if is_large or reads_rows else "jemalloc")
        os.environ.setdefault("JE_ARROW_MALLOC_CONF", allocation)
        os.environ.setdefault("_RJEM_MALLOC_CONF", allocation)


def _has_large_checkpoint(table: str) -> bool:
    """Return whether the log of a local table has large Parquet files."""
    log = Path(table) / "_delta_log"
    total = 0
    for folder in (log, log / "_sidecars"):
        with suppress(OSError, ValueError), os.scandir(folder) as entries:
            total += sum(entry.stat().st_size for entry in entries if entry.name.endswith(".parquet"))
    return total > _LARGE_CHECKPOINT_BYTES


_left_out = {"pandas"}
"""Packages that imports do not find."""


class _Missing:
    """Finder of modules that does not find some packages."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Raise `ModuleNotFoundError` for these packages; other finders look for any other module."""
        if name in _left_out:
            raise ModuleNotFoundError("Arrow is imported without it", name=name)


_import_lock = RLock()


class _Deferred(ModuleType):
    """Module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        with _import_lock:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            module = import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def defer_package_metadata() -> None:
    """Let this process import `importlib.metadata` when it is used. Only for processes that run nothing but commands.

    Polars imports it, and needs it only for Iceberg. It is 15 modules, which take some 10 ms.
    """
    name = "importlib.metadata"
    if name not in sys.modules:
        module = importlib.metadata = _Deferred(name)
        module.__spec__ = find_spec(name)
        sys.modules[name] = module


def leave_out_numpy() -> None:
    """Let this process import Arrow without NumPy. Only for processes that run nothing but commands.

    Afterwards, Arrow can neither read nor write objects of NumPy and pandas: `to_pandas` crashes.
    """
    _left_out.add("numpy")


def import_arrow_alone() -> None:
    """Import Arrow without pandas, and without NumPy after `leave_out_numpy`.

    Importing them takes longer than validating most tables. Arrow looks for NumPy when it is imported, and for pandas
    when it converts its first Python value, to recognize their objects. If Arrow is imported already, only pandas is
    left out. Processes that run Spark must not call this.
    """
    finder: Any = _Missing
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
