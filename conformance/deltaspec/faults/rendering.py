"""Write the results of trials for people: the terminal, and Markdown. Text of engines is escaped."""

from collections import defaultdict
from shlex import quote

from deltaspec.exit_codes import ExitCode
from deltaspec.faults.trials import FaultReport, FaultRun, TrialResult, get_signature
from deltaspec.report.text import count, escape_text, wrap_text
from deltaspec.suites.outcomes import Outcome

_WIDTH = 100
_MESSAGE_LINES, _HISTORY_LINES, _ORPHANS, _CHARACTERS = 12, 30, 6, 600


def render_text(report: FaultReport) -> str:
    """Return the report for a terminal: counts by fault, each kind of failure once, and the verdict."""
    run, candidate = report.run, report.candidate
    against = f", racing against {', '.join(run.candidates[1:])}" if run.candidates[1:] else ""
    lines = [
        f"candidate  {escape_text(candidate.name)} {escape_text(candidate.version)}{escape_text(against)}",
        f"trials     seed {run.seed}, {run.seconds:.0f} s",
        "",
    ]
    for fault, summary in report.faults.items():
        lines.append(f"  {fault:<10} {_join(summary.outcomes)}")
        lines += [f"             {name}: {number:,}" for name, number in summary.counts.items()]
    lines.append("")
    for each, others in _group(report):
        lines += [*render_trial(each, report, others), ""]
    if report.known_violations:
        lines += [*_wrap(describe_known_violations(report)), ""]
    if report.not_asked:
        reasons = [f"{reason} ({number:,})" for reason, number in report.not_asked.items()]
        lines += ["Not asked:", *(line for each in reasons for line in _wrap(each, 2)), ""]
    return "\n".join([*lines, describe_verdict(report)])


def describe_known_violations(report: FaultReport) -> str:
    """Return which violations fail only the trials without a fault."""
    return f"Violated without any fault, so counted only in those trials: {', '.join(report.known_violations)}."


def describe_verdict(report: FaultReport) -> str:
    """Return the verdict in one line."""
    bad = sum(each.outcome.is_bad for each in report.trials)
    total = sum(sum(each.outcomes.values()) for each in report.faults.values())
    match report.exit_code:
        case ExitCode.OK:
            return f"PASSED: {count(total - sum(report.not_asked.values()), 'trial')}."
        case ExitCode.FAILED:
            return f"FAILED: {bad:,} of {count(total, 'trial')}."
        case ExitCode.USAGE:
            return "NOTHING ASKED: no trial was run."
    return "INCOMPLETE: the candidate died too often; the remaining trials were not run."


def render_trial(result: TrialResult, report: FaultReport, others: int = 0) -> list[str]:
    """Return the lines that explain a failed trial and how to repeat it."""
    more = f"   (and {others:,} more like it)" if others else ""
    lines = [f"{result.outcome.value.upper():<8} {result.trial}{more}"]
    message = result.message.splitlines()
    lines += [line for each in message[:_MESSAGE_LINES] for line in _wrap(each, 2)]
    lines += [f"  … {len(message) - _MESSAGE_LINES} more lines"] if len(message) > _MESSAGE_LINES else []
    lines += ["  history:", *(line for each in result.history[:_HISTORY_LINES] for line in _wrap(each, 4))]
    if result.orphans:
        shown = [*result.orphans[:_ORPHANS], *(["…"] if len(result.orphans) > _ORPHANS else [])]
        lines += ["  files that the log does not name:", *(line for each in shown for line in _wrap(each, 4))]
    return [*lines, *_wrap(f"again: {build_repeat_command(result, report.run)} (times vary, so one run may pass)", 2)]


def build_repeat_command(result: TrialResult, run: FaultRun) -> str:
    """Return the command that repeats a trial."""
    others = "".join(f" --with {quote(each)}" for each in run.candidates[1:])
    start = f"deltaspec faults {quote(run.candidates[0])}{others} --seed {run.seed}"
    return f"{start} --only {quote(result.trial)} --repeat 10"


def render_markdown(report: FaultReport) -> str:
    """Return a table of faults and counts."""
    lines = [f"# {escape_text(report.candidate.name)} {escape_text(report.candidate.version)} under faults", ""]
    lines += [f"{describe_verdict(report)} Seed {report.run.seed}.", "", "| fault | outcomes | counts |", "|-|-|-|"]
    for fault, summary in report.faults.items():
        counts = "; ".join(f"{name} {number:,}" for name, number in summary.counts.items())
        lines.append(f"| {fault} | {_join(summary.outcomes)} | {counts} |")
    if report.known_violations:
        lines += ["", describe_known_violations(report)]
    if report.not_asked:
        lines += [
            "",
            "Not asked:",
            *(f"- {escape_text(reason)} ({number:,})" for reason, number in report.not_asked.items()),
        ]
    for each, others in _group(report):
        lines += ["", "```", *(line.replace("```", "'''") for line in render_trial(each, report, others)), "```"]
    return "\n".join(lines)


def _group(report: FaultReport) -> list[tuple[TrialResult, int]]:
    """Return one trial of each kind of failure, the shortest history first, with the number of others."""
    kinds: dict[tuple[str, str], list[TrialResult]] = defaultdict(list)
    for each in report.trials:
        if each.outcome is not Outcome.PASSED:
            kinds[each.fault, get_signature(each)].append(each)
    return [(min(found, key=lambda each: len(each.history)), len(found) - 1) for found in kinds.values()]


def _join(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _wrap(text: str, indent: int = 0) -> list[str]:
    margin = " " * indent
    return [margin + line for line in wrap_text(escape_text(text, _CHARACTERS), _WIDTH - indent, indent="  ")]
