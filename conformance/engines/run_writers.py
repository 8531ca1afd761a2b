"""Let writers perform histories, one engine after another, and write `reports/writers/histories.md`.

    python conformance/engines/run_writers.py                              # every adapter that writes and can run here
    python conformance/engines/run_writers.py deltalake sail --tables 200  # these

Each engine gets `reports/writers/NAME.json`, judged with the known failures in `reports/engines/known/NAME-write.toml`.
`reports/matrix` is built again. The exit code is 1 if an engine fails in a way that is not listed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement
from deltaspec.report.text import count
from deltaspec.suites.known_failures import load_known_failures
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.results import SuiteReport
from deltaspec.suites.saved_histories import HISTORY_FILE
from deltaspec_generators.histories.drawing import Step

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports/writers"
KNOWN = ROOT / "reports/engines/known"
OPERATION_OUTCOMES = ("done", "refused", "not supported", "failed")
HEAD = """# Histories that writers performed

`nox -s writers` writes this page. Each engine performed the written histories, and others drawn with seed {seed}, as
far as it declares their operations and features. After every operation the table is validated with its history, and its
rows, state, changes and row ids are compared with the history
([the checks](../../conformance/CANDIDATES.md#writers)). The time includes that, and the machine had other work, so
histories per minute say little about engines. [mixed](mixed.md) has engines that write to the same tables in turn, and
[faults](README.md) writers that are killed, race or have no space.
"""
KINDS_HEAD = """## Operations

*done*: performed, and the table is right. *refused*: the protocol forbids the operation, and it was refused without a
trace. *not supported*: declared, but refused as unsupported with these arguments or options. *failed*: the operation
that first showed something wrong. An empty cell is a kind that the engine does not declare.
"""
VIOLATIONS_HEAD = """## Violations

Each cause with its smallest history. `deltaspec replay` with the linked directory or the case performs it again.
"""


def main() -> None:
    """Parse the command line, run the engines and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="NAME", help="adapters; all that can run here by default")
    parser.add_argument("--tables", type=int, default=60, help="histories of each engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-scale", type=float, default=2.0)
    arguments = parser.parse_args()
    names = arguments.engines or [name for name, each in ADAPTERS.items() if find_missing_requirement(each) is None]
    failed = [name for name in names if run_engine(name, arguments) not in (0, 2)]
    (REPORTS / "histories.md").write_text(render_page(), "utf-8")
    subprocess.run([sys.executable, str(Path(__file__).with_name("publish_matrix.py"))], check=True)
    if failed:
        sys.exit(f"failures that are not listed: {', '.join(failed)}")


def run_engine(name: str, arguments: argparse.Namespace) -> int:
    """Run the suite write against an engine in a separate process and return the exit code."""
    known, report = KNOWN / f"{name}-write.toml", REPORTS / f"{name}.json"
    command = [sys.executable, "-m", "deltaspec", "test", name, "--suite", "write", "--jobs", "1"]
    command += ["--tables", str(arguments.tables), "--seed", str(arguments.seed), "--written"]
    command += ["--timeout-scale", str(arguments.timeout_scale), "--format", "json", "--output", str(report)]
    command += ["--known", str(known)] if known.exists() else []
    code = subprocess.run(command, check=False).returncode
    if code == 2:
        report.unlink(missing_ok=True)  # it offers no writes
    print(f"{name}: exit code {code}", file=sys.stderr)
    return code


def load_reports() -> list[SuiteReport]:
    """Load the reports of single writers, the one with the most passed cases first."""
    found = []
    for path in sorted(REPORTS.glob("*.json")):
        if path.stem in ADAPTERS:
            found.append(msgspec.json.decode(path.read_bytes(), type=SuiteReport))
    return sorted(found, key=lambda each: -each.total[Outcome.PASSED])


def render_page() -> str:
    """Return the page: runs, operations by engine, and violations."""
    reports = load_reports()
    lines = [HEAD.format(seed=", ".join(sorted({str(each.run.seed) for each in reports})))]
    lines += ["| engine | histories | histories per minute | operations | versions validated | rows compared | cases |"]
    lines += ["|-|-|-|-|-|-|-|", *map(_render_run, reports), "", KINDS_HEAD]
    counts = {each.run.candidate: each.counts["write"] for each in reports}
    kinds = sorted({name.partition(": ")[0] for found in counts.values() for name in found if ": " in name})
    lines += [f"| operation | {' | '.join(counts)} |", "|-" * (len(counts) + 1) + "|"]
    for kind in kinds:
        lines.append(f"| {kind} | {' | '.join(_render_outcomes(found, kind) for found in counts.values())} |")
    lines += ["", VIOLATIONS_HEAD]
    for report in reports:
        lines += _render_violations(report)
    return "\n".join(lines).rstrip() + "\n"


def _render_run(report: SuiteReport) -> str:
    counts, run = report.counts["write"], report.run
    histories = sum(counts.get(f"create: {outcome}", 0) for outcome in OPERATION_OUTCOMES)  # each begins with one
    rate = f"{60 * histories / run.seconds:.1f}"
    cases = ", ".join(f"{number:,} {outcome}" for outcome, number in report.outcomes["write"].items())
    cells = [f"[{report.candidate.name}]({run.candidate}.json) {report.candidate.version}", f"{histories:,}", rate]
    cells += [f"{counts.get(name, 0):,}" for name in ("operations", "tables validated", "rows compared")]
    return f"| {' | '.join([*cells, cases])} |"


def _render_outcomes(counts: dict[str, int], kind: str) -> str:
    found = {outcome: counts[f"{kind}: {outcome}"] for outcome in OPERATION_OUTCOMES if f"{kind}: {outcome}" in counts}
    texts = [f"{number:,} {outcome}" for outcome, number in found.items()]
    return ", ".join(f"**{text}**" if text.endswith("failed") else text for text in texts)


def _render_violations(report: SuiteReport) -> list[str]:
    """List the causes of an engine: how many cases, what the protocol says, and the operations."""
    known = KNOWN / f"{report.run.candidate}-write.toml"
    entries = {each.reason: each for each in load_known_failures(known)} if known.exists() else {}
    causes: dict[str, list[CaseResult]] = {}
    for case in report.cases:
        causes.setdefault(case.known_failure or case.signature, []).append(case)
    lines = [f"### {report.candidate.name} {report.candidate.version}", ""]
    for reason, cases in sorted(causes.items(), key=lambda item: -len(item[1])):
        entry = entries.get(reason)
        title = f"[{reason}](../../{entry.link})" if entry is not None and entry.link else reason
        shortest = min(cases, key=lambda each: len(each.history))
        requirement = f" Requirement `{entry.requirement}`." if entry is not None and entry.requirement else ""
        where = f"{count(len(cases), 'case')}, for example `{shortest.case}`"
        saved = ROOT / entry.link / HISTORY_FILE if entry is not None and entry.link else None
        lines += [f"- {title} {where}.{requirement}"]
        titles = _list_titles(saved) if saved and saved.exists() else shortest.history
        lines += [f"  - `` {each} ``" if "`" in each else f"  - `{each}`" for each in titles]
    return [*(lines if causes else [*lines, "None."]), ""]


def _list_titles(path: Path) -> list[str]:
    steps = msgspec.json.decode(path.read_bytes(), type=list[Step])
    return [f"{number}: {step.title}" for number, step in enumerate(steps)]


if __name__ == "__main__":
    main()
