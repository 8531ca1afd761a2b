"""Apply a plan to its table, or undo that. This is the only operation of the kit that writes into a table of a user.

`deltaspec.repair.steps` has the steps and their order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

import msgspec

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.repair.journal import open_journal
from deltaspec.repair.plan_checks import check_names
from deltaspec.repair.plan_folder import load_plan
from deltaspec.repair.plan_format import RepairPlan, VerdictSummary
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.steps import Application, Say
from deltaspec.repair.table_writer import open_table_writer
from deltaspec.repair.verdicts import MAX_FINDINGS, Validate, summarize, validate_store
from deltaspec.report.report_types import Report
from deltaspec.validation.options import Options
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.progress import ignore_progress
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import StorageError, Unanswered, redact_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings


def ignore(_: str) -> None:
    """Do nothing with a line."""


class Applied(msgspec.Struct, frozen=True):
    """What an application did, and the verdict afterwards."""

    report: Report
    """Of the table afterwards, at the level of the plan."""
    summary: VerdictSummary
    left: dict[str, str]
    """Files of the log that were not changed, because another process had changed them, with the reason."""


def apply_plan(
    place: str | PathLike[str],
    *,
    storage: StorageSettings = ENVIRONMENT,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
    say: Say = ignore,
    validate: Validate = validate_store,
) -> Applied:
    """Apply a plan, or continue an application that was killed, and validate the table again.

    Args:
        place: folder of the plan, which gets the journal and the files that are set aside.
        storage: settings of the storage client.
        allow_outside: as for `deltaspec.validate`; needed if the plan was made with it.
        writer_time_zone: as for `deltaspec.validate`; None for the one with which the plan was made.
        say: receives a line about each step.
        validate: validates the table, and the table with the plan laid over it.

    Raises:
        PlanRefused: the plan does not fit the table, or another writer committed first. Then nothing is changed.
        InvalidUsage: the folder is not a plan, or another process applies it.
        TableUnreadable, StorageUnavailable: the storage failed. The next call continues.
    """
    with _open_application(place, storage, allow_outside, writer_time_zone, say, validate) as application:
        if application.journal.is_finished:
            say("all steps were done before")
        else:
            application.apply()
    return _describe(application)


def undo_plan(
    place: str | PathLike[str],
    *,
    storage: StorageSettings = ENVIRONMENT,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
    say: Say = ignore,
    validate: Validate = validate_store,
) -> Applied:
    """Undo the steps of an application, except for a published commit, and validate the table again.

    A published commit stays, because readers may have read it and writers may have built upon it.

    Raises:
        InvalidUsage: nothing was applied; otherwise as `apply_plan`.
        PlanRefused: the table could not be read without a file that would be deleted.
        TableUnreadable, StorageUnavailable: the storage failed. The next call continues.
    """
    with _open_application(place, storage, allow_outside, writer_time_zone, say, validate) as application:
        if not application.journal.is_open:
            raise InvalidUsage(f"{place}: nothing was applied, so there is nothing to undo")
        application.undo()
    return _describe(application)


@contextmanager
def _open_application(
    place: str | PathLike[str],
    storage: StorageSettings,
    allow_outside: bool,
    writer_time_zone: str | None,
    say: Say,
    validate: Validate,
) -> Iterator[Application]:
    """Open plan, journal and table for a block, and turn errors of the storage into errors with an exit code."""
    loaded = load_plan(place)
    check_names(loaded.plan)
    table = loaded.plan.table
    options = _build_options(loaded.plan, writer_time_zone, allow_outside=allow_outside)
    store = open_store(table, storage)
    require_outside_table(str(loaded.folder), store.root)
    try:
        with open_journal(loaded.folder) as journal, open_table_writer(table, loaded.token, storage) as writer:
            yield Application(loaded, store, writer, journal, options, say, validate)
    except StorageError as fault:
        error = StorageUnavailable if isinstance(fault, Unanswered) else TableUnreadable
        text = "run the command again to continue, or with --undo to undo"
        raise error(f"{redact_uri(table)}: {fault}; {text}") from fault


def _build_options(plan: RepairPlan, writer_time_zone: str | None, *, allow_outside: bool) -> Options:
    """Return the options with which the plan was made.

    Raises:
        PlanRefused: the user does not allow what the plan was made with, or gives another time zone.
    """
    if plan.allow_outside and not allow_outside:
        raise PlanRefused(
            "the plan was made with --allow-outside; repeat it if files outside of the table may be read with your "
            "rights"
        )
    if writer_time_zone is not None and writer_time_zone != plan.writer_time_zone:
        made = "without one" if plan.writer_time_zone is None else f"with {plan.writer_time_zone!r}"
        raise PlanRefused(f"--writer-time-zone is {writer_time_zone!r}, but the plan was made {made}; plan again")
    return Options.create(
        level=plan.after.level,
        samples=MAX_FINDINGS,
        allow_outside=plan.allow_outside,
        writer_time_zone=plan.writer_time_zone,
    )


def _describe(application: Application) -> Applied:
    """Validate a table again, and return what was done."""
    left = {each.name: each.reason or "" for each in application.journal.lines if each.event == "left" and each.name}
    report = application.validate(application.store, application.options, ignore_progress)
    return Applied(report, summarize(report), left)
