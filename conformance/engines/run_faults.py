"""Run writers under faults, and write `reports/writers`.

    python conformance/engines/run_faults.py                      # every adapter that can run here
    python conformance/engines/run_faults.py deltalake --kills 50 # options as for `deltaspec faults`

Each engine gets `reports/writers/faults-NAME.json`, and `reports/writers/README.md` a table of all reports. The exit
code is 1 if a trial failed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement
from deltaspec.faults.rendering import describe_verdict
from deltaspec.faults.trials import FaultReport

REPORTS = Path(__file__).parents[2] / "reports/writers"
HEAD = """# Writers under faults

`nox -s faults` writes this page. In each trial an engine writes to a small table and is killed, races against other
writers, or has no space or permission. Then the table must validate at level rows and have exactly the rows of the
acknowledged operations; an operation that was killed or failed is done completely or not at all, and the table can be
written again. `none` is the control: every operation once without a fault.

*weak*: the table is right, but the error has another category than `io` or `conflict`, or an operation that failed is
in the table. Orphaned files are legal: the log does not name them.

[histories](histories.md) has what writers do without faults.

"""
_SHOWN = ("acknowledged", "refused: conflict", "refused: io", "no answer", "rows compared", "rows lost",
          "rows duplicated", "rows unexpected", "orphaned files", "leftovers in the log directory")  # fmt: skip


def main() -> None:
    """Parse the command line, run the engines and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="NAME", help="adapters; all that can run here by default")
    arguments, options = parser.parse_known_args()
    failed = [name for name in arguments.engines or list_runnable() if run_engine(name, options) not in (0, 2)]
    (REPORTS / "README.md").write_text(render_page(), "utf-8")
    subprocess.run([sys.executable, str(Path(__file__).with_name("publish_matrix.py"))], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def list_runnable() -> list[str]:
    """Return the adapters that can run here."""
    return [name for name, adapter in ADAPTERS.items() if find_missing_requirement(adapter) is None]


def run_engine(name: str, options: list[str]) -> int:
    """Run the trials of an engine in a separate process and return the exit code."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"faults-{name}.json"
    command = [sys.executable, "-m", "deltaspec", "faults", name, "--format", "json", *options]
    code = subprocess.run([*command, "--output", str(report)], check=False).returncode
    if code == 2:
        report.unlink(missing_ok=True)  # it offers no writes
    print(f"{name}: exit code {code}", file=sys.stderr)
    return code


def render_page() -> str:
    """Return the page with one row for each engine and fault."""
    paths = sorted(REPORTS.glob("faults-*.json"))
    lines = [f"{HEAD}| engine | fault | outcomes | {' | '.join(_SHOWN)} |", "|-" * (len(_SHOWN) + 3) + "|"]
    verdicts = []
    for path in paths:
        report = msgspec.json.decode(path.read_bytes(), type=FaultReport)
        against = f" with {', '.join(report.run.candidates[1:])}" if report.run.candidates[1:] else ""
        name = f"[{report.candidate.name}]({path.name}) {report.candidate.version}{against}"
        verdicts.append(f"- {name}, seed {report.run.seed}, {report.run.seconds:,.0f} s: {describe_verdict(report)}")
        for fault, summary in report.faults.items():
            outcomes = ", ".join(f"{number} {outcome}" for outcome, number in summary.outcomes.items())
            counts = [f"{summary.counts[each]:,}" if each in summary.counts else "" for each in _SHOWN]
            lines.append(f"| {report.candidate.name}{against} | {fault} | {outcomes} | {' | '.join(counts)} |")
    return "\n".join([*lines, "", *verdicts]) + "\n"


if __name__ == "__main__":
    main()
