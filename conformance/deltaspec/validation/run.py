"""`validate_table`: one question, one report."""

from collections.abc import Collection

from deltaspec.errors import InvalidUsage
from deltaspec.report.report_types import Report
from deltaspec.validation.base_run import Progress, silent
from deltaspec.validation.buckets import SPILLED_BUCKETS, Buckets
from deltaspec.validation.embedded import EmbeddedRun
from deltaspec.validation.findings_table import ParquetSink, Sink
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.options import FINDINGS_OUT_WITH_STATE, Asked, ask, build_report, check_state_options
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.plan import Plan, build_plan
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store


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
            columns of `findings_table.FINDING_SCHEMA`.

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
    check_state_options(state, resume=resume)
    store = open_store(uri)
    plan = build_plan(store.uri, load_pinned_listing(store), at=at, history=asked.history)
    if findings_out is not None:
        if state is not None:
            raise InvalidUsage(FINDINGS_OUT_WITH_STATE)
        require_outside_table(findings_out, store.root)
        with ParquetSink(findings_out) as file:
            return _judged(asked, store, plan, progress or silent, sink=file)
    if state is None:
        return _judged(asked, store, plan, progress or silent)
    from deltaspec.validation.resume.resume_folder import open_resume_folder
    from deltaspec.validation.resume.resume_key import build_key
    from deltaspec.validation.resume.saved_buckets import SavedBuckets

    key = build_key(asked, store, plan, "embedded", SPILLED_BUCKETS)
    with open_resume_folder(state, key, store, resume=resume) as folder:
        kept: Report | None = folder.report
        if kept is None:
            kept = _judged(asked, store, plan, progress or silent, SavedBuckets(folder, SPILLED_BUCKETS))
            folder.save_report(kept)
        return kept


def _judged(
    asked: Asked, store: Store, plan: Plan, progress: Progress, buckets: Buckets | None = None, sink: Sink | None = None
) -> Report:
    run = EmbeddedRun(
        *(store, plan, asked.rules, asked.samples, progress),
        level=asked.level,
        revision=asked.revision,
        clock_ms=asked.clock,
        allow_outside=asked.allow_outside,
        buckets=buckets,
    )
    run.findings.sink = sink
    run.judge()
    return build_report(asked, run, "embedded")
