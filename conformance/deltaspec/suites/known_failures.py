"""Known failures of a candidate: a TOML file with one entry for each distinct cause.

    [[failure]]
    cases = ["read.*/drawn.7.13", "read.all-rows/*void*"]   # globs over case ids; each must match a case of the run
    outcome = "failed"
    match = "wrong rows"                     # regular expression that must occur in the message
    reason = "deletion vectors are ignored if the property is false"
    link = "https://github.com/…/issues/1"   # optional
    requirement = "deletion-vectors.honoured-without-property"   # optional: what it breaks
    versions = "<1.7"                        # optional: versions of the candidate, as in Python requirements
    until = 2027-01-31                       # optional: the last day on which the entry counts

A run fails if a listed case passes or fails in another way, or if an entry matches nothing: the list stays true or is
corrected. One file serves runs over golden cases (`*/golden.…`), over drawn tables of earlier revisions
(`*/drawn-r1.…`) and over other tables: a run does not require globs of the other kinds to match.
"""

import datetime
import fnmatch
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from deltaspec.errors import InvalidUsage
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.checks import CATALOG_SUITES, SUITES, WRITE_SUITES
from deltaspec.suites.outcomes import CaseResult, Outcome, build_pattern

_KEYS = {"cases": list, "outcome": str, "match": str, "reason": str, "link": str, "requirement": str, "versions": str}
_REQUIRED = ("cases", "outcome", "match", "reason")
_WRITTEN_TABLES = ("broken.", "sound.", "rare.")
_FAILURES = tuple(
    each.value for each in Outcome if each.is_bad and each not in (Outcome.UNEXPECTED_PASS, Outcome.DRIFT)
)


class KnownFailure(msgspec.Struct):
    """An entry of the file."""

    cases: tuple[str, ...]
    outcome: Outcome
    match: re.Pattern[str]
    reason: str
    link: str = ""
    requirement: str = ""
    """What the candidate breaks."""
    versions: SpecifierSet | None = None
    until: datetime.date | None = None
    matched: set[str] = msgspec.field(default_factory=set)
    """Globs that matched a case of the run."""

    def applies(self, version: str, today: datetime.date) -> bool:
        """Return whether the entry counts for this version of the candidate and this day."""
        if self.until is not None and today > self.until:
            return False
        if self.versions is None:
            return True
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True

    def list_globs(self, case: str) -> list[str]:
        """Return the globs that match a case."""
        return [glob for glob in self.cases if fnmatch.fnmatchcase(case, glob)]


class KnownFailures:
    """The known failures that count for one version of a candidate."""

    def __init__(self, entries: Sequence[KnownFailure], version: str, today: datetime.date) -> None:
        self._entries = [each for each in entries if each.applies(version, today)]

    def judge(self, result: CaseResult) -> CaseResult:
        """Compare a result with the entries; entries are tried in the order of the file."""
        if result.outcome is Outcome.NOT_ASKED:
            return result
        named = [(each, globs) for each in self._entries if (globs := each.list_globs(result.case))]
        for each, globs in named:
            each.matched.update(globs)
        for each, _ in named:
            if _is_listed(each, result) and each.match.search(result.message):
                return msgspec.structs.replace(
                    result,
                    outcome=Outcome.EXPECTED_FAILURE,
                    known_failure=each.reason,
                    known_link=each.link,
                    found=result.outcome,
                )
        if not named:
            return result
        first, _ = named[0]
        if result.outcome is Outcome.PASSED:
            message = f"passed, but is listed as a known failure: {first.reason}"
            return msgspec.structs.replace(result, outcome=Outcome.UNEXPECTED_PASS, message=message)
        message = f"{result.message}\nlisted differently: {first.outcome}, {first.match.pattern!r}"
        return msgspec.structs.replace(
            result,
            outcome=Outcome.DRIFT,
            message=message,
            known_failure=first.reason,
            known_link=first.link,
            found=result.outcome,
        )

    def list_unused(
        self,
        suites: Iterable[str],
        *,
        golden: bool | None = False,
        written: bool = True,
        revision: str = Revision.CURRENT,
    ) -> list[str]:
        """Return a line for each glob that matched no case but names suites and tables of the run, or any.

        Args:
            suites: suites of the run.
            golden: whether the run asked about golden cases only; None if it asked about them and others.
            written: whether it asked about the written tables.
            revision: revision of its drawn tables.
        """
        asked = set(suites)
        unmatched = [(glob, each) for each in self._entries for glob in each.cases if glob not in each.matched]
        return [
            f"{glob} ({each.reason})"
            for glob, each in unmatched
            if _list_suites(glob) <= asked and _names_table_of_run(glob, golden, written, revision)
        ]


def _is_listed(entry: KnownFailure, result: CaseResult) -> bool:
    """Return whether a result has the outcome of an entry; a list may call a warning failed."""
    is_warning = result.outcome is Outcome.WARNING and entry.outcome is Outcome.FAILED
    return is_warning or result.outcome is entry.outcome


def _names_table_of_run(glob: str, golden: bool | None, written: bool, revision: str) -> bool:
    """Return whether a run asked about the kind of table that a glob names; a glob for any kind names it."""
    table = glob.partition("/")[2]
    if golden is not None and table.startswith("golden.") != golden:
        return False
    drawn, _, named = table.partition(".")[0].partition("-")
    if drawn == "drawn" and (named or Revision.CURRENT) != revision:
        return False
    return written or not table.startswith(_WRITTEN_TABLES)


def _list_suites(glob: str) -> set[str]:
    """Return the suites whose cases a glob may match."""
    start = re.split(r"[*?\[]", glob)[0]
    if start.startswith("imported."):
        return {"imported"}
    return {
        suite
        for suite in (*SUITES, *CATALOG_SUITES, *WRITE_SUITES)
        if start.startswith(f"{suite}.") or f"{suite}.".startswith(start)
    }


def load_known_failures(path: Path) -> list[KnownFailure]:
    """Load the entries of a file.

    Raises:
        InvalidUsage: The file cannot be read, or an entry is malformed.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidUsage(f"known failures {path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidUsage(f"known failures {path}: {error}") from None
    entries = content.pop("failure", [])
    if content or not isinstance(entries, list):
        raise InvalidUsage(f"known failures {path}: expected only [[failure]] entries, found {', '.join(content)}")
    return [_parse_entry(entry, f"known failures {path}, entry {number}") for number, entry in enumerate(entries, 1)]


def _parse_entry(entry: Any, where: str) -> KnownFailure:
    if not isinstance(entry, dict):
        raise InvalidUsage(f"{where}: not a table")
    until = entry.pop("until", None)
    unknown = sorted(set(entry) - set(_KEYS))
    missing = [name for name in _REQUIRED if name not in entry]
    empty = [name for name in _REQUIRED if name in entry and not entry[name]]
    wrong = [name for name, kind in _KEYS.items() if name in entry and not isinstance(entry[name], kind)]
    for what, names in (
        ("unknown key", unknown),
        ("missing key", missing),
        ("fill in the empty", empty),
        ("wrong type of", wrong),
    ):
        if names:
            raise InvalidUsage(f"{where}: {what} {', '.join(names)}")
    if until is not None and not isinstance(until, datetime.date):
        raise InvalidUsage(f"{where}: until is not a date such as 2027-01-31")
    if entry["outcome"] not in _FAILURES:
        raise InvalidUsage(f"{where}: outcome {entry['outcome']!r} is none of {', '.join(_FAILURES)}")
    if not all(isinstance(each, str) for each in entry["cases"]):
        raise InvalidUsage(f"{where}: cases are not strings")
    try:
        match = re.compile(entry["match"])
        versions = SpecifierSet(entry["versions"]) if "versions" in entry else None
    except (re.error, InvalidSpecifier) as error:
        raise InvalidUsage(f"{where}: {error}") from None
    return KnownFailure(
        tuple(entry["cases"]),
        Outcome(entry["outcome"]),
        match,
        entry["reason"],
        entry.get("link", ""),
        entry.get("requirement", ""),
        versions,
        until,
    )


def draft_entries(results: Iterable[CaseResult]) -> str:
    """Write an entry for each kind of unlisted failure. The reasons are empty: a person must find them."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in results:
        found = each.found or each.outcome
        if found.value in _FAILURES:
            groups.setdefault((each.check, found.value, build_pattern(each.message)), []).append(each.case)
    parts = []
    for (_, name, pattern), cases in sorted(groups.items()):
        globs = ", ".join(f'"{case}"' for case in cases)
        lines = (
            "[[failure]]",
            f"cases = [{globs}]",
            f'outcome = "{name}"',
            f"match = '{pattern}'",
            'reason = ""',
            "",
        )
        parts.append("\n".join(lines))
    return "\n".join(parts)
