"""Causes of failures: what one failure breaks, and which failures have the same cause."""

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.messages import Refusal
from deltaspec.candidates.outcomes import Died, Refused
from deltaspec.protocol.files import paths
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS, PHYSICAL_NAME
from deltaspec.protocol.schema.data_types import iter_fields
from deltaspec.requirements import load_requirements
from deltaspec.suites.checks import (
    Check,
    Mismatch,
    TableUnderTest,
    WrongCount,
    WrongFiles,
    WrongRows,
)
from deltaspec.suites.outcomes import FILE_TIMES, CaseResult, Cause, build_signature
from deltaspec.suites.row_causes import CHANGES, find_count_causes, find_file_causes, find_row_causes
from deltaspec.validation.rule_docs import list_requirements_of_rules
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.readable import ReadableTable

MOST_TYPES = 3
"""Values of more types than this that are wrong in the same way have one cause; fewer types have a cause each."""
_REASON = re.compile(r"panic|error|exception|fault|fatal|abort", re.IGNORECASE)
_NOT_CAUSAL = re.compile(r" during \w+|; fails alone too|; only after .*")
_RULE = re.compile(r"\b[A-Z]{3}\d{3}\b")
_MOST_CHARACTERS = 160
_RANDOM = re.compile(
    r"\S+\.(?:parquet|json|crc|bin|arrow)\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=\w*\d)[0-9a-f]{8,}\b"
)
"""Names of files, UUIDs and hash codes."""


def find_causes(subject: TableUnderTest, check: Check, error: Mismatch | Refused | Died) -> tuple[Cause, ...]:
    """Return what may be wrong with an answer, the most specific cause first.

    Args:
        subject: the table on disk.
        check: the check that the answer failed.
        error: how the answer failed.
    """
    match error:
        case Refused():
            return (explain_refusal(subject.table, error.refusal),)
        case Died():
            return (_explain_death(subject.table, error),)
    match error.fact:
        case Cause() as cause:
            return (cause if cause.breaks else replace(cause, breaks=check.requires),)
        case WrongCount() as count:
            return tuple(find_count_causes(subject, count))
        case WrongFiles() as files:
            return tuple(find_file_causes(subject, files))
        case WrongRows() as rows:
            found = find_row_causes(subject, rows, is_filtered=check.suite == "predicates")
            if check.suite == "changes":
                found = _name_changes(subject, check, rows, found)
            return tuple(found)
    return (Cause(mask(subject.table, str(error)), _list_breaks(subject, check, str(error))),)


def break_only_recommendations(causes: Sequence[Cause]) -> bool:
    """Return whether the causes break requirements, and each of them says *should*."""
    broken = {name for each in causes for name in each.breaks}
    known = load_requirements()
    return bool(broken) and all(known[name].strength == "should" for name in broken)


def _list_breaks(subject: TableUnderTest, check: Check, message: str = "") -> tuple[str, ...]:
    """Return the requirements of the rules that a message names; of a broken table; or else of the check."""
    if broken := list_requirements_of_rules(_RULE.findall(message)):
        return broken
    return subject.broken.requires if subject.broken is not None and not check.requires else check.requires


def _name_changes(subject: TableUnderTest, check: Check, fact: WrongRows, found: Sequence[Cause]) -> list[Cause]:
    """Return the causes of wrong changes: wrong values are wrong in every question, missing rows only in this one."""
    causes = [each for each in found if each.types and not each.title.startswith(CHANGES)]
    difference = fact.difference
    if "_commit_timestamp" in " ".join(difference.columns) and any(each.title.startswith(CHANGES) for each in found):
        causes += [FILE_TIMES] if subject.newest.state.is_enabled(IN_COMMIT_TIMESTAMPS) else []
    if difference.missing_count != difference.extra_count:
        causes += [Cause("changed rows are missing" if difference.missing_count > difference.extra_count
                         else "too many changed rows are returned", check.requires)]  # fmt: skip
    return causes or [Cause(CHANGES, check.requires)]


def explain_refusal(table: ReadableTable, refusal: Refusal) -> Cause:
    """Return the cause of an error about a table that must be read."""
    name = f" ({refusal.code or refusal.native})" if refusal.code or refusal.native else ""
    return Cause(f"refused as {refusal.category}{name}: {mask(table, refusal.message)}")


def _explain_death(table: ReadableTable, death: Died) -> Cause:
    reasons = [line for line in death.stderr.splitlines() if _REASON.search(line)]
    reason = f": {mask(table, reasons[0].strip())}" if reasons else ""
    return Cause(f"{mask(table, _NOT_CAUSAL.sub('', str(death)))}{reason}")


def mask(table: ReadableTable, message: str) -> str:
    """Return the first line of a message without names of the table's columns and files, numbers and random names."""
    line = next((each for each in message.splitlines() if each.strip()), "")
    for path in _list_paths(table):
        line = line.replace(path, "….parquet")
    line = _RANDOM.sub("…", line)
    for name in _list_columns(table):
        line = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", line)
    return build_signature(line)[:_MOST_CHARACTERS]


def _list_paths(table: ReadableTable) -> list[str]:
    """List the paths of all data files, as in the log and decoded, the longest first."""
    found = {path.removeprefix(TABLE_URI) for each in table.versions for path in each.state.live}
    return sorted(found | {paths.decode(path) for path in found}, key=len, reverse=True)


def _list_columns(table: ReadableTable) -> list[str]:
    """List the names of columns that may occur in a message, the longest first; names of one letter are too common."""
    fields = [field for version in table.versions for _, field in iter_fields(version.schema)]
    found = {name for field in fields for name in (field.name, str(field.metadata.get(PHYSICAL_NAME, "")))}
    return sorted((name for name in found if len(name) > 1), key=len, reverse=True)


class FailureGroup(msgspec.Struct, frozen=True):
    """Failures that one cause explains."""

    cause: Cause
    cases: tuple[CaseResult, ...]
    """The simplest first."""

    @property
    def simplest(self) -> CaseResult:
        return self.cases[0]


def group_by_cause(results: Iterable[CaseResult]) -> list[FailureGroup]:
    """Explain failures by as few causes as possible; return a group for each cause, the largest first.

    A failure belongs to the cause that explains most failures. Failures with a single cause count more, because a
    failure of several causes may show any of them.
    """
    left = {result.case: result for result in results}
    causes = {case: _list_causes(result) for case, result in left.items()}
    split = _find_split_titles(cause for found in causes.values() for cause in found)
    keys = {case: [key for each in found for key in _list_keys(each, split)] for case, found in causes.items()}
    groups = []
    while left:
        scores: dict[str, float] = {}
        for case in left:
            for key in keys[case]:
                scores[key] = scores.get(key, 0.0) + 1 / len(keys[case])
        best = max(scores, key=scores.__getitem__)
        members = [left.pop(case) for case in list(left) if best in keys[case]]
        members.sort(key=_get_complexity(keys))
        groups.append(FailureGroup(_merge(best, members, split), tuple(members)))
    return sorted(groups, key=lambda each: -len(each.cases))


def _list_causes(result: CaseResult) -> tuple[Cause, ...]:
    """Return the causes of a result; a report of an earlier release has only the message."""
    return result.causes or (Cause(result.signature or result.outcome.value, result.requirements[:1]),)


def _find_split_titles(causes: Iterable[Cause]) -> frozenset[str]:
    """Return the titles with values of so few types that each type has a cause of its own."""
    types: dict[str, set[str]] = {}
    for each in causes:
        types.setdefault(each.title, set()).update(each.types)
    return frozenset(title for title, found in types.items() if 0 < len(found) <= MOST_TYPES)


def _list_keys(cause: Cause, split: frozenset[str]) -> list[str]:
    """Return the titles under which failures with a cause are grouped."""
    return [f"{cause.title} (type {name})" for name in cause.types] if cause.title in split else [cause.title]


def _get_complexity(keys: dict[str, list[str]]) -> Callable[[CaseResult], tuple[int, ...]]:
    return lambda each: (len(keys[each.case]), len(each.history), len(each.requirements), len(each.message))


def _merge(key: str, members: Sequence[CaseResult], split: frozenset[str]) -> Cause:
    """Return the cause of a group. Without known requirements, it may break those that all tables of the group need."""
    same = [each for member in members for each in _list_causes(member) if key in _list_keys(each, split)]
    types = () if same[0].title in split else tuple(sorted({name for each in same for name in each.types}))
    return Cause(key, same[0].breaks, types)


def list_common_requirements(group: FailureGroup) -> tuple[str, ...]:
    """Return the requirements that every case of a group tests."""
    first, *others = (each.requirements for each in group.cases)
    return tuple(name for name in first if all(name in each for each in others))
