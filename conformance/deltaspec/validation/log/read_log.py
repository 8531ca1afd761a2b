"""Read the log of a table: the first step of a run."""

from __future__ import annotations

from deltaspec.validation.log.catalog import mark_catalog
from deltaspec.validation.log.derived_files import read_derived_files
from deltaspec.validation.log.facts import LogFactsBuilder
from deltaspec.validation.log.history_reader import read_history
from deltaspec.validation.log.log_listing_checks import check_log_listing
from deltaspec.validation.log.log_source import LogSource, ReadLog
from deltaspec.validation.log.undecided import (
    ACTION_VIEWS,
    block_replay,
    mark_gaps_undecided,
    mark_unchecked_features,
    mark_unread_schemas_undecided,
)
from deltaspec.views.table import table_actions as table_state
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_LOST_ACTIONS = "its actions were missing or different when the file was read again"


def read_log(source: LogSource) -> ReadLog:
    """Read the log, run the checks that need no replay, and put the file actions into the buckets of the source."""
    history, findings = LogFactsBuilder(source.context), source.findings
    read_history(source, history)
    facts = history.build()
    refusal = facts.state.refusal
    if refusal is not None:
        reason = f"revision {facts.options.revision} refuses the table: {refusal.reason}"
        findings.discard_findings(reason, except_views=(table_state.protocols, table_state.features))
        return ReadLog(facts, findings, source.parsed_checkpoints, None)
    mark_unchecked_features(facts, findings)
    mark_unread_schemas_undecided(facts, findings)
    if not facts.plan.is_range:
        check_log_listing(facts, findings)
        mark_catalog(facts, findings)
        mark_gaps_undecided(facts, findings)
    derived_files = read_derived_files(source, facts)
    for files, parsed in derived_files.checkpoints:
        history.remember_parts(parsed.checkpoint, files.tag)
    finish_reading(source, history)
    facts = history.build(derived_files.list_file_actions())
    return ReadLog(facts, findings, source.parsed_checkpoints, derived_files)


def finish_reading(source: LogSource, history: LogFactsBuilder) -> None:
    """Put all remaining file actions into the buckets, and record the files whose actions were lost."""
    for file in source.finish():
        block_replay(history, source.findings, _LOST_ACTIONS, file)
        source.findings.mark_undecided(ACTION_VIEWS, _LOST_ACTIONS, file)
    base = history.context.plan.base
    reason = None if base is None else source.parsed_checkpoints[base].incomplete_reason
    if base is not None and reason is not None:
        history.base_is_complete = False
        block_replay(history, source.findings, reason, f"{LOG_DIRECTORY}/{base.files[0]}")
