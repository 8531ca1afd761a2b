"""`validate_table`: one question, one report."""

from collections.abc import Collection

from deltaspec.report.values import Report
from deltaspec.validate.asked import ask, report_of
from deltaspec.validate.base_run import Progress, silent
from deltaspec.validate.embedded import EmbeddedRun
from deltaspec.validate.moved import pinned_listing
from deltaspec.validate.plan import make_plan
from deltaspec.wire.storage import open_store


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
    store = open_store(uri)
    plan = make_plan(store.uri, pinned_listing(store), at=at, history=history)
    run = EmbeddedRun(
        *(store, plan, asked.rules, asked.samples, progress or silent),
        level=asked.level,
        revision=asked.revision,
        clock_ms=clock,
        allow_outside=allow_outside,
    )
    run.judge()
    return report_of(asked, run, "embedded")
