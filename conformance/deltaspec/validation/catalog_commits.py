"""`--catalog-commits`: the answer of a catalog, as a file. Another source of the answer builds `CatalogAnswer` too.

Source: Getting Ratified Commits from the Catalog (current).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import Any

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.json_schemas import describe_type
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit
from deltaspec.protocol.log.file_names import StagedCommit, parse_log_file_name
from deltaspec.wire.storage.interface import escape_file_name

_MAX_BYTES = 256 << 20


class CatalogCommit(RatifiedCommit, frozen=True, forbid_unknown_fields=True):
    """A ratified commit that the catalog stores: a staged file or the content, not both."""


class CatalogCommits(CatalogAnswer, frozen=True, forbid_unknown_fields=True):
    """Answer of a catalog: the latest version of the table, and the ratified commits that it still stores."""

    commits: tuple[CatalogCommit, ...] = ()


def build_catalog_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `CatalogCommits`."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "deltaspec catalog commits"}
    return {**head, **describe_type(CatalogCommits)}


def render_catalog_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_catalog_schema(), indent=2) + "\n"


def load_catalog_commits(file: str | PathLike[str]) -> CatalogAnswer:
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
        return _check_answer(answer)
    except ValueError as fault:
        raise InvalidUsage(f"{shown}: {fault}") from fault


def convert_answer(answer: Any) -> CatalogAnswer:
    """Return the answer of a catalog that has the shape of the file.

    Raises:
        ValueError: it is not such an answer.
    """
    return _check_answer(msgspec.convert(answer, CatalogCommits))


def _check_answer(answer: CatalogCommits) -> CatalogAnswer:
    fault_text = next(_find_faults(answer), None)
    if fault_text is not None:
        raise ValueError(fault_text)
    return answer


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
        if each.source is not None:
            parsed = parse_log_file_name(each.source)
            if not isinstance(parsed, StagedCommit):
                yield f"version {version} has {each.staged!r}, which is no <version>.<uuid>.json in _staged_commits"
            elif parsed.version != version:
                yield f"version {version} has the staged commit of version {parsed.version}"
        previous = version
