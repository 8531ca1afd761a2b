"""`validate` on Spark: one question, one report, as `deltaspec.validate.validate_table` gives it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from deltaspec.errors import InvalidUsage
from deltaspec.report.values import Report
from deltaspec.validate.asked import EVERY_FINDING_AT_THE_END, Asked, ask, report_of, require_state
from deltaspec.validate.base_run import Progress, silent
from deltaspec.validate.findings_table import HeldRows
from deltaspec.validate.moved import HINT
from deltaspec.validate.places import refuse_in_table
from deltaspec.validate.plan import Plan, make_plan
from deltaspec.validate.spark.catalog import is_catalog_name, location
from deltaspec.validate.spark.driver import SparkRun
from deltaspec.validate.spark.findings_out import findings_frame, write_findings
from deltaspec.validate.spark.jobs import Jobs, failures_told
from deltaspec.validate.spark.kept import KeptJobs
from deltaspec.validate.spark.reach import find_reach
from deltaspec.validate.state_key import key_of
from deltaspec.views.checkpoints import last_checkpoint
from deltaspec.wire.storage import LOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HINT_FILE = f"{LOG}/{HINT}"
SHARE_BYTES = 16 << 20
"""Of the log that a share has: some 100,000 files in checkpoints."""
MOST_SHARES = 4096
_WAYS = {
    (True, True): "executors read the table",
    (False, True): "the driver reads the table",
    (False, False): "Spark reads the log",
}
"""How a table is reached: by whether executors do, and whether the driver does."""


def validate(
    session: SparkSession,
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
    shares: int | None = None,
    environment: Mapping[str, str] | None = None,
    findings_out: str | None = None,
    state: str | None = None,
    resume: bool = False,
) -> Report:
    """Judge a table on a session of Spark, classic or Connect.

    Args:
        session: whose executors have deltaspec; its settings are as they were when the run ends.
        uri: path or URI of the table's root, or `catalog.schema.table`.
        level: as of `validate_table`, as are all others but the last five.
        at: as there.
        history: as there.
        revision: as there.
        clock: as there.
        select: as there.
        ignore: as there.
        samples: as there.
        accept_unchecked: as there.
        allow_outside: as there.
        progress: as there.
        shares: over how many shares the table's files are spread; by the length of its log where None.
        findings_out: URI of a directory to write every finding to, as Parquet; it must not be there yet.
        state: a directory, or the URI of one, in which the run keeps what its jobs give; all executors reach it. It is
            trusted like the kit itself, and may be deleted when the report is there.
        resume: go on with the state that is kept there, if there is any.
        environment: variables for the storage clients of the executors, such as AWS_REGION; never shown.

    Raises:
        InvalidUsage: as there.
        TableUnreadable: as there.
        SparkFailed: a job of Spark did not end.
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
    if state is not None and findings_out is not None:
        raise InvalidUsage(EVERY_FINDING_AT_THE_END)
    with failures_told(), closing(Jobs(session, environment=environment)) as jobs:
        if is_catalog_name(uri) and not os.path.isdir(uri):
            uri = location(session, uri)
        reach = find_reach(jobs, uri)
        if findings_out is not None:
            refuse_in_table(findings_out, reach.store.root)
        plan = make_plan(reach.store.uri, reach.listing, at=at, history=asked.history)
        kept = None if state is None else KeptJobs(jobs, state, reach.store)
        count = shares or (kept and kept.shares) or share_count(plan, jobs.parallelism)
        run = SparkRun(jobs, reach, plan, asked, progress or silent, count)
        if not reach.driver_reaches:  # whether there is one is not known
            run.findings.doubt((last_checkpoint,), "Spark's file index hides files of such names", _HINT_FILE)
        if findings_out is not None:
            run.findings.sink = HeldRows()
            run.at_end = lambda: write_findings(findings_frame(jobs, run.shares, run.findings), findings_out)
        if kept is None:
            run.judge()
            return report_of(asked, run, "spark")
        ways = f"spark, {_WAYS[reach.executors_reach, reach.driver_reaches]}"
        kept.begin(key_of(asked, reach.store, plan, ways, count), resume=resume)
        return _gone_on(asked, jobs, run, kept)


def _gone_on(asked: Asked, jobs: Jobs, run: SparkRun, kept: KeptJobs) -> Report:
    """The report of a run that keeps what it does, or goes on with what is kept."""
    report = kept.report
    if report is None:
        jobs.state = run.shares.state = kept
        run.judge()
        report = report_of(asked, run, "spark")
        kept.finish(report)
    return report


def share_count(plan: Plan, parallelism: int) -> int:
    """Shares enough for every task at once, and small enough for the memory of one."""
    read = sum(entry.size_bytes for entry in plan.entries.values())
    return min(MOST_SHARES, max(parallelism, read // SHARE_BYTES + 1))
