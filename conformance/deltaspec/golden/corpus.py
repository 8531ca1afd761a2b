"""Find and read the built golden tables: in a checkout, or in the installed package `deltaspec-golden`."""

import fnmatch
import hashlib
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.golden.case_format import CaseDocument, ListedCase, Manifest
from deltaspec.golden.index import INDEX, Index
from deltaspec.installation import GOLDEN_TABLES, find_checkout

MANIFEST = "manifest.json"
PACKAGE = "deltaspec_golden"


class Listing(msgspec.Struct, frozen=True):
    """A case in `manifest.json` or `index.json`."""

    id: str
    path: str
    """Folder of the case, relative to the directory of all cases."""
    sha256: dict[str, str]
    """Hashes of its files by path in the folder."""


class CaseFiles(Protocol):
    """A golden case that can be exported: on disk or in memory."""

    @property
    def description(self) -> CaseDocument: ...

    @property
    def listed(self) -> Listing | ListedCase: ...

    @property
    def id(self) -> str: ...

    def read_file(self, path: str) -> bytes:
        """Return the content of a file, by its path in the folder of the case."""
        ...

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of every file, in the order of the paths."""
        ...


class StoredCase(msgspec.Struct, frozen=True):
    """A golden case on disk. A `CaseFiles`."""

    description: CaseDocument
    folder: Path
    listed: Listing

    @property
    def id(self) -> str:
        return self.listed.id

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]

    def read_file(self, path: str) -> bytes:
        """Read a file of the case. Raises `InvalidUsage` if it is missing or differs from its hash."""
        try:
            data = (self.folder / path).read_bytes()
        except OSError as error:
            raise InvalidUsage(f"{self.folder / path}: cannot be read: {error.strerror}") from None
        if hashlib.sha256(data).hexdigest() != self.listed.sha256[path]:
            raise InvalidUsage(f"{self.folder / path}: the SHA-256 is not the one that the list of cases states")
        return data

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of every file, in the order of the paths."""
        for path in sorted(self.listed.sha256):
            yield path, self.read_file(path)


class GoldenCorpus(msgspec.Struct, frozen=True):
    """Golden cases below a directory with a manifest."""

    root: Path
    cases: tuple[StoredCase, ...]

    def select(self, patterns: Sequence[str]) -> list[StoredCase]:
        """Return the cases whose id or chapter matches one of the patterns; all cases without patterns.

        Raises:
            InvalidUsage: A pattern matches no case.
        """
        found: dict[str, StoredCase] = {}
        for pattern in patterns:
            matching = {
                case.id: case for case in self.cases if case.chapter == pattern or fnmatch.fnmatchcase(case.id, pattern)
            }
            if not matching:
                raise InvalidUsage(f"no golden case matches {pattern}; `deltaspec golden list` lists all")
            found |= matching
        return sorted(found.values(), key=lambda case: case.id) if patterns else list(self.cases)


def load_corpus(root: Path | None = None) -> GoldenCorpus:
    """Load the golden cases of a directory, by default of the checkout or the installed package.

    Raises:
        InvalidUsage: There are none, or the manifest or a case cannot be read.
    """
    root = root or find_corpus()
    cases = []
    for listed in sorted(_list_cases(root), key=lambda case: case.id):
        for path in (listed.path, listed.id, *listed.sha256):
            _check_path(path, root)
        folder = root / listed.path
        cases.append(StoredCase(_decode(folder / "case.json", CaseDocument), folder, listed))
    return GoldenCorpus(root, tuple(cases))


def _check_path(path: str, root: Path) -> None:
    """Raise `InvalidUsage` if a path leaves the directory of the cases: an export would write outside of its own."""
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts or "\\" in path or "\0" in path:
        raise InvalidUsage(f"{root}: the list of cases names {path!r}, which is not a path below it")


def _list_cases(root: Path) -> list[Listing]:
    """Read the index of a release, or else the manifest of a checkout."""
    if (root / INDEX).is_file():
        index: Index = _decode(root / INDEX, Index)
        return [
            Listing(case.id, case.path, {path: file.sha256 for path, file in case.files.items()})
            for case in index.cases
        ]
    manifest: Manifest = _decode(root / MANIFEST, Manifest)
    return [Listing(case.id, case.path, case.sha256) for case in manifest.cases]


def find_corpus() -> Path:
    """Return the directory of the golden tables. Raises `InvalidUsage` if there is none."""
    checkout = find_checkout()
    if checkout is not None and (checkout / GOLDEN_TABLES / MANIFEST).is_file():
        return checkout / GOLDEN_TABLES
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise InvalidUsage(
            "no golden tables are installed; use --cases with the folder golden-tables of a checkout, or install "
            "the wheel of deltaspec-golden that `nox -s golden_distribution` builds there"
        )
    return Path(package.origin).parent / "cases"


def _decode(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InvalidUsage(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidUsage(f"{path}: {error}") from None
