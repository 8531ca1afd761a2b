"""Run the Spark backend on one table. The report is the same as with the embedded backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from deltaspec.report.report_types import Report
from deltaspec.validation.acceptance import build_acceptance
from deltaspec.validation.findings_table import InMemorySink
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.hint_checks import HINT_FILE
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.report_builder import build_report
from deltaspec.validation.resume.resume_key import build_key
from deltaspec.validation.spark.bucket_counts import BucketCounts, compute_bucket_counts
from deltaspec.validation.spark.catalog import find_table_uri
from deltaspec.validation.spark.driver import SparkLog, check_table_on_spark, ignore_findings
from deltaspec.validation.spark.findings_output import write_findings
from deltaspec.validation.spark.jobs import Jobs, SparkFailed, translating_spark_errors
from deltaspec.validation.spark.saved_jobs import SavedJobs
from deltaspec.validation.spark.session import JobDescription
from deltaspec.validation.spark.spark_buckets import SparkBuckets
from deltaspec.validation.spark.table_access import TableAccess, ask_catalog, find_table_access
from deltaspec.views.log.checkpoints import last_checkpoint
from deltaspec.wire.storage.interface import escape_file_name, redact_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_on_spark(
    session: SparkSession,
    uri: str,
    options: Options,
    settings: RunSettings,
    *,
    bucket_counts: BucketCounts | None = None,
    storage: StorageSettings = ENVIRONMENT,
    overlay: Callable[[TableAccess], TableAccess] | None = None,
) -> Report:
    """Validate a table on a Spark session, classic or Connect. `deltaspec.spark.validate` documents the errors.

    Args:
        session: its executors have deltaspec. Its settings do not change.
        uri: path or URI of the table's root, or its name in the catalog.
        options: what to check.
        settings: how the run works. `findings_out` is the URI of a new directory. `state` is a directory or a URI that
            all executors can write to.
        bucket_counts: numbers of buckets; None derives them from the log.
        storage: settings of the storage clients on driver and executors.
        overlay: returns access to the table as it would be after a repair; None for the table itself.
    """
    with (
        _naming_state(settings.state),
        translating_spark_errors(),
        closing(Jobs(session)) as jobs,
        _describing_jobs(jobs, uri, settings) as settings,
    ):
        uri = find_table_uri(session, uri)
        access = ask_catalog(find_table_access(jobs, uri, storage), options)
        access = access if overlay is None else overlay(access)
        if settings.findings_out is not None:
            require_outside_table(settings.findings_out, access.store.root)
        plan, options = plan_run(access.store, access.listing, options)
        saved = None if settings.state is None else SavedJobs(jobs, settings.state, access.store)
        counts = bucket_counts or (saved and saved.bucket_counts)
        counts = counts or compute_bucket_counts(access.store, plan, options, jobs.parallelism)
        findings, on_finished = options.create_findings(), ignore_findings
        findings.acceptance = build_acceptance(
            options.accept, options.baseline, access.store, records=settings.recorded is not None
        )
        if not access.driver_can_read:  # it is unknown whether the file exists
            findings.mark_undecided((last_checkpoint,), "Spark does not list files with such names", HINT_FILE)
        progress = settings.limited_progress
        buckets = SparkBuckets(jobs, access, counts, progress, settings.budget)
        log = SparkLog(jobs, access, build_read_context(access.store, plan, options), findings, buckets, progress)
        if settings.findings_out is not None:
            findings.sink = InMemorySink()
            on_finished = partial(write_findings, jobs, buckets, settings.findings_out)
        if saved is None:
            result = check_table_on_spark(log, settings.interrupts, on_finished)
            if settings.recorded is not None:
                settings.recorded.take(result.findings.accepted, access.store)
            return replace(build_report(result, "spark"), access=access.description)
        backend = f"spark, {_describe_access(access)}"
        key = build_key(options, access.store, plan, backend, counts.to_key(), findings.acceptance)
        saved.begin(key, resume=settings.resume)
        return _resume(log, saved, settings, access)


@contextmanager
def _describing_jobs(jobs: Jobs, uri: str, settings: RunSettings) -> Iterator[RunSettings]:
    """Describe the jobs of the block by the phases that its progress reports. Yield settings with such a callback."""
    description, table = JobDescription(jobs.session), escape_file_name(redact_uri(uri))
    current = ""

    def report(phase: str, done: int, total: int | None) -> None:
        nonlocal current
        if phase not in ("buckets", current):  # every phase has buckets
            current = phase
            description.set(f"deltaspec: {phase} of {table}")
        settings.progress(phase, done, total)

    description.set(f"deltaspec: log of {table}")
    try:
        yield replace(settings, progress=report)
    finally:
        description.restore()


@contextmanager
def _naming_state(state: str | None) -> Iterator[None]:
    """Add to a failure of Spark how its run can be continued."""
    try:
        yield
    except SparkFailed as fault:
        continued = "with --state DIR, a run can continue with --resume after its last completed job"
        if state is not None:
            continued = f"to continue after the last completed job, run again with --state {quote(state)} --resume"
        raise SparkFailed(f"{fault}; {continued}") from fault


def _resume(log: SparkLog, saved: SavedJobs, settings: RunSettings, access: TableAccess) -> Report:
    """Return the saved report, or finish the run from the saved jobs and save its report."""
    report = saved.report
    if report is None:
        log.jobs.job_store = log.buckets.job_store = saved
        result = check_table_on_spark(log, settings.interrupts)
        report = replace(build_report(result, "spark"), access=access.description)
        if report.stopped is None:
            saved.save_report(report)
    return report


def _describe_access(access: TableAccess) -> str:
    if access.executors_can_read:
        return "executors read the table"
    return "the driver reads the table" if access.driver_can_read else "Spark reads the log"
