"""Build the report of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.log.file_names import CommitName, SidecarName, StagedCommit, parse_log_file_name
from deltaspec.protocol.property_names import CONSTRAINT_PREFIX
from deltaspec.report.report_types import (
    CATALOG,
    FEATURE_PREFIX,
    NEEDS_CLOCK,
    REPORT_VERSION,
    AcceptEntry,
    AcceptStatus,
    Baseline,
    Checked,
    CopiedFrom,
    DerivedFileNotCompared,
    FilesNotRead,
    Finding,
    Hints,
    NotChecked,
    Refusal,
    Report,
    SoundAgain,
    Verdict,
    is_incomplete,
)
from deltaspec.report.text import bound_text, escape_text
from deltaspec.rules import RULES
from deltaspec.scales import SEVERITIES
from deltaspec.validation.acceptance import INVALID_EXPRESSIONS, UNDECODABLE_LINES
from deltaspec.validation.advice import add_advice, list_report_steps
from deltaspec.validation.findings import Findings
from deltaspec.validation.fingerprint import compute_fingerprint
from deltaspec.validation.ledger import (
    find_reporting_rules,
    find_unused_rules,
    is_consequence,
    is_count_of_missing,
)
from deltaspec.validation.log.staged_files import list_unpublished
from deltaspec.validation.log.undecided import describe_unknown_readers
from deltaspec.validation.options import Options
from deltaspec.validation.pipeline import RunResult
from deltaspec.validation.plan import (
    MAX_LISTED_GAPS,
    NO_VERSION,
    UNPUBLISHED,
    group_files,
    list_unread_files,
)
from deltaspec.validation.rule_docs import build_rule_doc
from deltaspec.validation.since import build_continuation
from deltaspec.version import __version__
from deltaspec.views.log.log_files import listing
from deltaspec.views.log.staged_commits import staged_commits
from deltaspec.views.table.state import TableState
from deltaspec.wire.storage.interface import LOG_DIRECTORY, escape_file_name

_MAX_SOUND_AGAIN = 20
"""Maximum number of files that the report names."""
_MAX_COPIED_FROM = 3
"""Maximum number of locations that the report names."""


def build_report(result: RunResult, backend: str) -> Report:
    """Build the report of a finished run.

    Args:
        result: of the run.
        backend: name of the backend.
    """
    context, facts, findings = result.context, result.facts, result.findings
    plan, options = context.plan, context.options
    revision, selection = options.revision, options.selection
    totals = findings.totals
    evaluated = [
        code
        for code in selection.in_level
        if RULES[code].view.name in findings.evaluated_views and code not in selection.without_clock
    ]
    undecided = drop_unused_rules(findings.not_checked, facts.state)
    accepted = _find_accepted_reasons(result)
    ledger = build_ledger([*undecided, *list_blocked_rules(options)], options.accept_unchecked, accepted)
    counts: dict[str, int] = {
        severity: sum(number for code, number in totals.items() if RULES[code].severity_in(revision) == severity)
        for severity in SEVERITIES
    }
    ledger = _accept_losses(ledger, findings, has_violations=counts["violation"] > 0)
    decided = {*evaluated, *(entry.rule for entry in ledger)}
    not_applicable = [code for code in selection.in_level if code not in decided]
    ledger = [replace(each, file=_name_source(each.file, options)) for each in ledger]
    refusal = facts.state.refusal
    shown = [
        replace(each, fingerprint=compute_fingerprint(each, context.store.root), file=_name_finding(each, options))
        for each in findings.sorted_findings
    ]
    checked = Checked(
        run=evaluated,
        not_applicable=not_applicable,
        skipped=[code for code in selection.skipped if code not in decided],
        not_checked=ledger,
        derived_files_not_compared=_list_uncompared_files(result, findings.partly_compared),
        files_not_read=[*plan.not_read, *_list_unread_files(result)],
        rows_not_compared=_list_commits_without_rows(findings.rows_not_compared),
        missing_commits=list(plan.gaps[:MAX_LISTED_GAPS]),
        reasons={code: why for code, why in build_reasons(options, not_applicable).items() if code not in decided},
    )
    return Report(
        report_version=REPORT_VERSION,
        deltaspec=__version__,
        table=context.store.uri,
        version=None if plan.version == NO_VERSION else plan.version,
        at=plan.at,
        revision=str(revision),
        level=options.level,
        engine=backend,
        history=options.history,
        clock=options.clock_ms,
        verdict="refused" if refusal else compute_verdict(counts, ledger, result.stop_reason),
        counts=counts,
        totals=dict(sorted(totals.items())),
        findings=add_advice(shown, context.store.uri),
        steps=list_report_steps(shown),
        rules={code: build_rule_doc(code) for code in sorted(findings.found_rules)},
        inventory=result.inventory,
        continuation=build_continuation(
            context.store, plan, facts.state.metadata, facts.commit_sha256, facts.commit_digests, options.since
        ),
        since=result.since,
        sound_again=_list_sound_again(findings.sound_again),
        copied_from=[
            CopiedFrom(location=location, file=file)
            for location, file in sorted(findings.copied_from.items())[:_MAX_COPIED_FROM]
        ],
        hints=_build_hints(result) if options.hints else None,
        stopped=result.stop_reason,
        refusal=Refusal(requirement=refusal.requirement, why=refusal.reason) if refusal else None,
        checked=checked,
        **_build_acceptance(findings, options, totals.total(), checked.decided_rules),
    )


def _name_finding(finding: Finding, options: Options) -> str | None:
    """Return the file of a finding. Findings of the listing and of staged commits are about the published file."""
    is_of_file = RULES[finding.rule].view in (listing, staged_commits)
    return finding.file if is_of_file else _name_source(finding.file, options)


def _name_source(file: str | None, options: Options) -> str | None:
    """Return where a commit was read from: what the catalog ratified has the name of a published commit."""
    catalog = options.ratified
    name = parse_log_file_name((file or "").removeprefix(f"{LOG_DIRECTORY}/"))
    if catalog is None or not isinstance(name, CommitName) or name.version not in catalog.sources:
        return file
    staged = catalog.sources[name.version]
    return f"{LOG_DIRECTORY}/{staged}" if staged is not None else f"inline commit {name.version} of the catalog"


def _build_hints(result: RunResult) -> Hints:
    """Return the hints of a run, or why there are none: it may have stopped before, or not know the live files."""
    return result.hints or Hints(reason=result.stop_reason or "the live files are not known")


def _list_sound_again(files: dict[str, str]) -> SoundAgain | None:
    """Return the files that a second look found sound; None if there are none."""
    first = sorted(files.items())[:_MAX_SOUND_AGAIN]
    return SoundAgain(count=len(files), files=dict(first)) if files else None


def _build_acceptance(findings: Findings, options: Options, new: int, decided: Collection[str]) -> dict[str, Any]:
    """Return the fields of the report about accepted findings.

    Args:
        findings: of the run.
        options: of the run.
        new: number of findings that are not accepted.
        decided: codes of the rules whose findings are all known.
    """
    acceptance, accepted = findings.acceptance, findings.accepted
    if acceptance is None:
        return {}
    counts = accepted.count_by_entry(acceptance)
    totals = accepted.count_accepted(acceptance)
    baseline = None
    if options.baseline is not None:
        baseline = Baseline(
            file=escape_file_name(options.baseline),
            known=totals.total() - sum(counts),
            new=new,
            gone=accepted.count_gone(acceptance, decided),
            has_table=bool(acceptance.known),
        )
    return {
        "accepted": accepted.list_accepted(acceptance),
        "accepted_totals": dict(sorted(totals.items())),
        "accept": [
            replace(entry, count=number, status=_find_status(entry, number, options, decided))
            for entry, number in zip(acceptance.entries, counts, strict=True)
        ],
        "baseline": baseline,
    }


def _find_status(entry: AcceptEntry, number: int, options: Options, decided: Collection[str]) -> AcceptStatus:
    """Return whether an entry is used, unused, expired, or whether this is not known."""
    if entry.status == "expired":
        return "expired"
    rules = [code for code in RULES if code.startswith(entry.rule) and options.revision in RULES[code].revisions]
    return "used" if number else "unused" if set(rules) <= set(decided) else "not checked"


def drop_unused_rules(entries: list[NotChecked], state: TableState) -> list[NotChecked]:
    """Drop rules of features that the table never supported, unless no entry would remain, or more may be supported."""
    is_unknown = state.supported is None and not state.supported_so_far
    if is_unknown or state.protocol_was_lost:
        return entries
    codes = {each.rule for each in entries if each.is_rule}
    unused = find_unused_rules(codes, state.supported_so_far)
    return [each for each in entries if each.rule not in unused] or entries


def list_blocked_rules(options: Options) -> Iterator[NotChecked]:
    """Yield the rules that the user selected by code and that the other options exclude."""
    if options.select is None:
        return
    selection = options.selection
    for code in selection.in_revision:
        if code not in selection.in_level:
            yield NotChecked(rule=code, reason=f"needs --level {RULES[code].level}")
        elif code in selection.without_clock:
            yield NotChecked(rule=code, reason=NEEDS_CLOCK)


def _list_uncompared_files(result: RunResult, partly: Mapping[str, str]) -> list[DerivedFileNotCompared]:
    found = [each for part in (*result.context.plan.earlier_ranges, result.context.plan) for each in part.not_compared]
    found += [DerivedFileNotCompared(file=file, reason=reason) for file, reason in sorted(partly.items())]
    return found if result.hint_not_compared is None else [*found, result.hint_not_compared]


def _list_commits_without_rows(files: set[str]) -> list[FilesNotRead]:
    reason = "the rows are not known, because removed files or change data no longer exist"
    return [group_files(reason, files)] if files else []


def _list_unread_files(result: RunResult) -> Iterator[FilesNotRead]:
    """Yield the sidecars and staged commits that were not read."""
    named = {each.name for read in result.parsed_checkpoints.values() for each in read.sidecars}
    parsed = {name: parse_log_file_name(name) for name in result.context.plan.entries if "/" in name}
    sidecars = [name for name, each in parsed.items() if isinstance(each, SidecarName) and each.name not in named]
    if sidecars:
        yield list_unread_files("no checkpoint that was read refers to them", sidecars)
    staged = [name for name, each in parsed.items() if isinstance(each, StagedCommit)]
    if result.context.plan.is_unpublished:
        return
    catalog = result.context.options.ratified
    if catalog is not None:
        if leftovers := sorted(set(staged) - set(catalog.sources.values())):
            yield list_unread_files("leftovers: the catalog does not name these staged commits", leftovers)
    elif result.facts.state.supports(FEATURE):
        if unpublished := [name for name, _ in list_unpublished(result.context.plan.entries)]:
            yield list_unread_files("only the catalog knows whether it ratified these staged commits", unpublished)
    elif staged:
        yield list_unread_files("the table is not catalog-managed, so readers ignore staged commits", staged)


def build_reasons(options: Options, not_applicable: list[str]) -> dict[str, str]:
    """Return why rules were not evaluated, by code."""
    selection = options.selection
    reasons = {
        code: NEEDS_CLOCK
        if code in selection.without_clock
        else f"the view {RULES[code].view.name} has no rows for this table"
        for code in not_applicable
    }
    return {**reasons, **selection.reasons}


def _find_accepted_reasons(result: RunResult) -> list[str]:
    """Return the reasons of entries that the user accepts.

    These are unchecked features, files that `--since` leaves out, and a log that only the catalog can complete.
    """
    needed = result.facts.state.unknown_reader_features
    accepted = bool(needed) and all(map(result.context.options.accepts_feature, needed))
    earlier = () if result.facts.since is None else result.facts.since.accepted_reasons
    unpublished = [UNPUBLISHED] if CATALOG in result.context.options.accept_unchecked else []
    return [*([describe_unknown_readers(needed)] if accepted else []), *unpublished, *earlier]


def build_ledger(
    not_checked: list[NotChecked], accepted: Collection[str], accepted_reasons: Collection[str]
) -> list[NotChecked]:
    """Sort the entries, drop duplicates, and flag those that the user accepts."""
    entries = {(each.rule, each.reason, each.file): each for each in not_checked}
    features = {
        f"{FEATURE_PREFIX}{escape_text(bound_text(each.removeprefix(FEATURE_PREFIX)))}"
        for each in accepted
        if each.startswith(FEATURE_PREFIX)
    }
    return [
        NotChecked(
            rule=rule,
            reason=reason,
            file=file,
            accepted=rule in features
            or reason in accepted_reasons
            or any(rule.startswith(each) for each in accepted if not each.startswith(FEATURE_PREFIX)),
        )
        for rule, reason, file in sorted(entries, key=lambda entry: (entry[0], entry[2] or "", entry[1]))
    ]


def _accept_losses(ledger: list[NotChecked], findings: Findings, *, has_violations: bool) -> list[NotChecked]:
    """Flag what could not be checked because of a lost file or commit whose finding is accepted.

    A file with a lost deletion vector is read, so only rules of level rows depend on it. Lines that cannot be decoded
    leave no other reason accepted for their file. What missing commits leave unchecked is accepted if all findings
    about them are. What only follows from damage elsewhere, such as an unknown schema, is accepted if no violation is
    left: its cause then is an accepted finding, or another entry that is not accepted.
    """
    if findings.acceptance is None:
        return ledger
    lost = findings.accepted.list_lost(findings.acceptance)
    expressions = tuple(
        f"{title} {name.removeprefix(CONSTRAINT_PREFIX)[:80]} is not evaluated: "
        for code, (_, title) in INVALID_EXPRESSIONS.items()
        for name in lost.pop(code, ())
    )
    without_vector = {file for code, files in lost.items() if code.startswith("DVX") for file in files}
    with_lines = {file for code, files in lost.items() if code in UNDECODABLE_LINES for file in files}
    others = {code: files for code, files in lost.items() if code not in UNDECODABLE_LINES}
    without_data = {file for code, files in others.items() if not code.startswith("DVX") for file in files}
    accepted_rules = findings.accepted.count_accepted(findings.acceptance).keys() - findings.totals.keys()
    return [
        replace(each, accepted=True)
        if each.file in without_data
        or (each.file in with_lines and each.reason.endswith("cannot be decoded"))
        or (each.file in without_vector and each.rule in RULES and RULES[each.rule].level == "rows")
        or ("DAT001" in accepted_rules and is_count_of_missing(each.reason))
        or not accepted_rules.isdisjoint(find_reporting_rules(each.reason))
        or each.reason.startswith(expressions)
        or (accepted_rules and not has_violations and is_consequence(each.reason))
        else each
        for each in ledger
    ]


def compute_verdict(counts: dict[str, int], ledger: list[NotChecked], stop_reason: str | None = None) -> Verdict:
    """Return the verdict that follows from the findings and the ledger."""
    if counts["violation"]:
        return "violations"
    return "incomplete" if is_incomplete(ledger, stop_reason) else "conforms"
