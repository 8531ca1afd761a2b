"""`validate` on Spark: one question, one report, as `deltaspec.validation.validate_table` gives it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from deltaspec.errors import InvalidUsage
from deltaspec.report.report_types import Report
from deltaspec.validation.base_run import Progress, silent
from deltaspec.validation.findings_table import InMemorySink
from deltaspec.validation.log.concurrent_writes import HINT
from deltaspec.validation.options import FINDINGS_OUT_WITH_STATE, Asked, ask, build_report, check_state_options
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.plan import Plan, build_plan
from deltaspec.validation.resume.resume_key import build_key
from deltaspec.validation.spark.catalog import get_table_location, is_catalog_name
from deltaspec.validation.spark.driver import SparkRun
from deltaspec.validation.spark.findings_output import build_findings_frame, write_findings
from deltaspec.validation.spark.jobs import Jobs, translating_spark_errors
from deltaspec.validation.spark.saved_jobs import SavedJobs
from deltaspec.validation.spark.table_access import find_table_access
from deltaspec.views.log.checkpoints import last_checkpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HINT_FILE = f"{LOG_DIRECTORY}/{HINT}"
BUCKET_BYTES = 16 << 20
"""Of the log that a share has: some 100,000 files in checkpoints."""
MAX_BUCKETS = 4096
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
    buckets: int | None = None,
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
    check_state_options(state, resume=resume)
    if state is not None and findings_out is not None:
        raise InvalidUsage(FINDINGS_OUT_WITH_STATE)
    with translating_spark_errors(), closing(Jobs(session, environment=environment)) as jobs:
        if is_catalog_name(uri) and not os.path.isdir(uri):
            uri = get_table_location(session, uri)
        reach = find_table_access(jobs, uri)
        if findings_out is not None:
            require_outside_table(findings_out, reach.store.root)
        plan = build_plan(reach.store.uri, reach.listing, at=at, history=asked.history)
        kept = None if state is None else SavedJobs(jobs, state, reach.store)
        count = buckets or (kept and kept.buckets) or bucket_count(plan, jobs.parallelism)
        run = SparkRun(jobs, reach, plan, asked, progress or silent, count)
        if not reach.driver_can_read:  # whether there is one is not known
            run.findings.mark_undecided((last_checkpoint,), "Spark's file index hides files of such names", _HINT_FILE)
        if findings_out is not None:
            run.findings.sink = InMemorySink()
            run.on_finished = lambda: write_findings(
                build_findings_frame(jobs, run.buckets, run.findings), findings_out
            )
        if kept is None:
            run.judge()
            return build_report(asked, run, "spark")
        ways = f"spark, {_WAYS[reach.executors_can_read, reach.driver_can_read]}"
        kept.begin(build_key(asked, reach.store, plan, ways, count), resume=resume)
        return _gone_on(asked, jobs, run, kept)


def _gone_on(asked: Asked, jobs: Jobs, run: SparkRun, kept: SavedJobs) -> Report:
    """The report of a run that keeps what it does, or goes on with what is kept."""
    report = kept.report
    if report is None:
        jobs.state = run.buckets.state = kept
        run.judge()
        report = build_report(asked, run, "spark")
        kept.save_report(report)
    return report


def bucket_count(plan: Plan, parallelism: int) -> int:
    """Shares enough for every task at once, and small enough for the memory of one."""
    read = sum(entry.size_bytes for entry in plan.entries.values())
    return min(MAX_BUCKETS, max(parallelism, read // BUCKET_BYTES + 1))
