"""Run the embedded backend on one table."""

from __future__ import annotations

from deltaspec.report.report_types import Report
from deltaspec.validation.acceptance import build_acceptance
from deltaspec.validation.buckets import SPILLED_BUCKETS, Buckets, LocalBuckets
from deltaspec.validation.embedded import EmbeddedLog
from deltaspec.validation.findings import Findings
from deltaspec.validation.findings_table import open_parquet_sink
from deltaspec.validation.log.catalog import open_catalog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.pipeline import check_table
from deltaspec.validation.plan import Plan
from deltaspec.validation.report_builder import build_report
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings


def run_embedded(uri: str, options: Options, settings: RunSettings, storage: StorageSettings = ENVIRONMENT) -> Report:
    """Validate a table in this process. `deltaspec.validate` documents options, settings and errors."""
    return run_on_store(open_store(uri, storage), options, settings)


def run_on_store(store: Store, options: Options, settings: RunSettings) -> Report:
    """Validate the table that a store shows. Otherwise as `run_embedded`."""
    listed = load_pinned_listing(store)
    store = open_catalog(store, options.ratified)
    plan, options = plan_run(store, listed, options)
    findings = options.create_findings()
    findings.acceptance = build_acceptance(
        options.accept, options.baseline, store, records=settings.recorded is not None
    )
    if settings.findings_out is not None:
        require_outside_table(settings.findings_out, store.root)
        with open_parquet_sink(settings.findings_out) as findings.sink:
            return _run(store, plan, options, settings, findings)
    if settings.state is None:
        return _run(store, plan, options, settings, findings)
    from deltaspec.validation.resume.resume_folder import open_resume_folder
    from deltaspec.validation.resume.resume_key import build_key
    from deltaspec.validation.resume.saved_buckets import SavedBuckets

    key = build_key(options, store, plan, "embedded", SPILLED_BUCKETS, findings.acceptance)
    with open_resume_folder(settings.state, key, store, resume=settings.resume) as folder:
        report: Report | None = folder.report
        if report is None:
            buckets = SavedBuckets(folder, SPILLED_BUCKETS, settings.limited_progress)
            report = _run(store, plan, options, settings, findings, buckets)
            if report.stopped is None:
                folder.save_report(report)
        return report


def _run(
    store: Store,
    plan: Plan,
    options: Options,
    settings: RunSettings,
    findings: Findings,
    buckets: Buckets | None = None,
) -> Report:
    progress = settings.limited_progress
    buckets = LocalBuckets(progress=progress) if buckets is None else buckets
    log = EmbeddedLog(build_read_context(store, plan, options), findings, buckets, progress)
    result = check_table(log, settings.interrupts)
    if settings.recorded is not None:
        settings.recorded.take(result.findings.accepted, store)
    return build_report(result, "embedded")
