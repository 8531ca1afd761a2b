"""State and verdict of a table as a plan would leave it."""

from collections import Counter

import msgspec

from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.repair.plan_format import VerdictSummary
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import EmbeddedLog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.options import Options
from deltaspec.validation.pipeline import check_table
from deltaspec.validation.report_builder import build_report
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.interface import Store


class StoreReader(LogReader):
    """The reference reader over any store."""

    def __init__(self, store: Store) -> None:
        self.store = store  # type: ignore[assignment]
        self.access = DataAccess(store)
        self.entries = self.list_entries()


class Validator(msgspec.Struct, frozen=True):
    """Validates a table through a store, such as an overlay."""

    allow_outside: bool = False
    writer_time_zone: str | None = None

    def validate(self, store: Store, level: str, *, samples: int = 1000) -> Report:
        """Return the report of a table.

        Args:
            store: the table.
            level: how much of it is read.
            samples: findings that the report keeps of each rule.
        """
        chosen = Options.create(
            level=level, samples=samples, allow_outside=self.allow_outside, writer_time_zone=self.writer_time_zone
        )
        plan, options = plan_run(store, load_pinned_listing(store), chosen)
        log = EmbeddedLog(build_read_context(store, plan, options), options.create_findings(), LocalBuckets())
        return build_report(check_table(log, {}), "embedded")


def summarize(report: Report) -> VerdictSummary:
    """Return the verdict of a report as a plan states it."""
    violations = {
        code: number
        for code, number in report.totals.items()
        if RULES[code].severity_in(report.revision) == "violation"
    }
    return VerdictSummary(
        level=report.level,
        verdict=report.verdict,
        violations=violations,
        not_checked=sum(not each.accepted for each in report.checked.not_checked),
    )


def describe(summary: VerdictSummary) -> str:
    """Return a verdict in a few words."""
    violations = Counter(summary.violations)
    found = ", ".join(f"{code} {number:,}" for code, number in sorted(violations.items()))
    unchecked = f"{summary.not_checked:,} not checked" if summary.not_checked else ""
    details = "; ".join(each for each in (found, unchecked) if each)
    return f"{summary.verdict.upper()} at level {summary.level}{f' ({details})' if details else ''}"
