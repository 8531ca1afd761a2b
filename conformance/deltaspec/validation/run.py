"""Run the embedded engine on one table."""

from __future__ import annotations

from deltaspec.report.report_types import Report
from deltaspec.validation.buckets import SPILLED_BUCKETS, Buckets
from deltaspec.validation.embedded import EmbeddedRun
from deltaspec.validation.findings_table import ParquetSink, Sink
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.plan import Plan, build_plan
from deltaspec.validation.progress import Progress
from deltaspec.validation.report_builder import build_report
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings


def run_embedded(uri: str, options: Options, settings: RunSettings, storage: StorageSettings = ENVIRONMENT) -> Report:
    """Validate a table in this process. `deltaspec.validate` documents options, settings and errors."""
    store = open_store(uri, storage)
    plan = build_plan(
        store.uri, load_pinned_listing(store), at=options.at, history=options.history, revision=options.revision
    )
    if settings.findings_out is not None:
        require_outside_table(settings.findings_out, store.root)
        with ParquetSink(settings.findings_out) as sink:
            return _run(store, plan, options, settings.progress, sink=sink)
    if settings.state is None:
        return _run(store, plan, options, settings.progress)
    from deltaspec.validation.resume.resume_folder import open_resume_folder
    from deltaspec.validation.resume.resume_key import build_key
    from deltaspec.validation.resume.saved_buckets import SavedBuckets

    key = build_key(options, store, plan, "embedded", SPILLED_BUCKETS)
    with open_resume_folder(settings.state, key, store, resume=settings.resume) as folder:
        report: Report | None = folder.report
        if report is None:
            buckets = SavedBuckets(folder, SPILLED_BUCKETS, settings.progress)
            report = _run(store, plan, options, settings.progress, buckets)
            folder.save_report(report)
        return report


def _run(
    store: Store,
    plan: Plan,
    options: Options,
    progress: Progress,
    buckets: Buckets | None = None,
    sink: Sink | None = None,
) -> Report:
    findings = options.create_findings()
    findings.sink = sink
    run = EmbeddedRun(store, plan, options, findings, progress, buckets)
    run.run()
    return build_report(run, "embedded")
