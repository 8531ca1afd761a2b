"""Write the results of a run for people and for CI: text, Markdown and JUnit. Text of engines is escaped."""

from collections import Counter
from collections.abc import Sequence
from shlex import quote
from xml.etree import ElementTree

from deltaspec.exit_codes import ExitCode
from deltaspec.report.text import count, escape_text, wrap_text
from deltaspec.suites.cases import PROGRESS_MESSAGES, STDERR_MEBIBYTES
from deltaspec.suites.causes import FailureGroup, group_by_cause, list_common_requirements
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.results import SuiteReport

_MESSAGE_LINES, _MESSAGE_CHARACTERS = 20, 500
_WIDTH = 100


def render_text(report: SuiteReport) -> str:
    """Return the report for a terminal: suites, each cause of failures with its simplest case, and the verdict."""
    candidate, run = report.candidate, report.run
    name = escape_text(f"{candidate.name} {candidate.version}")
    lines = [
        f"candidate  {name}, {escape_text(candidate.language) or 'language not stated'}; {_describe_claims(report)}"
    ]
    lines += [f"tables     {_describe_tables(report)}, in {run.seconds:.1f} s", ""]
    width = max([len(suite) for suite in report.outcomes], default=0)
    for suite, counts in report.outcomes.items():
        outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
        lines.append(f"  {suite:<{width}}  {outcomes}")
    lines += [""] if report.outcomes else []
    for group in group_by_cause(report.bad):
        lines += [*_render_group(group, report), ""]
    if report.warnings:
        lines += ["Warnings, about what an engine should do:", ""]
    for group in group_by_cause(report.warnings):
        lines += [*_render_group(group, report), ""]
    lines += _list_notes(report)
    reasons = [f"  {check}: {reason} ({number:,})" for check, found in report.not_asked.items()
               for reason, number in found.items()]  # fmt: skip
    if reasons:
        lines += ["Not asked:", *(line for each in reasons for line in _wrap(each, 2)), ""]
    if report.run.left_out:
        lines += ["Not asked about:", *(line for each in report.run.left_out for line in _wrap(each, 2)), ""]
    if report.unused_known_failures:
        lines += ["Known failures that match no case of this run:"]
        lines += [*(line for each in report.unused_known_failures for line in _wrap(each, 2)), ""]
    lines.append(_describe_verdict(report))
    return "\n".join(lines)


def _describe_tables(report: SuiteReport) -> str:
    run = report.run
    if run.imported:
        return f"imported from {escape_text(run.imported, 200)}"
    if run.golden:
        return "golden cases"
    return f"{run.tables} drawn with seed {run.seed}"


def _describe_claims(report: SuiteReport) -> str:
    candidate = report.candidate
    features = len(candidate.reader_features)
    return f"declares {features} reader feature{'s' * (features != 1)}, predicates {candidate.predicate}"


def _list_notes(report: SuiteReport) -> list[str]:
    """Return lines about unusual amounts of output."""
    notes = []
    for suite, counts in report.counts.items():
        if size := counts.get(STDERR_MEBIBYTES):
            notes.append(f"  {suite}: {size:,} MiB written to stderr; the end of each request is kept")
        if number := counts.get(PROGRESS_MESSAGES):
            notes.append(f"  {suite}: {count(number, 'progress message')}")
    return ["Noted:", *notes, ""] if notes else []


def _describe_verdict(report: SuiteReport) -> str:
    if report.run.stopped:
        return "FAILED: stopped at the first failure; the remaining cases were not run."
    if not report.run.complete:
        return "INCOMPLETE: the candidate died too often; the remaining cases were not run."
    total = report.total
    if report.exit_code == ExitCode.USAGE:
        return "NOTHING ASKED: no case was run."
    if report.exit_code and not report.bad:
        return f"FAILED: {count(len(report.unused_known_failures), 'known failure')} matched no case."
    if report.exit_code:
        causes = count(len(group_by_cause(report.bad)), "cause")
        return f"FAILED: {len(report.bad):,} of {total.total():,} cases, with {causes}."
    expected, warnings = total[Outcome.EXPECTED_FAILURE], total[Outcome.WARNING]
    more = f", {expected:,} failed as listed" if expected else ""
    more += f", {count(warnings, 'warning')}" if warnings else ""
    conforming = ", ".join(report.conforming_suites) or "no suite"
    claim = "" if len(report.conforming_suites) == len(report.outcomes) else f" Conformance holds for: {conforming}."
    return f"PASSED: {total[Outcome.PASSED]:,} cases{more}, {total[Outcome.NOT_ASKED]:,} not asked.{claim}"


def _render_group(group: FailureGroup, report: SuiteReport) -> list[str]:
    """Return the lines that explain a cause: what it breaks, how many cases show it, and the simplest of them."""
    cause, checks = group.cause, Counter(each.check for each in group.cases)
    types = f" (types {', '.join(cause.types)})" if cause.types else ""
    lines = _wrap(f"{group.simplest.outcome.value.upper()}: {cause.title}{types}", 0)
    if cause.breaks:
        lines += _wrap(f"breaks: {', '.join(cause.breaks)}", 2)
    elif only := report.contrasts.get(cause.title):
        lines += _wrap(f"only tables with: {', '.join(only)}", 2)
    elif common := list_common_requirements(group):
        lines += _wrap(f"may break (tested in every case): {', '.join(common)}", 2)
    shown = ", ".join(f"{check} ({number:,})" for check, number in checks.most_common())
    lines += _wrap(f"{count(len(group.cases), 'case')}: {shown}", 2)
    run = report.run
    simplest = render_failure(group.simplest, run.candidate, run.imported, shows_breaks=False)
    return [*lines, *(f"  {line}" for line in simplest)]


def render_failure(
    result: CaseResult, candidate: str, imported: str = "", directory: str = "", *, shows_breaks: bool = True
) -> list[str]:
    """Return the lines that explain a failed case and how to run it again.

    Args:
        result: the case.
        candidate: as on the command line.
        imported: directory of an imported case.
        directory: directory of a saved case.
        shows_breaks: whether to list what the case breaks.
    """
    lines = [f"{result.outcome.value.upper():<8} {escape_text(result.case, _MESSAGE_CHARACTERS)}"]
    breaks = dict.fromkeys(name for each in result.causes for name in each.breaks)
    if breaks and shows_breaks:
        lines += _wrap(f"breaks: {', '.join(breaks)}", 2)
    message = result.message.splitlines()
    for line in message[:_MESSAGE_LINES]:
        lines += _wrap(line, 2)
    lines += [f"  … {count(len(message) - _MESSAGE_LINES, 'more line')}"] if len(message) > _MESSAGE_LINES else []
    if result.history:
        lines += ["  history:", *(line for each in _merge_versions(result.history) for line in _wrap(each, 4))]
    if result.requirements and not breaks:
        lines += _wrap(f"tests: {', '.join(result.requirements)}", 2)
    command = build_replay_command(result, candidate, imported, directory)
    return [*lines, f"  again: {escape_text(command, _MESSAGE_CHARACTERS)}"]


def _merge_versions(history: Sequence[str]) -> list[str]:
    """Return the operations of a history in one line for each version, such as `0: create the table, append`."""
    lines: list[str] = []
    for each in history:
        version, colon, operation = each.partition(": ")
        if colon and version.isdecimal() and lines and lines[-1].startswith(f"{version}: "):
            lines[-1] += f", {operation}"
        else:
            lines.append(each)
    return lines


def build_replay_command(result: CaseResult, candidate: str, imported: str = "", directory: str = "") -> str:
    """Return the command that runs a case again, or a saved case from its directory."""
    words = ["deltaspec replay", quote(directory or result.case), "--candidate", quote(candidate)]
    return " ".join([*words, *(["--import", quote(imported)] if imported else [])])


def _wrap(text: str, indent: int) -> list[str]:
    """Escape a text of an engine, shorten it, and split it into indented lines."""
    shown = escape_text(text, _MESSAGE_CHARACTERS)
    start = len(shown) - len(shown.lstrip())
    margin = " " * (indent + start)
    return [margin + line for line in wrap_text(shown[start:], _WIDTH - len(margin), indent="  ")]


def render_markdown(report: SuiteReport) -> str:
    """Return the report as Markdown, for step summaries and pull requests."""
    title = _markdown(f"{report.candidate.name} {report.candidate.version}")
    lines = [f"# {title}", "", f"{_describe_verdict(report)} Tables: {_markdown(_describe_tables(report))}.", ""]
    outcomes = [each.value for each in Outcome if report.total[each.value]]
    lines += [f"| suite | {' | '.join(outcomes)} |", "|-" * (len(outcomes) + 1) + "|"]
    for suite, counts in report.outcomes.items():
        lines.append(f"| {suite} | {' | '.join(str(counts.get(each, '')) for each in outcomes)} |")
    for group in group_by_cause(report.bad):
        lines += ["", f"## {group.simplest.outcome}: {_markdown(group.cause.title)}", ""]
        lines += ["```", *_render_group(group, report), "```"]
    return "\n".join(
        line.replace("```", "'''") if index and line != "```" else line for index, line in enumerate(lines)
    )


def _markdown(text: str) -> str:
    return "".join(f"\\{each}" if each in r"\`*_{}[]()<>#+-!|&" else each for each in escape_text(text))


def render_junit(report: SuiteReport, results: list[CaseResult]) -> str:
    """Return a JUnit document with one test case for each case."""
    root = ElementTree.Element("testsuites", name=escape_text(f"{report.candidate.name} {report.candidate.version}"))
    for suite in report.outcomes:
        cases = [each for each in results if each.suite == suite]
        element = ElementTree.SubElement(root, "testsuite", name=suite, tests=str(len(cases)))
        for each in cases:
            _add_junit_case(element, each, report.run.candidate)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.attrib[name] = str(len(element.findall(f"testcase/{tag}")))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _add_junit_case(element: ElementTree.Element, result: CaseResult, candidate: str) -> None:
    case = ElementTree.SubElement(
        element, "testcase", classname=f"deltaspec.{result.check}", name=result.case, time=f"{result.seconds:.3f}"
    )
    first = escape_text(result.message.partition("\n")[0], 300)
    match result.outcome:
        case Outcome.PASSED:
            return
        case Outcome.NOT_ASKED:
            ElementTree.SubElement(case, "skipped", message=f"not asked: {first}")
        case Outcome.WARNING:
            output = ElementTree.SubElement(case, "system-out")
            output.text = "\n".join(render_failure(result, candidate))
        case Outcome.EXPECTED_FAILURE:
            ElementTree.SubElement(case, "skipped", message=f"known failure: {escape_text(result.known_failure, 300)}")
        case _:
            died = result.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.HARNESS_FAULT)
            fault = ElementTree.SubElement(
                case, "error" if died else "failure", message=first, type=result.outcome.value
            )
            fault.text = "\n".join(render_failure(result, candidate))
