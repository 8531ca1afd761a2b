"""Read files of an untrusted directory: bounded sizes, nothing outside of it, one clear error."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.report.text import escape_text

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
MAX_ROWS_BYTES = 256 * 1024 * 1024
"""Maximum size of the Parquet files with the expected rows of one question."""
MAX_ENTRIES = 1_000_000
_Document = TypeVar("_Document")


def build_name(text: str) -> str:
    """Return a file name as an id that reports can show: without invisible characters and backticks."""
    return escape_text(text).replace("`", "'")


class ImportFolder:
    """A directory with imported cases, listed once.

    Raises:
        InvalidUsage: There is no such directory, a symbolic link leaves it, or it has too many files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise InvalidUsage(f"{root}: no such directory")
        self._files: dict[Path, list[str]] = {}
        entries = 0

        def stop(error: OSError) -> None:
            raise InvalidUsage(f"{error.filename}: cannot be listed: {error.strerror}")

        for directory, folders, files in os.walk(self.root, onerror=stop):
            here = Path(directory)
            for name in (*folders, *files):
                if (here / name).is_symlink():
                    self._check_link(here / name)
            folders.sort()
            self._files[here] = sorted(files)
            entries += len(folders) + len(files)
            if entries > MAX_ENTRIES:
                raise InvalidUsage(f"{root}: more than {MAX_ENTRIES:,} files; import a smaller directory")

    def _check_link(self, link: Path) -> None:
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            raise InvalidUsage(f"{link}: the symbolic link leads nowhere") from None
        if not target.is_relative_to(self.root):
            raise InvalidUsage(f"{link}: the symbolic link leaves the imported directory")

    @property
    def directories(self) -> list[Path]:
        """All directories in it, itself first; directories behind symbolic links are left out."""
        return list(self._files)

    def list_names(self, directory: Path) -> list[str]:
        """List the names of the files in a directory; empty if no such directory."""
        return self._files.get(directory, [])

    def has(self, path: Path) -> bool:
        """Return whether there is such a directory."""
        return path in self._files

    def read_document(self, path: Path, kind: type[_Document]) -> _Document:
        """Decode a JSON file.

        Raises:
            InvalidUsage: It cannot be read, is too large, or has another content.
        """
        try:
            return msgspec.json.decode(read_input_file(path, MAX_DOCUMENT_BYTES), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidUsage(f"{path}: {error}") from None

    def list_rows(self, directory: Path) -> tuple[Path, ...]:
        """List the Parquet files of a directory, without those that Spark hides.

        Raises:
            InvalidUsage: They are too large.
        """
        names = [name for name in self.list_names(directory) if name.endswith(".parquet") and name[0] not in "._"]
        found = tuple(directory / name for name in names)
        total = sum(path.stat().st_size for path in found)
        if total > MAX_ROWS_BYTES:
            raise InvalidUsage(f"{directory}: {total:,} bytes of expected rows; at most {MAX_ROWS_BYTES:,} are read")
        return found
