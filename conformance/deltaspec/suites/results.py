"""The report of a run: the candidate, the questions and their outcomes."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from deltaspec.candidates.messages import Capabilities
from deltaspec.exit_codes import ExitCode
from deltaspec.suites.checks import SUITES
from deltaspec.suites.outcomes import CaseResult, Outcome, count_outcomes

FORMAT_VERSION = 1
UNDECLARED_FEATURES = "refuse.undeclared-features"
"""Name of the check that a candidate refuses tables with features that it does not declare."""
NO_FEATURE = "none"
"""Stands for the features of a table that needs none of its readers."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a run; with them anyone can run the same cases again."""

    deltaspec: str
    """Version of deltaspec."""
    candidate: str
    """As on the command line."""
    seed: int
    tables: int
    suites: tuple[str, ...]
    seconds: float
    imported: str = ""
    """Directory of the imported cases, which then are the only ones."""
    golden: bool = False
    """Whether the golden cases were asked, which then are the only ones."""
    revision: str = "current"
    """Revision of the drawn tables."""
    complete: bool
    """Whether every case was run; False if the candidate died too often, or if the run stopped at a failure."""
    stopped: bool = False
    """Whether the run stopped at the first failure, as `-x` requests."""
    left_out: tuple[str, ...] = ()
    """Tables that were not asked about, each with the reason or the option that asks about them."""


class DeclaredRefusals(msgspec.Struct, frozen=True, kw_only=True):
    """Tables that were refused because the candidate does not declare one of their features; they count as passed."""

    total: int
    features: dict[str, int]
    """Number by reader feature of the table; a table with several counts for each."""
    chapters: dict[str, int] = {}
    """Number by chapter of the golden cases."""


class SuiteReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a candidate. Cases that passed are only counted."""

    format_version: int = FORMAT_VERSION
    run: Run
    candidate: Capabilities
    outcomes: dict[str, dict[str, int]]
    """Number of cases by suite and outcome."""
    features: dict[str, dict[str, dict[str, int]]] = {}
    """Number of cases by reader feature and outcome; a table counts for each of its features, or for `none`."""
    chapters: dict[str, dict[str, dict[str, int]]] = {}
    """The same by chapter of the golden cases."""
    checks: dict[str, dict[str, int]] = {}
    """Number of cases by check and outcome; empty in reports of earlier releases."""
    declared_refusals: DeclaredRefusals | None = None
    """Passed cases that are such refusals; None in reports of earlier releases."""
    counts: dict[str, dict[str, int]]
    """Observations of the checks by suite: rows compared, files skipped and so on."""
    not_asked: dict[str, dict[str, int]]
    """Number of cases that were not asked, by check and reason."""
    cases: tuple[CaseResult, ...]
    """Every case that neither passed nor was not asked."""
    unused_known_failures: tuple[str, ...]
    """Known failures that match no case of the run."""
    contrasts: dict[str, tuple[str, ...]] = {}
    """What only the failing tables have, by title of the cause, for causes that do not show what they break."""

    @property
    def total(self) -> Counter[str]:
        """Number of cases by outcome."""
        found: Counter[str] = Counter()
        for counts in self.outcomes.values():
            found.update(counts)
        return found

    @property
    def bad(self) -> list[CaseResult]:
        """Cases that make the run fail."""
        return [each for each in self.cases if each.outcome.is_bad]

    @property
    def warnings(self) -> list[CaseResult]:
        """Cases that break only what an engine should do."""
        return [each for each in self.cases if each.outcome is Outcome.WARNING]

    @property
    def conforming_suites(self) -> list[str]:
        """Suites whose cases were all asked and passed, some with warnings; no other can claim conformance."""
        right = {Outcome.PASSED, Outcome.WARNING}
        return [suite for suite, counts in self.outcomes.items() if counts and set(counts) <= right]

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of `deltaspec test`."""
        return ExitCode.judge_run(
            has_failed=bool(self.bad or self.unused_known_failures),
            is_complete=self.run.complete,
            has_passed=bool(self.total[Outcome.PASSED] or self.total[Outcome.EXPECTED_FAILURE]),
        )


def _order(suite: str) -> int:
    return SUITES.index(suite) if suite in SUITES else len(SUITES)


def _count_in_order(results: Sequence[CaseResult]) -> dict[str, dict[str, int]]:
    """Count the outcomes of each suite; suites in the order of `SUITES`."""
    return dict(sorted(count_outcomes(results).items(), key=lambda item: _order(item[0])))


def build_report(
    run: Run,
    candidate: Capabilities,
    results: Sequence[CaseResult],
    unused_known_failures: Sequence[str] = (),
    contrasts: Mapping[str, tuple[str, ...]] | None = None,
) -> SuiteReport:
    """Summarize the results of a run."""
    counts: dict[str, Counter[str]] = {}
    not_asked: dict[str, Counter[str]] = {}
    for each in results:
        counts.setdefault(each.suite, Counter()).update(each.counts)
        if each.outcome is Outcome.NOT_ASKED:
            not_asked.setdefault(each.check, Counter())[each.message] += 1
    by_feature: dict[str, list[CaseResult]] = {}
    by_chapter: dict[str, list[CaseResult]] = {}
    by_check: dict[str, list[CaseResult]] = {}
    for each in results:
        by_check.setdefault(each.check, []).append(each)
        if each.golden_chapter:
            by_chapter.setdefault(each.golden_chapter, []).append(each)
        for feature in each.features or (NO_FEATURE,):
            by_feature.setdefault(feature, []).append(each)
    refused = [each for each in results if each.check == UNDECLARED_FEATURES and each.outcome is Outcome.PASSED]
    shown = [each for each in results if each.outcome not in (Outcome.PASSED, Outcome.NOT_ASKED)]
    return SuiteReport(
        run=run,
        candidate=candidate,
        outcomes=_count_in_order(results),
        features={feature: _count_in_order(found) for feature, found in sorted(by_feature.items())},
        chapters={chapter: _count_in_order(found) for chapter, found in sorted(by_chapter.items())},
        checks={name: count_outcomes(found)[found[0].suite] for name, found in sorted(by_check.items())},
        declared_refusals=DeclaredRefusals(
            total=len(refused),
            features=dict(sorted(Counter(feature for each in refused for feature in each.features).items())),
            chapters=dict(sorted(Counter(filter(None, (each.golden_chapter for each in refused))).items())),
        ),
        counts={suite: dict(sorted(found.items())) for suite, found in counts.items() if found},
        not_asked={check: dict(found.most_common()) for check, found in sorted(not_asked.items())},
        cases=tuple(sorted(shown, key=lambda each: each.case)),
        unused_known_failures=tuple(unused_known_failures),
        contrasts=dict(contrasts or {}),
    )
