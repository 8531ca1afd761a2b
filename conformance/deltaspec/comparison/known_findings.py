"""Known findings that explain a difference: entries of `findings.toml`, matched against a description of it.

    [[finding]]
    id = "chdb-null-collections"            # directory below reports/findings
    title = "Null lists, maps and structs become empty ones"
    candidates = ["chdb"]
    evidence = ["^rows: differs", "null for a value of type (list|map)"]   # each must occur in the description
    versions = "<5"                          # optional: versions of the candidate

The description has a line for the check and its outcome, its message, a line for each kind of difference and each
differing column, and a line for each trait of the table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from deltaspec.comparison.judged_table import JudgedTable
from deltaspec.comparison.results import Check, KnownFinding
from deltaspec.protocol.schema.data_types import get_type_name


class FindingEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file."""

    id: str
    title: str
    candidates: tuple[str, ...]
    evidence: tuple[str, ...]
    """Regular expressions that must all occur in the description of a difference."""
    versions: str = ""

    def explains(self, candidate: str, version: str, description: str) -> bool:
        """Return whether the finding may be the cause of a difference."""
        if candidate not in self.candidates or not self._applies(version):
            return False
        return all(re.search(pattern, description, re.MULTILINE) for pattern in self.evidence)

    def _applies(self, version: str) -> bool:
        try:
            return not self.versions or SpecifierSet(self.versions).contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True


@cache
def load_findings() -> tuple[FindingEntry, ...]:
    """Return all entries."""
    content = tomllib.loads(files("deltaspec.comparison").joinpath("findings.toml").read_text("utf-8"))
    return msgspec.convert(content["finding"], tuple[FindingEntry, ...])


def explain_check(check: Check, candidate: str, version: str, table: JudgedTable) -> Check:
    """Return the check with the known findings that may explain it."""
    if check.outcome not in ("differs", "fails"):
        return check
    description = "\n".join(_describe(check, table))
    name = candidate.replace("-", "_").lower()
    known = [each for each in load_findings() if each.explains(name, version, description)]
    return msgspec.structs.replace(check, findings=tuple(KnownFinding(each.id, each.title) for each in known))


def _describe(check: Check, table: JudgedTable) -> Iterator[str]:
    yield f"{check.name}: {check.outcome}"
    yield check.message
    if check.difference is not None:
        yield from (f"kind: {each}" for each in check.difference.kinds)
        for field in table.schema.fields:
            if field.name in check.difference.columns:
                role = "partition column" if field.name in table.partition_columns else "column"
                yield f"{role} differs: {get_type_name(field.type)}"
    yield from (f"table: {each}" for each in table.list_traits())
