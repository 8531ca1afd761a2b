"""The index of a release of golden tables, `index.json`."""

import msgspec

INDEX = "index.json"
FORMAT = 1


class IndexedFile(msgspec.Struct, frozen=True):
    """A file of a case."""

    sha256: str
    bytes: int


class IndexedCase(msgspec.Struct, frozen=True):
    """A case in the index; `case.json` has the rest."""

    id: str
    path: str
    title: str
    meaning: int
    kind: str
    requirements: tuple[str, ...]
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]
    files: dict[str, IndexedFile]
    """By path relative to `path`."""


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `index.json`."""

    format: int
    version: str
    """Release of deltaspec that built it."""
    license: str = "Apache-2.0"
    cases: tuple[IndexedCase, ...]
