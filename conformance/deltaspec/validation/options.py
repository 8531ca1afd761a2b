"""What a run is asked, checked before anything is read, and the report that answers it; the same for every engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.model.revisions import Revision
from deltaspec.report.report_types import REPORT_VERSION, SEVERITIES, Checked, NotChecked, Refusal, Report, Verdict
from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.log_run import LogRun
from deltaspec.validation.plan import parse_history
from deltaspec.views.base import LEVELS, Level

FINDINGS_OUT_WITH_STATE = (
    "every finding is written at the end of a run that is in one piece: leave out either --findings-out or --state"
)


@dataclass(frozen=True)
class Asked:
    """Options of `validate_table`, found to be sound; all lists of rules hold codes."""

    level: Level
    at: int | None
    history: str
    revision: Revision
    clock: int | None
    samples: int
    accept_unchecked: Collection[str]
    allow_outside: bool
    wanted: list[str]
    """Selected."""
    held: list[str]
    """Of those, asked in the revision."""
    chosen: list[str]
    """Of those, within the level."""
    untimed: set[str]
    """Of those, not asked for want of a clock."""

    @property
    def rules(self) -> list[Rule]:
        """The rules of the run."""
        return [RULES[code] for code in self.chosen if code not in self.untimed]

    def findings(self) -> Findings:
        """Nothing found yet."""
        return Findings(self.rules, self.samples, self.revision)


def ask(
    *,
    level: str,
    at: int | None,
    history: str | int,
    revision: str,
    clock: int | None,
    select: Collection[str] | None,
    ignore: Collection[str],
    samples: int,
    accept_unchecked: Collection[str],
    allow_outside: bool,
) -> Asked:
    """Check the options of `validate_table`.

    Raises:
        InvalidUsage: an option that has no such value, an unknown rule, nothing selected.
    """
    if level not in LEVELS:
        raise InvalidUsage(f"there is no level {level!r}; there is: {', '.join(LEVELS)}")
    if revision not in list(Revision):
        raise InvalidUsage(f"there is no revision {revision!r}; there is: {', '.join(Revision)}")
    reached = LEVELS[: LEVELS.index(level) + 1]
    wanted = [code for code in RULES if _chosen(code, select, RULES) and not _chosen(code, ignore, RULES, none=False)]
    held = [code for code in wanted if revision in RULES[code].revisions]
    chosen = [code for code in held if RULES[code].level in reached]
    if not chosen:
        if wanted and not held:
            asked = ", ".join(RULES[wanted[0]].revisions)
            raise InvalidUsage(f"no rule selected is asked in revision {revision}; {wanted[0]} is in {asked}")
        if wanted:
            raise InvalidUsage(f"no rule of level {level} is selected; --level {RULES[wanted[0]].level} has some")
        raise InvalidUsage("no rule is selected; see `deltaspec rules`")
    _chosen("", accept_unchecked, RULES)
    return Asked(
        level=reached[-1],
        at=at,
        history=parse_history(history),
        revision=Revision(revision),
        clock=clock,
        samples=samples,
        accept_unchecked=accept_unchecked,
        allow_outside=allow_outside,
        wanted=wanted,
        held=held,
        chosen=chosen,
        untimed={code for code in chosen if clock is None and RULES[code].needs_clock},
    )


def check_state_options(state: str | None, *, resume: bool) -> None:
    """Raise `InvalidUsage` where there is nothing to go on with."""
    if state == "":
        raise InvalidUsage("--state names no directory")
    if resume and state is None:
        raise InvalidUsage("--resume needs --state: the directory that a run has kept its state in")


def build_report(asked: Asked, run: LogRun, engine: str) -> Report:
    """The report of a run that has judged.

    Args:
        asked: what it was asked.
        run: the run.
        engine: name of the engine.
    """
    found, plan, revision = run.findings, run.plan, asked.revision
    ran = [
        code for code in asked.chosen if RULES[code].view.name in found.evaluated_views and code not in asked.untimed
    ]
    ledger = _ledger(found.not_checked, asked.accept_unchecked)
    decided = {*ran, *(entry.rule for entry in ledger)}
    not_applicable = [code for code in asked.chosen if code not in decided]
    counts: dict[str, int] = {
        severity: sum(number for code, number in found.totals.items() if RULES[code].severity_in(revision) == severity)
        for severity in SEVERITIES
    }
    refusal = run.state.refusal
    return Report(
        report_version=REPORT_VERSION,
        deltaspec=__version__,
        table=run.store.uri,
        version=plan.version,
        revision=str(revision),
        level=asked.level,
        engine=engine,
        history=asked.history,
        clock=asked.clock,
        verdict="refused" if refusal else _verdict(counts, ledger),
        counts=counts,
        totals=dict(sorted(found.totals.items())),
        findings=found.sorted_findings,
        inventory=run.inventory,
        refusal=Refusal(requirement=refusal.requirement, why=refusal.why) if refusal else None,
        checked=Checked(
            run=ran,
            not_applicable=not_applicable,
            skipped=[code for code in RULES if code not in asked.chosen],
            not_checked=ledger,
            derived_files_not_compared=list(plan.not_compared),
            reasons=_reasons(asked, not_applicable),
        ),
    )


def _reasons(asked: Asked, not_applicable: list[str]) -> dict[str, str]:
    """Why rules were not applicable, or not asked."""
    reasons = {
        code: "no clock is given"
        if code in asked.untimed
        else f"the table has no row of the view {RULES[code].view.name}"
        for code in not_applicable
    }
    reasons |= {code: f"needs --level {RULES[code].level}" for code in asked.held if code not in asked.chosen}
    reasons |= {code: f"revision {asked.revision} does not ask it" for code in asked.wanted if code not in asked.held}
    return reasons | {code: "left out by --select or --ignore" for code in RULES if code not in asked.wanted}


def _chosen(code: str, wanted: Collection[str] | None, known: Iterable[str], *, none: bool = True) -> bool:
    """Whether a code is among those wanted, by itself or by its beginning.

    Raises:
        InvalidUsage: a wanted code is that of no rule.
    """
    if wanted is None:
        return none
    for each in wanted:
        if not any(other.startswith(each) for other in known):
            near = get_close_matches(each, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else "; see `deltaspec rules`"
            raise InvalidUsage(f"unknown rule {each!r}{hint}")
    return any(code.startswith(each) for each in wanted) if code else False


def _ledger(not_checked: list[NotChecked], accepted: Collection[str]) -> list[NotChecked]:
    entries = {(each.rule, each.reason, each.file): each for each in not_checked}
    return [
        NotChecked(rule=rule, reason=reason, file=file, accepted=any(rule.startswith(each) for each in accepted))
        for rule, reason, file in sorted(entries, key=lambda entry: (entry[0], entry[2] or "", entry[1]))
    ]


def _verdict(counts: dict[str, int], ledger: list[NotChecked]) -> Verdict:
    if counts["violation"]:
        return "violations"
    return "incomplete" if any(not each.accepted for each in ledger) else "conforms"
