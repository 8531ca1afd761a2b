"""`validate_table`: one question, one report."""

from collections.abc import Collection

from deltaspec.errors import InvalidUsage
from deltaspec.report.values import Report
from deltaspec.validate.asked import EVERY_FINDING_AT_THE_END, Asked, ask, report_of, require_state
from deltaspec.validate.base_run import Progress, silent
from deltaspec.validate.embedded import EmbeddedRun
from deltaspec.validate.findings_table import FindingsFile, Sink
from deltaspec.validate.moved import pinned_listing
from deltaspec.validate.places import refuse_in_table
from deltaspec.validate.plan import Plan, make_plan
from deltaspec.validate.shares import SPILLED_SHARES, Shares
from deltaspec.wire.storage import Store, open_store


def validate_table(
    uri: str,
    *,
    level: str = "files",
    at: int | None = None,
    history: str | int = "latest",
    revision: str = "current",
    clock: int | None = None,
    select: Collection[str] | None = None,
    ignore: Collection[str] = (),
    samples: int = 1000,
    accept_unchecked: Collection[str] = (),
    allow_outside: bool = False,
    progress: Progress | None = None,
    state: str | None = None,
    resume: bool = False,
    findings_out: str | None = None,
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
        state: a directory in which the run keeps what it has done, made where it is not there. It has to be the user's
            own: it holds pickles, which are trusted like the kit itself.
        resume: go on with the state that is kept there, if there is any. The report equals that of a run that was not
            interrupted; the state has to be of the same release, options, and listing of the log.
        findings_out: a Parquet file to write every finding to, of which the report holds the first of each rule;
            columns of `findings_table.FINDING_ROWS`.

    Raises:
        InvalidUsage: an option that has no such value, an unknown rule, no such version; a state of another run; a file
            that cannot be written.
        TableUnreadable: there is no table.
    """
    asked = ask(
        level=level,
        at=at,
        history=history,
        revision=revision,
        clock=clock,
        select=select,
        ignore=ignore,
        samples=samples,
        accept_unchecked=accept_unchecked,
        allow_outside=allow_outside,
    )
    require_state(state, resume=resume)
    store = open_store(uri)
    plan = make_plan(store.uri, pinned_listing(store), at=at, history=asked.history)
    if findings_out is not None:
        if state is not None:
            raise InvalidUsage(EVERY_FINDING_AT_THE_END)
        refuse_in_table(findings_out, store.root)
        with FindingsFile(findings_out) as file:
            return _judged(asked, store, plan, progress or silent, sink=file)
    if state is None:
        return _judged(asked, store, plan, progress or silent)
    from deltaspec.validate.kept_shares import KeptShares
    from deltaspec.validate.state_folder import state_folder
    from deltaspec.validate.state_key import key_of

    key = key_of(asked, store, plan, "embedded", SPILLED_SHARES)
    with state_folder(state, key, store, resume=resume) as folder:
        kept: Report | None = folder.report
        if kept is None:
            kept = _judged(asked, store, plan, progress or silent, KeptShares(folder, SPILLED_SHARES))
            folder.finish(kept)
        return kept


def _judged(
    asked: Asked, store: Store, plan: Plan, progress: Progress, shares: Shares | None = None, sink: Sink | None = None
) -> Report:
    run = EmbeddedRun(
        *(store, plan, asked.rules, asked.samples, progress),
        level=asked.level,
        revision=asked.revision,
        clock_ms=asked.clock,
        allow_outside=asked.allow_outside,
        shares=shares,
    )
    run.findings.sink = sink
    run.judge()
    return report_of(asked, run, "embedded")
