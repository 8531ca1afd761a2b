"""Looks at the log directory itself: what its names say, what is staged in it, and where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.catalog_managed import FEATURE
from deltaspec.validate.retention import look_at_log_beginning
from deltaspec.validate.staged_commits import look_at_staged_commits
from deltaspec.views.log_facts import listing_rows
from deltaspec.views.log_files import listing

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run


def look_at_listing(run: Run) -> None:
    """Look at the files of the log, each beside the others."""
    held = {version: (actions.protocol, actions.metadata) for version, (actions, _) in run.states.items()}
    managed = run.state.supports(FEATURE)
    rows = listing_rows(run.plan.entries.values(), run.plan.missing, held, managed)
    run.findings.look_at_rows(listing, rows)
    look_at_staged_commits(run)
    look_at_log_beginning(run)
