"""`--catalog-commits`: the answer of a catalog, as a file. Source: Getting Ratified Commits from the Catalog (current).

Another source of the same answer, such as the client of a catalog, builds `RatifiedCommits` too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from os import PathLike
from typing import Annotated, Any

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.protocol.log.file_names import MAX_VERSION, STAGED_COMMITS, StagedCommit, parse_log_file_name
from deltaspec.wire.storage.interface import escape_file_name

_MAX_BYTES = 256 << 20
_Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_VERSION)]


class CatalogCommit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A ratified commit that the catalog stores: a staged file or the content, not both."""

    version: _Version
    staged: str | None = None
    """Name of a file in `_delta_log/_staged_commits`, such as `<version>.<uuid>.json`."""
    content: str | None = None
    """Content of an inline commit: one action as JSON in each line."""


class CatalogCommits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answer of a catalog: the latest version of the table, and the ratified commits that it still stores."""

    latest_version: _Version
    commits: list[CatalogCommit] = []
    """With consecutive versions, ascending. Published commits may be left out."""


class RatifiedCommits(msgspec.Struct, frozen=True):
    """What a catalog says about a table."""

    latest: int
    """The latest version of the table."""
    sources: dict[int, str | None]
    """Name of the staged commit relative to `_delta_log`, by version; None for an inline commit."""
    contents: dict[int, bytes] = {}
    """Content of each inline commit, by version."""

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        contents = {version: sha256(content).hexdigest() for version, content in sorted(self.contents.items())}
        return sha256(repr((self.latest, sorted(self.sources.items()), contents)).encode()).hexdigest()


def build_catalog_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `CatalogCommits`."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "deltaspec catalog commits"}
    return {**head, **msgspec.json.schema(CatalogCommits)}


def render_catalog_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_catalog_schema(), indent=2) + "\n"


def load_catalog_commits(file: str | PathLike[str]) -> RatifiedCommits:
    """Load the file of `--catalog-commits`.

    Raises:
        InvalidUsage: it cannot be read, is larger than 256 MiB, or is not such an answer.
    """
    shown = f"--catalog-commits {escape_file_name(str(file))}"
    data = read_input_file(file, _MAX_BYTES, shown)
    try:
        answer = msgspec.json.decode(data, type=CatalogCommits)
    except (msgspec.MsgspecError, RecursionError, ValueError) as fault:
        message = str(fault) or "is nested too deeply"
        raise InvalidUsage(f"{shown}: {message}; see `deltaspec schema catalog-commits`") from fault
    try:
        return _build_ratified(answer)
    except ValueError as fault:
        raise InvalidUsage(f"{shown}: {fault}") from fault


def convert_answer(answer: Any) -> RatifiedCommits:
    """Return the answer of a catalog that has the shape of the file.

    Raises:
        ValueError: it is not such an answer.
    """
    return _build_ratified(msgspec.convert(answer, CatalogCommits))


def _build_ratified(answer: CatalogCommits) -> RatifiedCommits:
    fault_text = next(_find_faults(answer), None)
    if fault_text is not None:
        raise ValueError(fault_text)
    return RatifiedCommits(
        latest=answer.latest_version,
        sources={each.version: _name_staged(each) for each in answer.commits},
        contents={each.version: each.content.encode() for each in answer.commits if each.content is not None},
    )


def _name_staged(commit: CatalogCommit) -> str | None:
    return None if commit.staged is None else STAGED_COMMITS + commit.staged.removeprefix(STAGED_COMMITS)


def _find_faults(answer: CatalogCommits) -> Iterator[str]:
    """Yield what is wrong with an answer that has the right types."""
    previous: int | None = None
    for each in answer.commits:
        version = each.version
        if previous is not None and version != previous + 1:
            yield f"version {version} follows version {previous}; expected {previous + 1}"
        if version > answer.latest_version:
            yield f"version {version} is later than latest_version {answer.latest_version}"
        if (each.staged is None) is (each.content is None):
            yield f"version {version} needs either staged or content"
        name = _name_staged(each)
        if name is not None:
            parsed = parse_log_file_name(name)
            if not isinstance(parsed, StagedCommit):
                yield f"version {version} has {each.staged!r}, which is no <version>.<uuid>.json in _staged_commits"
            elif parsed.version != version:
                yield f"version {version} has the staged commit of version {parsed.version}"
        previous = version
