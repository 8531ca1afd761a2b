"""A run over one table: read the log, replay it, compare derived files, check the other files.

Each step is a function. Its input is what the steps before it return, and `RunResult` records what is known so far.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.report.report_types import DerivedFileNotCompared, Hints, Inventory, Since
from deltaspec.scales import LEVELS
from deltaspec.validation.aggregates import Aggregates, TableActionKey
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.checkpoint_checks import check_checkpoint
from deltaspec.validation.log.derived_files import compare_derived_files
from deltaspec.validation.log.earlier_commit_checks import check_earlier_table_actions
from deltaspec.validation.log.facts import LogFacts, LogFactsBuilder, ReadContext
from deltaspec.validation.log.hint_checks import check_hint
from deltaspec.validation.log.log_source import LogSource
from deltaspec.validation.log.new_files import describe_since, find_reason_for_all_files, mark_earlier_files
from deltaspec.validation.log.outdated_file_checks import check_outdated_files
from deltaspec.validation.log.read_log import read_log
from deltaspec.validation.log.replay_stage import REPLAY_ROWS, replay_and_check
from deltaspec.validation.log.type_change_checks import check_type_changes
from deltaspec.validation.log.variant_use_checks import check_variant_uses
from deltaspec.validation.plan import EMPTIED, NO_VERSION, UNPUBLISHED, Plan
from deltaspec.validation.stopping import RunStopped
from deltaspec.views.base import View
from deltaspec.views.log import log_files
from deltaspec.views.log.checkpoints import last_checkpoint
from deltaspec.views.log.staged_commits import staged_commits
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint

LISTING_VIEWS: tuple[View, ...] = (log_files.listing, staged_commits, last_checkpoint)
"""Views that need only the listing of the log: without such files, their rules do not apply."""


class RunResult(msgspec.Struct):
    """Results of a run, for the report. A run that stops keeps the results up to that point."""

    context: ReadContext
    """The table, what to read of its log, and what to check."""
    facts: LogFacts
    """Facts of the log; facts of an unknown table until the log has been read."""
    findings: Findings
    parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint] = msgspec.field(default_factory=dict)
    """Every checkpoint that was read; those in earlier parts of the log without their actions."""
    hint_not_compared: DerivedFileNotCompared | None = None
    log_was_checked: bool = False
    """Every rule of level `log` was decided."""
    reason_for_all_files: str | None = None
    """Why all files are checked, although the options name an earlier report."""
    skipped_files: int = 0
    """Number of live files that an earlier report has checked."""
    inventory: Inventory | None = None
    hints: Hints | None = None
    """Files with the same content; None if they were not looked for."""
    stop_reason: str | None = None
    """Why the run stopped before everything was checked; None if it did not."""

    @classmethod
    def begin(cls, source: LogSource) -> RunResult:
        """Return the result of a run that has read nothing."""
        unknown = LogFactsBuilder(source.context)
        unknown.state.lose({None})
        return cls(source.context, unknown.build(), source.findings)

    @property
    def since(self) -> Since | None:
        """The files that were not checked again because an earlier report did; None without such a report."""
        earlier = self.context.options.since
        if earlier is None:
            return None
        return describe_since(earlier, self.skipped_files, self.reason_for_all_files)


def check_table(source: LogSource, interrupts: Mapping[type[BaseException], str] = MappingProxyType({})) -> RunResult:
    """Check the log of a table, then the other files that the level includes.

    Args:
        source: the log.
        interrupts: exceptions that stop the run, and how to report them.
    """
    result = RunResult.begin(source)
    with recording_stop(source, result, interrupts):
        check_files(source, result, check_log(source, result))
    return result


@contextmanager
def recording_stop(
    source: LogSource, result: RunResult, interrupts: Mapping[type[BaseException], str]
) -> Iterator[None]:
    """Record in the result why the run stops, if it does. Delete the temporary data of the run."""
    try:
        yield
    except RunStopped as stop:
        _mark_unchecked(source, result, stop.reason, stop.levels)
    except tuple(interrupts) as fault:
        _mark_unchecked(source, result, interrupts[type(fault)], None)
    finally:
        source.buckets.close()


def _mark_unchecked(source: LogSource, result: RunResult, reason: str, levels: Collection[str] | None) -> None:
    """Record why the run stopped, and the rules that it has not decided; None means all that may be undecided."""
    source.finish_started()
    result.parsed_checkpoints |= source.parsed_checkpoints
    result.stop_reason = reason
    if levels is None:
        levels = LEVELS[1:] if result.log_was_checked else LEVELS
    result.findings.mark_stopped(reason, levels)


def check_log(source: LogSource, result: RunResult) -> Aggregates | None:
    """Read and check the log. Return the aggregates of all buckets; None if the revision refuses the table."""
    plan = source.context.plan
    for part in plan.earlier_ranges:
        _check_range(source, result, part)
    with source.open():
        log = source.run_once(partial(read_log, source))
        result.facts, result.findings = log.facts, log.findings
        result.parsed_checkpoints |= log.parsed_checkpoints
        if log.derived_files is None:
            return None
        _select_files(result)
        facts, findings = result.facts, result.findings
        source.progress("replay", 0, None)
        aggregates = replay_and_check(facts, findings, source.buckets)
        if plan.base is not None:
            read = result.parsed_checkpoints[plan.base]
            aggregates.wrong_base_actions = _check_base(facts, findings, read, aggregates)
        source.progress("derived files", 0, None)
        compare_derived_files(log.derived_files, facts, findings, aggregates)
        if plan.has_hint:
            result.hint_not_compared = check_hint(facts, findings, result.parsed_checkpoints)
        check_outdated_files(facts, findings, aggregates)
        check_type_changes(facts, findings, aggregates)
        check_variant_uses(facts, findings)
        result.log_was_checked = True
        return aggregates


def _check_range(source: LogSource, result: RunResult, part: Plan) -> None:
    """Check a part of the log before the validated history, as a separate history."""
    with source.open_range(part) as range_source:
        found = RunResult.begin(range_source)
        check_log(range_source, found)
    result.findings.merge(found.findings)
    for checkpoint, read in found.parsed_checkpoints.items():
        result.parsed_checkpoints[checkpoint] = read.without_actions()


def _select_files(result: RunResult) -> None:
    """Decide which files outside the log are checked: all, or only the files after an earlier report."""
    options = result.context.options
    earlier = options.since
    if earlier is None or options.level == "log":
        return
    result.reason_for_all_files = find_reason_for_all_files(earlier, result.facts)
    if result.reason_for_all_files is None:
        result.facts = replace(result.facts, since=earlier)
        mark_earlier_files(earlier, result.findings)


def _check_base(
    facts: LogFacts, findings: Findings, read: ParsedCheckpoint, aggregates: Aggregates
) -> set[TableActionKey]:
    """Check the base as a unit. Return its table actions that contradict earlier commits."""
    read.split_paths = aggregates.split_paths[REPLAY_ROWS] if REPLAY_ROWS in facts.multipart else None
    check_checkpoint(findings, read, is_base=True, configuration=facts.state.rows["configuration"])
    return check_earlier_table_actions(facts, findings, read)


def check_files(source: LogSource, result: RunResult, aggregates: Aggregates | None) -> None:
    """Check the files outside the log that the level includes.

    Args:
        source: the log that was checked.
        result: of the run.
        aggregates: of `check_log`.
    """
    if aggregates is not None and result.context.options.level != "log":
        from deltaspec.validation.data.data_stages import check_data  # the readers of data take long to import

        found = check_data(result.facts, result.findings, source.buckets, aggregates, source.progress)
        result.inventory, result.skipped_files, result.hints = found.inventory, found.skipped_files, found.hints
    if result.context.plan.is_unpublished:
        result.findings.mark_unevaluated(UNPUBLISHED, except_views=(log_files.listing, last_checkpoint))
    elif result.context.plan.version == NO_VERSION:
        result.findings.mark_unevaluated(EMPTIED, except_views=LISTING_VIEWS)
