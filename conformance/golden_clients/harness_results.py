"""Results of a Rust test harness (libtest), each failure with its explanation, as JSON and Markdown."""

import fnmatch
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

_LINE = re.compile(r"^test [\w:]*::(?P<name>.+?) +\.\.\. (?P<outcome>ok|FAILED|ignored)\b", re.MULTILINE)
_FAILURE = re.compile(
    r"^---- [\w:]*::(?P<name>.+?) ----\n(?P<text>.*?)(?=^---- |^failures:|\Z)", re.MULTILINE | re.DOTALL
)
_MESSAGE_CHARACTERS = 400
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """A spec or case that the harness ran."""

    name: str
    """Path below the exported directory."""
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""
    explanation: str = ""


class Explanation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file with explanations: why specs fail, and whose fault it is."""

    specs: tuple[str, ...]
    """Globs over names."""
    match: str
    """Regular expression that occurs in the message."""
    reason: str
    finding: str = ""
    """Directory in `reports/findings`, if it is a fault of the client."""


class HarnessReport(msgspec.Struct, frozen=True):
    """Results of a harness on an export."""

    harness: str
    export: Literal["acceptance", "dat"]
    outcomes: dict[str, int]
    chapters: dict[str, dict[str, int]]
    """Outcomes by chapter of the golden tables."""
    not_passed: tuple[Result, ...]
    left_out: dict[str, int]
    """Cases that the layout cannot express, by reason."""

    @property
    def unexplained(self) -> list[Result]:
        return [each for each in self.not_passed if not each.explanation]


def parse_output(output: str) -> list[Result]:
    """Parse the output of a harness."""
    messages = {found["name"]: _shorten(found["text"]) for found in _FAILURE.finditer(output)}
    outcomes: dict[str, Literal["passed", "failed", "skipped"]] = {
        "ok": "passed", "FAILED": "failed", "ignored": "skipped",
    }  # fmt: skip
    return [
        Result(found["name"], outcomes[found["outcome"]], messages.get(found["name"], ""))
        for found in _LINE.finditer(output)
    ]


def _shorten(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("note:")]
    message = " ".join(lines)
    return message if len(message) <= _MESSAGE_CHARACTERS else f"{message[:_MESSAGE_CHARACTERS]}…"


def list_skip_patterns(source: str) -> list[str]:
    """List the parts of paths that the source of a harness skips, or expects to fail.

    A skipped spec is reported as `ok`, so a path with one of these parts was not tested.
    """
    found = []
    for name in ("SKIP_LIST", "EXPECTED_KERNEL_FAILURES", "SKIPPED_TESTS"):
        for start in re.finditer(rf"(?:const|static) {name}:.*?= &?\[", source):
            body = re.sub(r"//[^\n]*", "", source[start.end() :].split("\n];")[0].split("];")[0])
            found += _LITERAL.findall(body)
    return [each for each in found if " " not in each and len(each) > 3]


def mark_skipped(results: Iterable[Result], patterns: Iterable[str]) -> list[Result]:
    """Return the results; a result whose path has a skipped part did not run."""
    known = list(patterns)
    return [
        msgspec.structs.replace(each, outcome="skipped", message=f"its path has {match}, which the harness skips")
        if (match := next((pattern for pattern in known if pattern in each.name), ""))
        else each
        for each in results
    ]


def load_explanations(path: Path) -> list[Explanation]:
    """Load the explanations of a client; a missing file has none."""
    if not path.exists():
        return []
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")).get("failure", []), list[Explanation])


def explain(results: Iterable[Result], explanations: Iterable[Explanation]) -> list[Result]:
    """Return the results, with explanations of failures.

    Raises:
        ValueError: An explanation matches nothing that did not pass, so it is out of date.
    """
    found = list(results)
    bad = {each.name: each.message for each in found if each.outcome != "passed"}
    reasons: dict[str, str] = {}
    for each in explanations:
        for glob in each.specs:
            matching = [name for name in fnmatch.filter(bad, glob) if re.search(each.match, bad[name])]
            if not matching:
                entry = f"{glob} with the message {each.match!r}"
                raise ValueError(f"explanation out of date: {entry} matches no failure ({each.reason})")
            link = f" ([{each.finding}](../findings/{each.finding}))" if each.finding else ""
            reasons |= dict.fromkeys(matching, each.reason + link)
    return [msgspec.structs.replace(each, explanation=reasons.get(each.name, "")) for each in found]


def build_report(
    harness: str, export: Literal["acceptance", "dat"], results: list[Result], left_out: Iterable[str]
) -> HarnessReport:
    """Summarize the results of a harness."""
    chapters: dict[str, Counter[str]] = {}
    for each in results:
        chapters.setdefault(each.name.partition(".")[0], Counter())[each.outcome] += 1
    return HarnessReport(
        harness=harness,
        export=export,
        outcomes=dict(Counter(each.outcome for each in results)),
        chapters={name: dict(counts) for name, counts in sorted(chapters.items())},
        not_passed=tuple(sorted((each for each in results if each.outcome != "passed"), key=lambda each: each.name)),
        left_out=dict(Counter(left_out)),
    )


def render_markdown(report: HarnessReport) -> str:
    """Return the report as a section of Markdown."""
    outcomes = ("passed", "failed", "skipped")
    total = ", ".join(f"{report.outcomes.get(each, 0)} {each}" for each in outcomes)
    what = "specs" if report.export == "acceptance" else "cases"
    lines = [
        f"## {report.harness}: export `{report.export}`",
        "",
        f"{total} of {sum(report.outcomes.values())} {what}.",
    ]
    lines += [f"{number} golden cases are left out: {reason}." for reason, number in report.left_out.items()]
    lines += ["", f"| chapter | {' | '.join(outcomes)} |", "|-" * (len(outcomes) + 1) + "|"]
    for chapter, counts in report.chapters.items():
        lines.append(f"| {chapter} | {' | '.join(str(counts.get(each, 0)) for each in outcomes)} |")
    causes: dict[str, list[Result]] = {}
    for each in report.not_passed:
        causes.setdefault(each.explanation or each.message, []).append(each)
    if causes:
        lines += ["", f"| {what} | why they do not pass | first of them | message |", "|-|-|-|-|"]
    for cause, found in causes.items():
        why = cause if found[0].explanation else "not explained"
        lines.append(f"| {len(found)} | {why} | {found[0].name} | {_cell(found[0].message)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    plain = re.sub(r"[^\x20-\x7e]", "?", text)
    return "`" + plain.replace("`", "'").replace("|", "\\|") + "`"
