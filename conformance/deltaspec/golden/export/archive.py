"""The release archive: golden cases with an index, as one file whose bytes follow from the cases alone."""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from deltaspec.golden.corpus import CaseFiles, GoldenCorpus, StoredCase
from deltaspec.golden.export.layouts import fill_new_directory
from deltaspec.golden.index import FORMAT, INDEX, Index, IndexedCase, IndexedFile

COMPRESSION_LEVEL = 19
_GUIDES = ("README.md", "case.schema.json")
"""Files that make the cases usable without deltaspec."""


def name_archive(version: str) -> str:
    """Return the file name of the archive of a release."""
    return f"deltaspec-golden-{version}.tar.zst"


def build_archive(corpus: GoldenCorpus, cases: Sequence[StoredCase], version: str) -> bytes:
    """Build the release archive: a compressed tar file. Equal cases and versions give equal bytes."""
    folder = name_archive(version).removesuffix(".tar.zst")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in iter_release_files(corpus, cases, version):
            entry = tarfile.TarInfo(f"{folder}/{path}")  # owner, mode and time are constants
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    compressed: bytes = pa.Codec("zstd", COMPRESSION_LEVEL).compress(buffer.getvalue(), asbytes=True)
    return compressed


def write_release(corpus: GoldenCorpus, cases: Sequence[StoredCase], version: str, directory: Path) -> None:
    """Write the content of the archive into a new or empty directory.

    Raises:
        InvalidUsage: the directory exists and is not empty, or cannot be written.
    """
    with fill_new_directory(directory) as content:
        for path, data in iter_release_files(corpus, cases, version):
            target = content / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def iter_release_files(corpus: GoldenCorpus, cases: Iterable[StoredCase], version: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file of a release; the index comes first."""
    indexed, content = [], []
    for case in cases:
        files = list(case.iter_files())
        indexed.append(describe_case(case, files))
        content += [(f"{case.listed.path}/{path}", data) for path, data in files]
    yield INDEX, encode_index(indexed, version)
    for name in _GUIDES:
        yield name, (corpus.root / name).read_bytes()
    yield from content


def encode_index(cases: Iterable[IndexedCase], version: str) -> bytes:
    """Encode the index of cases."""
    index = Index(format=FORMAT, version=version, cases=tuple(cases))
    return msgspec.json.format(msgspec.json.encode(index), indent=2) + b"\n"


def describe_case(case: CaseFiles, files: Iterable[tuple[str, bytes]]) -> IndexedCase:
    """Return the entry of a case in the index."""
    found = case.description
    return IndexedCase(
        id=case.id,
        path=case.listed.path,
        title=found.title,
        meaning=found.meaning,
        kind=found.expect.kind,
        requirements=found.requirements,
        reader_features=found.features.reader,
        writer_features=found.features.writer,
        files={path: IndexedFile(hashlib.sha256(data).hexdigest(), len(data)) for path, data in files},
    )
