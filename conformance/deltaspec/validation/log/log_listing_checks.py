"""Looks at the log directory itself: what its names say, what is staged in it, and where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.commit.catalog_managed import FEATURE
from deltaspec.validation.data.retention_checks import check_log_start
from deltaspec.validation.log.staged_commit_checks import check_staged_commits
from deltaspec.views.log.log_file_rows import build_listing_rows
from deltaspec.views.log.log_files import listing

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run


def check_log_listing(run: Run) -> None:
    """Look at the files of the log, each beside the others."""
    held = {version: (actions.protocol, actions.metadata) for version, (actions, _) in run.compared_states.items()}
    managed = run.state.supports(FEATURE)
    rows = build_listing_rows(run.plan.entries.values(), run.plan.missing, held, managed)
    run.findings.evaluate_rows(listing, rows)
    check_staged_commits(run)
    check_log_start(run)
