"""The sizes of a large golden table."""

import hashlib

import msgspec
from msgspec.structs import asdict

from deltaspec.errors import InvalidUsage, suggest_name

LIMITS = {
    "rows": (1, 100_000_000),
    "files": (1, 1_000_000),
    "commits": (1, 10_000),
    "columns": (1, 5_000),
    "depth": (0, 20),
    "deleted": (0, 10_000_000),
    "sidecars": (0, 1_000),
}
"""Smallest and largest value of each size."""


class ScaleOptions(msgspec.Struct, frozen=True):
    """Sizes of a table."""

    rows: int = 1_000
    """Rows before any is deleted, spread evenly over the files."""
    files: int = 10
    commits: int = 1
    """Commits that add the files, after the one that creates the table."""
    columns: int = 5
    """Columns besides the nested one; the first is `id`."""
    depth: int = 0
    """Nesting depth of the column `nested`; 0 for no such column."""
    deleted: int = 0
    """Rows that deletion vectors delete: every second row of the first files."""
    sidecars: int = 0
    """Sidecars of the checkpoint; 0 for no checkpoint."""

    @property
    def sizes(self) -> dict[str, int]:
        """All sizes by name."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """Part of the case id that differs between sizes."""
        return hashlib.sha256(msgspec.json.encode(self.sizes)).hexdigest()[:6]

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the table supports."""
        vectors = ("deletionVectors",) if self.deleted else ()
        return (*vectors, "v2Checkpoint") if self.sidecars else vectors

    def get_first_row(self, file: int) -> int:
        """Return the number of the first row of a file; for the number of files, the number of rows."""
        return self.rows * file // self.files

    def get_first_file(self, commit: int) -> int:
        """Return the number of the first file of a commit, counted from 0."""
        return self.files * commit // self.commits


def parse_scale(text: str) -> ScaleOptions:
    """Parse sizes such as `rows=1000000,files=100`.

    Raises:
        InvalidUsage: a size is unknown or outside of its limits, or sizes contradict each other.
    """
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name not in LIMITS:
            raise InvalidUsage(f"unknown size {name!r} ({suggest_name(name, LIMITS)})")
        low, high = LIMITS[name]
        digits = number.replace("_", "")
        if not digits.isdecimal() or not low <= int(digits) <= high:
            raise InvalidUsage(f"{name} is a number from {low:,} to {high:,}, not {number!r}")
        sizes[name] = int(digits)
    found = ScaleOptions(**sizes)
    if found.rows < found.files:
        raise InvalidUsage(f"{found.files:,} files need at least as many rows; rows is {found.rows:,}")
    if found.rows < 2 * found.deleted:
        raise InvalidUsage(f"every second row can be deleted; {found.deleted:,} of {found.rows:,} are more")
    return found
