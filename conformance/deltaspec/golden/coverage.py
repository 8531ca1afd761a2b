"""Requirements that the golden cases cover, and reasons why others are not covered.

A requirement needs a case if a reader can get it wrong: its actor is the reader, or a table that violates it must be
refused. `golden-tables/gaps.toml` has the reasons for requirements without a case, and for known bugs of readers
without one.
"""

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from deltaspec.golden.definition import ROOT, GoldenCase, load_cases
from deltaspec.requirements import REVISIONS, Requirement, load_requirements

GAPS = "gaps.toml"


class GoldenCoverage(msgspec.Struct, frozen=True):
    """Cases by requirement, and the gaps."""

    cases: Mapping[str, tuple[GoldenCase, ...]]
    """Cases of each covered requirement."""
    gaps: Mapping[str, str]
    """Reasons for requirements of readers without a case."""
    bugs: Mapping[str, str]
    """Reasons for known bugs of readers without a case."""

    @property
    def needed(self) -> list[Requirement]:
        """Requirements that need a case."""
        return [each for each in load_requirements().values() if each.actor == "reader"]

    @property
    def unexplained(self) -> list[str]:
        """Requirements that need a case, and have neither a case nor a reason."""
        return [each.id for each in self.needed if each.id not in self.cases and each.id not in self.gaps]

    @property
    def outdated(self) -> list[str]:
        """Reasons for requirements and bugs that have a case, or for requirements that do not need one."""
        needed = {each.id for each in self.needed}
        found = {bug for cases in self.cases.values() for case in cases for bug in case.bugs}
        return [each for each in self.gaps if each in self.cases or each not in needed] + sorted(found & {*self.bugs})


def compute_coverage(root: Path = ROOT) -> GoldenCoverage:
    """Compute the coverage of the cases that a directory defines."""
    found: dict[str, list[GoldenCase]] = {}
    for case in load_cases(root).values():
        for each in case.requires:
            found.setdefault(each, []).append(case)
    gaps = tomllib.loads((root / GAPS).read_text("utf-8"))
    bugs = gaps.pop("known-bugs", {})
    reasons = {f"{chapter}.{name}": reason for chapter, entries in gaps.items() for name, reason in entries.items()}
    return GoldenCoverage({each: tuple(cases) for each, cases in found.items()}, reasons, bugs)


def count_by_revision(
    found: GoldenCoverage, further: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], dict[str, int]]:
    """Count requirements by actor, by the kind of case that tests them first, and by revision.

    Args:
        found: the cases.
        further: requirements that other kinds of cases test, by kind.
    """
    kinds = {"golden case": found.cases.keys(), **further, "reason": found.gaps.keys()}
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for each in load_requirements().values():
        kind = next((kind for kind, tested in kinds.items() if each.id in tested), "none")
        of_kind = counts.setdefault((each.actor, kind), dict.fromkeys(REVISIONS, 0))
        for revision in each.revisions:
            of_kind[revision] += 1
    order = [*kinds, "none"]
    return dict(sorted(counts.items(), key=lambda item: (item[0][0], order.index(item[0][1]))))


def render_coverage(
    found: GoldenCoverage, further: Mapping[str, Collection[str]] = MappingProxyType({}), *, show_all: bool
) -> str:
    """Render cases by chapter, requirements by revision, and the cases or reasons of the requirements of readers.

    `further` are requirements that other kinds of cases test, by kind.
    """
    cases = load_cases().values()
    chapters = sorted({case.chapter for case in cases})
    width = max(map(len, chapters))
    lines = [f"{'cases':<{width}}  " + "  ".join(f"{each:>7}" for each in (*REVISIONS, "total"))]
    for chapter in chapters:
        own = [case for case in cases if case.chapter == chapter]
        counts = [sum(case.revision == each for case in own) for each in REVISIONS]
        lines.append(f"{chapter:<{width}}  " + "  ".join(f"{each:>7}" for each in (*counts, len(own))))
    needed = found.needed
    covered = [each for each in needed if each.id in found.cases]
    by_kind = count_by_revision(found, further)
    width = max(width, *(len(f"{actor}: {kind}") for actor, kind in by_kind))
    lines += ["", f"{'requirements':<{width}}  " + "  ".join(f"{each:>7}" for each in REVISIONS)]
    for (actor, kind), numbers in by_kind.items():
        row = "  ".join(f"{numbers[revision]:>7}" for revision in REVISIONS)
        lines.append(f"{f'{actor}: {kind}':<{width}}  {row}")
    lines += ["", f"{len(covered)} of {len(needed)} requirements of readers have a case:"]
    if show_all:
        lines += [f"  {each.id}  {_list_ids(found.cases[each.id])}" for each in covered]
        others = sorted(set(found.cases) - {each.id for each in needed})
        lines += ["", f"{len(others)} other requirements have a case:"]
        lines += [f"  {each}  {_list_ids(found.cases[each])}" for each in others]
    lines += ["", f"{len(found.gaps)} have none for a reason:"]
    lines += [f"  {identity}  {reason}" for identity, reason in found.gaps.items()]
    lines += ["", f"{len(found.bugs)} known bugs of readers have no case for a reason:"]
    lines += [f"  {identity}  {reason}" for identity, reason in found.bugs.items()]
    if found.unexplained:
        lines += ["", f"{len(found.unexplained)} have none without a reason:"]
        lines += [f"  {each}" for each in found.unexplained]
    return "\n".join(lines)


def _list_ids(cases: tuple[GoldenCase, ...]) -> str:
    shown = ", ".join(case.id for case in cases[:3])
    return shown if len(cases) <= 3 else f"{shown} and {len(cases) - 3} more"
