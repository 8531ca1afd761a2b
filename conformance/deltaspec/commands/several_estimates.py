"""`deltaspec validate --estimate` with several tables: an estimate of each, and the totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from deltaspec import __version__
from deltaspec.commands.printing import write_text_or_json
from deltaspec.commands.progress import show_progress
from deltaspec.commands.startup import import_arrow_alone
from deltaspec.errors import DeltaspecError, StorageUnavailable, TableUnreadable
from deltaspec.exit_codes import ExitCode

if TYPE_CHECKING:
    from deltaspec.commands.configuration import TableOptions
    from deltaspec.report.estimate import Estimate
    from deltaspec.report.estimates_summary import NotEstimated
    from deltaspec.wire.storage.table_search import Unsearched


def estimate_tables(
    locations: Sequence[str],
    unsearched: Sequence[Unsearched],
    resolve: Callable[[str], TableOptions],
    options: Mapping[str, Any],
) -> int:
    """Estimate the runs over several tables, print what each needs and the totals, and return the exit code.

    Args:
        locations: paths and URIs of the tables.
        unsearched: folders that could not be searched for tables.
        resolve: returns the options of a table.
        options: values of the options of the summary.
    """
    import_arrow_alone()
    from deltaspec.commands.table_locations import describe_location
    from deltaspec.report.estimates_summary import (
        ESTIMATES_VERSION,
        EstimatesSummary,
        NotEstimated,
        compute_totals,
        write_estimates,
    )

    estimates: list[Estimate] = []
    failed: list[NotEstimated] = [NotEstimated(each.location, each.reason) for each in unsearched]
    has_only_outages = all(each.is_outage for each in unsearched)
    with nullcontext() if options["quiet"] else show_progress() as progress:
        for number, location in enumerate(locations):
            if progress is not None:
                progress("tables", number, len(locations))
            shown = describe_location(location)
            try:
                estimates.append(estimate_table(resolve(location)))
            except DeltaspecError as fault:
                has_only_outages = has_only_outages and isinstance(fault, StorageUnavailable)
                failed.append(NotEstimated(shown, str(fault).removeprefix(f"{shown}: ")))
            except click.ClickException as fault:
                has_only_outages = False
                failed.append(NotEstimated(shown, fault.format_message()))
    error = StorageUnavailable if has_only_outages else TableUnreadable
    summary = EstimatesSummary(
        estimates_version=ESTIMATES_VERSION,
        deltaspec=__version__,
        exit_code=error.exit_code if failed else ExitCode.OK,
        tables=estimates,
        not_estimated=failed,
        totals=compute_totals(estimates),
    )
    write_text_or_json(summary, write_estimates, options)
    return summary.exit_code


def estimate_table(resolved: TableOptions) -> Estimate:
    """Estimate a run over a table with its options."""
    from deltaspec.validation.describe import read_estimate

    chosen = {name: resolved.values[name] for name in ("at", "history", "revision")}
    return read_estimate.estimate_table(resolved.table, **chosen, storage=resolved.storage, measures_time=True)
