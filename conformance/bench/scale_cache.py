"""Cache of large tables in `$DELTASPEC_BENCH_SCALE`, by default in the temporary directory of the system."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def get_or_write(name: str, generation: int, write: Callable[[Path], None]) -> Path:
    """Return the cached folder of this name; write it if it is missing or has another generation."""
    default = Path(tempfile.gettempdir()) / "deltaspec-bench-scale"
    cache = Path(os.environ.get("DELTASPEC_BENCH_SCALE", default))
    target, generation_file = cache / name, cache / f"{name}.generation"
    if target.exists() and generation_file.exists() and generation_file.read_text() == str(generation):
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="incomplete-") as temporary:
        folder = Path(temporary) / "table"
        folder.mkdir()
        write(folder)
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    generation_file.write_text(str(generation))
    return target


def check_free_disk(folder: Path, needed: int) -> None:
    """Check that the disk has twice the needed bytes free, because others use it too.

    Raises:
        SystemExit: there is not enough free space.
    """
    free = shutil.disk_usage(folder).free
    if free < 2 * needed:
        sys.exit(f"{folder}: {free / 1e9:.0f} GB are free, {2 * needed / 1e9:.0f} GB are required")
