"""`validate_table`: one question, one report."""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.model.revisions import Revision
from deltaspec.report.values import REPORT_VERSION, SEVERITIES, Checked, NotChecked, Refusal, Report, Verdict
from deltaspec.validate.embedded import EmbeddedRun
from deltaspec.validate.plan import make_plan
from deltaspec.views.base import LEVELS
from deltaspec.wire.storage import open_store

Progress = Callable[[str, int, int | None], None]


def validate_table(
    uri: str,
    *,
    level: str = "files",
    at: int | None = None,
    history: str = "latest",
    revision: str = "current",
    clock: int | None = None,
    select: Collection[str] | None = None,
    ignore: Collection[str] = (),
    samples: int = 1000,
    accept_unchecked: Collection[str] = (),
    allow_outside: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Judge a table by its log, and by what the log says of its files.

    Args:
        uri: path or URI of the table's root.
        level: what may be opened: `log` nothing but `_delta_log`; `files` the listing of the table's directories and
            deletion vectors; `footers` the footer of every live data file; `rows` the data itself.
        at: version to judge; the latest where None.
        history: `latest`, `all`, or how many versions back.
        revision: the text judged by: `r1`, `r2`, `r3` or `current`. Rules whose requirements do not hold in it are not
            asked. A table with features that an older text does not know is refused, which is the verdict.
        clock: a moment in milliseconds since the epoch, not before the table was last written; it decides which
            tombstones and transactions a checkpoint still has to hold, which removed files and how much history had to
            stay. No rule on expiry is asked where None.
        select: codes, or beginnings of codes, of the rules to run; all where None.
        ignore: codes, or beginnings of codes, to leave out.
        samples: findings kept of each rule.
        accept_unchecked: rules whose not-checked places do not make the run incomplete.
        allow_outside: follow absolute paths that lead out of the table, as shallow clones have them.
        progress: called with a phase, how much is done and of how much.

    Raises:
        InvalidUsage: an option that has no such value, an unknown rule, no such version.
        TableUnreadable: there is no table.
    """
    from deltaspec.rules import RULES

    if level not in LEVELS:
        raise InvalidUsage(f"there is no level {level!r}; there is: {', '.join(LEVELS)}")
    if revision not in list(Revision):
        raise InvalidUsage(f"there is no revision {revision!r}; there is: {', '.join(Revision)}")
    if history not in ("latest", "all") and not (history.isascii() and history.isdigit() and int(history) > 0):
        raise InvalidUsage(f"history {history!r} is neither latest, all nor a number of versions")
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
    store = open_store(uri)
    plan = make_plan(store.uri, store.list_log(), at=at, history=history)
    untimed = {code for code in chosen if clock is None and RULES[code].needs_clock}
    rules = [RULES[code] for code in chosen if code not in untimed]
    run = EmbeddedRun(
        *(store, plan, rules, samples, progress or _silent),
        level=reached[-1],
        revision=Revision(revision),
        clock_ms=clock,
        allow_outside=allow_outside,
    )
    found = run.judge()
    refusal = run.state.refusal
    ran = [code for code in chosen if RULES[code].view.name in found.views_seen and code not in untimed]
    ledger = _ledger(found.not_checked, accept_unchecked)
    decided = {*ran, *(entry.rule for entry in ledger)}
    not_applicable = [code for code in chosen if code not in decided]
    counts: dict[str, int] = {
        severity: sum(number for code, number in found.totals.items() if RULES[code].severity_in(revision) == severity)
        for severity in SEVERITIES
    }
    return Report(
        report_version=REPORT_VERSION,
        deltaspec=__version__,
        table=store.uri,
        version=plan.version,
        revision=revision,
        level=level,
        engine="embedded",
        history=history,
        clock=clock,
        verdict="refused" if refusal else _verdict(counts, ledger),
        counts=counts,
        totals=dict(sorted(found.totals.items())),
        findings=found.sorted,
        inventory=run.inventory,
        refusal=Refusal(requirement=refusal.requirement, why=refusal.why) if refusal else None,
        checked=Checked(
            run=ran,
            not_applicable=not_applicable,
            not_asked=[code for code in RULES if code not in chosen],
            not_checked=ledger,
            routes_not_compared=list(plan.not_compared),
            reasons={
                code: "no clock is given"
                if code in untimed
                else f"the table has no row of the view {RULES[code].view.name}"
                for code in not_applicable
            }
            | {code: f"needs --level {RULES[code].level}" for code in held if code not in chosen}
            | {code: f"revision {revision} does not ask it" for code in wanted if code not in held}
            | {code: "left out by --select or --ignore" for code in RULES if code not in wanted},
        ),
    )


def _silent(phase: str, done: int, total: int | None) -> None:
    """No progress is shown."""


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
