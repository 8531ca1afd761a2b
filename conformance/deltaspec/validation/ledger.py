"""The ledger of a run: which rules could not be decided, and where. Its size is bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from heapq import nsmallest

from deltaspec.protocol.features.table_features import supports_feature_or_preview
from deltaspec.protocol.files.paths import path_key
from deltaspec.report.report_types import NotChecked
from deltaspec.rules.registry import RULES
from deltaspec.validation.plan import EMPTIED

MAX_LOCATIONS = 20
"""Number of locations that the ledger lists per rule; it counts the rest."""

_FEATURES: dict[str, tuple[str, ...]] = {
    "append-only": ("appendOnly",),
    "catalog-managed": ("catalogManaged",),
    "check-constraints": ("checkConstraints",),
    "clustering": ("clustering",),
    "column-invariants": ("invariants",),
    "column-mapping": ("columnMapping",),
    "default-columns": ("allowColumnDefaults",),
    "deletion-vectors": ("deletionVectors",),
    "domain": ("domainMetadata", "rowTracking", "clustering"),
    "generated-columns": ("generatedColumns",),
    "iceberg-v1": ("icebergCompatV1",),
    "iceberg-v2": ("icebergCompatV2",),
    "iceberg-v3": ("icebergCompatV3",),
    "identity-columns": ("identityColumns",),
    "in-commit-timestamp": ("inCommitTimestamp",),
    "row-id-mark": ("rowTracking", "rowIds"),
    "row-ids": ("rowTracking", "rowIds"),
    "row-tracking": ("rowTracking", "rowIds"),
    "sidecar": ("v2Checkpoint",),
    "type-widening": ("typeWidening",),
    "vacuum-protocol-check": ("vacuumProtocolCheck",),
    "variant": ("variantType",),
    "variant-shredding": ("variantShredding",),
}
"""Features whose rules do not concern a table without the feature, by chapter of requirements."""

MISSING = "{}: does not exist"
"""Reason for a file that does not exist."""
MORE_MISSING = "and {:,} more files that do not exist"
"""Reason for files that do not exist and are only counted."""
COMMITS_MISSING = "commits before version {} are missing"
"""Reason if commits are missing that readers of the validated version need."""
NOT_REPLAYED = "versions after {} cannot be replayed: {} missing{}"
"""Reason if older commits are missing."""
OTHER_FORMAT = "data files are of the format {} (S39)"
"""Reason if the metadata names another format than Parquet."""
MISSPELLED_CONSTRAINT = "CHECK constraint {} is not evaluated: the case of its prefix is a silent point (S62)"
_CONSEQUENCES = (
    "the schema of the rows is not known",
    "the table's schema is not known",
    "the schema of version {} is not known",
    "the schema of the table is not known",
    "the schema of the table cannot be read",
    "the schema has no partition column {}",
    "the protocol{}not known",
    "the metadata of the table is not known",
    "a version of the table is not known, so a name in a file may belong to a dropped column",
    "an action that may contain the high-water mark cannot be decoded",
    "an action of its commits cannot be decoded",
    "the types in files of the first checkpoint, which version {} changes, are not known",
    "it is not known how long {} are kept",
)
"""Reasons of what cannot be decided because another part of the log is lost or malformed."""
_Location = tuple[str, str | None]
"""A reason, and the file that it applies to."""


class Ledger:
    """Reasons by rule. The first locations in sort order are listed, the others counted.

    The content does not depend on the order in which reasons are added. A reason without a file counts as one location,
    because every bucket adds it. There are few such reasons, and all of them are listed.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, set[str]] = defaultdict(set)
        """Reasons without a file, by rule."""
        self.locations: dict[str, dict[_Location, int]] = defaultdict(dict)
        """Number of times that each location was added, by rule. Evicting a location adds this number to `_omitted`."""
        self._last: dict[str, _Location] = {}
        """The last location of each rule that has the most locations, in sort order."""
        self._omitted: Counter[tuple[str, bool]] = Counter()
        """Number of locations that are only counted, by rule and whether they are files that do not exist."""

    @property
    def entries(self) -> list[NotChecked]:
        """Entries of the report: the first locations of each rule, and the number of further ones."""
        found = []
        for code in sorted({*self._reasons, *self.locations}):
            every: dict[_Location, int] = {(reason, None): 1 for reason in self._reasons.get(code, ())}
            every |= self.locations.get(code, {})
            locations = sorted(every, key=_sort_key)
            found += [NotChecked(rule=code, reason=reason, file=file) for reason, file in locations[:MAX_LOCATIONS]]
            omitted = Counter({is_missing: self._omitted[code, is_missing] for is_missing in (False, True)})
            for location in locations[MAX_LOCATIONS:]:
                omitted[_is_missing(*location)] += every[location]
            found += [
                NotChecked(rule=code, reason=(MORE_MISSING if is_missing else "and {:,} more locations").format(number))
                for is_missing, number in sorted(omitted.items())
                if number
            ]
        return found

    def add_reason(self, code: str, reason: str, file: str | None, times: int = 1) -> None:
        """Add a location where a rule could not be decided."""
        if file is None:
            self._reasons[code].add(reason)
            return
        locations, location = self.locations[code], (reason, file)
        if location in locations:
            locations[location] += times
            return
        if len(locations) == MAX_LOCATIONS:
            last = self._last.get(code) or max(locations, key=_sort_key)
            self._last[code] = last
            if _sort_key(location) > _sort_key(last):
                self._omitted[code, _is_missing(reason, file)] += times
                return
            self._omitted[code, _is_missing(*last)] += locations.pop(last)
            del self._last[code]
        locations[location] = times

    def add_files(self, codes: Collection[str], reasons: Mapping[str, str], more: int = 0) -> None:
        """Add many files with their reasons for each of several rules.

        Args:
            codes: the rules.
            reasons: file to reason.
            more: number of further files that do not exist, which the ledger only counts: `MAX_LOCATIONS` of `reasons`
                sort before them.
        """
        first = nsmallest(MAX_LOCATIONS, reasons)
        omitted = Counter(_is_missing(reasons[file], file) for file in reasons.keys() - set(first))
        omitted[True] += more
        for code in codes:
            for file in first:
                self.add_reason(code, reasons[file], file)
            for is_missing, number in omitted.items():
                if number:
                    self._omitted[code, is_missing] += number

    def replace_reasons(self, code: str, reason: str) -> None:
        """Replace all reasons of a rule by one."""
        self._reasons[code] = {reason}
        self.locations.pop(code, None)
        self._last.pop(code, None)
        for is_missing in (False, True):
            self._omitted.pop((code, is_missing), None)

    def merge(self, other: Ledger) -> None:
        """Add the content of another ledger."""
        for code, reasons in other._reasons.items():
            self._reasons[code] |= reasons
        for code, locations in other.locations.items():
            for (reason, file), times in locations.items():
                self.add_reason(code, reason, file, times)
        self._omitted.update(other._omitted)


def find_unused_rules(codes: Iterable[str], supported: Collection[str]) -> set[str]:
    """Return the rules that concern only features that a table never supported.

    Args:
        codes: codes of rules.
        supported: every feature that the table supported in some version.
    """
    found = set()
    for code in RULES.keys() & set(codes):
        if RULES[code].without_feature:
            continue
        chapters = {requirement.partition(".")[0] for requirement in RULES[code].requires}
        features = {feature for chapter in chapters for feature in _FEATURES.get(chapter, ())}
        if chapters <= _FEATURES.keys() and not any(supports_feature_or_preview(supported, each) for each in features):
            found.add(code)
    return found


def is_count_of_missing(reason: str) -> bool:
    """Return whether an entry of the ledger counts further files that do not exist."""
    return reason.endswith(MORE_MISSING.rpartition("{:,}")[2])


def find_reporting_rules(reason: str) -> frozenset[str]:
    """Return the rules that report what an entry speaks of: missing commits, a format, a name; empty for others."""
    if _matches(OTHER_FORMAT, reason):
        return frozenset({"MET009"})
    if _matches(MISSPELLED_CONSTRAINT, reason):
        return frozenset({"CFG006"})
    if reason == EMPTIED or _matches(COMMITS_MISSING, reason):
        return frozenset({"LOG001", "CAT005"})  # the second one if a catalog may know the commits
    return frozenset({"LOG010"}) if _matches(NOT_REPLAYED, reason) else frozenset()


def is_consequence(reason: str) -> bool:
    """Return whether an entry of the ledger only follows from damage that a finding or another entry names."""
    return any(_matches(each, reason) for each in _CONSEQUENCES)


def _matches(template: str, reason: str) -> bool:
    """Return whether a reason was written with a template."""
    start, end = template.partition("{")[0], template.rpartition("}")[2]
    return reason.startswith(start) and reason.endswith(end)


def _is_missing(reason: str, file: str | None) -> bool:
    """Return whether the file itself does not exist, and not its deletion vector, say."""
    return file is not None and reason == MISSING.format(path_key(file))


def _sort_key(location: _Location) -> tuple[str, str]:
    reason, file = location
    return file or "", reason
