"""Run every suite against the adapters that can run here, and write `reports/engines`.

    python conformance/engines/run.py                                # every adapter that can run
    python conformance/engines/run.py deltalake polars --tables 500  # these
    python conformance/engines/run.py --golden deltalake             # golden cases instead of drawn tables
    python conformance/engines/run.py --catalog deltalake            # catalog-managed tables
    python conformance/engines/run.py --revision r1 deltalake        # tables of an earlier revision

Each engine gets `reports/engines/NAME.json`, judged with the known failures in `reports/engines/known/NAME.toml`. The
table in `reports/engines/README.md` is written from all reports. Reports over the golden cases and their page are in
`reports/engines/golden`; the same known failures judge them. Reports over catalog-managed tables and their page are in
`reports/engines/catalog`, judged with `known/NAME-catalog.toml`. Reports over tables of an earlier revision are in a
directory with its name; only `reports/matrix`, which is built again, shows them. The exit code is 1 if an engine fails
in a way that is not listed.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.checks import CATALOG_SUITES, SUITES
from deltaspec.suites.known_failures import load_known_failures
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.results import SuiteReport

REPORTS = Path(__file__).parents[2] / "reports/engines"
GOLDEN, CATALOG = REPORTS / "golden", REPORTS / "catalog"
HEAD = """# Engines

`nox -s engines` writes this page. Each engine answered the same questions about the same tables, drawn with seed
{seed}. A cell has the number of cases that passed, and after it what else happened. *expected-failure*: listed in
[known](known), with one entry for each cause. *not-asked*: the engine does not offer it. An engine without a feature
must refuse tables that need it; those cases are in `refuse`. [golden](golden/README.md) has the same for golden cases.

Delta Spark ran in one session on one core: without generated code and adaptive execution, with one partition for
shuffles and for the state of a snapshot. `SETTINGS` in `candidates/adapters/delta_spark.py` has all settings.
Everything else has its default, among it ANSI mode, data skipping and the vectorized Parquet reader.

"""
GOLDEN_HEAD = """# Engines on the golden cases

`nox -s engines -- --golden` writes this page. Each engine answered the questions of `deltaspec test NAME --golden`
about the [golden tables](../../../golden-tables/README.md) that a reader must read or refuse.

A cell counts questions that passed, and after a slash those that failed for a reason listed below. Questions that an
engine does not offer are in the last row. An engine without a feature passes a question if it refuses the table.

"""

CATALOG_HEAD = """# Engines and catalog-managed tables

`nox -s engines -- --catalog` writes this page. `refuse` has catalog-managed tables that are named by their path, which
readers must refuse. `catalog` has writes by path, and reads and commits with what the catalog knows, for engines that
accept it.

"""


def main() -> None:
    """Parse the command line, run the engines and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="NAME", help="adapters; all that can run here by default")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--golden", action="store_true", help="ask about the golden cases")
    parser.add_argument("--catalog", action="store_true", help="ask about catalog-managed tables only")
    parser.add_argument("--revision", choices=[each.value for each in Revision if each is not Revision.CURRENT])
    arguments = parser.parse_args()
    failed = [name for name in arguments.engines or list_runnable() if run_engine(name, arguments) not in (0, 2)]
    (REPORTS / "README.md").write_text(render_page(), "utf-8")
    (GOLDEN / "README.md").write_text(render_golden_page(), "utf-8")
    (CATALOG / "README.md").write_text(render_catalog_page(), "utf-8")
    subprocess.run([sys.executable, str(Path(__file__).with_name("publish_matrix.py"))], check=True)
    if failed:
        sys.exit(f"failures that are not listed: {', '.join(failed)}")


def list_runnable() -> list[str]:
    """Return the adapters that can run here; print why others cannot."""
    found = []
    for name, adapter in ADAPTERS.items():
        missing = find_missing_requirement(adapter)
        if missing is None:
            found.append(name)
        else:
            print(f"{name}: not run, {missing}; {adapter.install}", file=sys.stderr)
    return found


def run_engine(name: str, arguments: argparse.Namespace) -> int:
    """Run the suites against an engine in a separate process and return the exit code."""
    known = REPORTS / "known" / f"{name}{'-catalog' if arguments.catalog else ''}.toml"
    command = [sys.executable, "-m", "deltaspec", "test", name, "--format", "json", "--timeout-scale", "2"]
    directory = GOLDEN if arguments.golden else CATALOG if arguments.catalog else REPORTS / (arguments.revision or "")
    if arguments.golden:
        command += ["--golden"]
    elif arguments.revision:
        command += ["--tables", str(arguments.tables), "--seed", str(arguments.seed), "--revision", arguments.revision]
    else:
        command += ["--tables", str(arguments.tables), "--seed", str(arguments.seed), "--written"]
    if arguments.catalog:
        command += ["--suite", "refuse,catalog", "--select", "*catalog*"]
    command += ["--jobs", "1" if ADAPTERS[name].needs_java else str(arguments.jobs)]
    command += ["--known", str(known)] if known.exists() else []
    output = directory / f"{name}.json"
    output.parent.mkdir(exist_ok=True)
    code = subprocess.run([*command, "--output", str(output)], check=False).returncode
    print(f"{name}: exit code {code}", file=sys.stderr)
    return code


def load_reports(directory: Path = REPORTS) -> list[SuiteReport]:
    """Load all reports of a directory, the engine with the most passed cases first."""
    reports = [msgspec.json.decode(path.read_bytes(), type=SuiteReport) for path in sorted(directory.glob("*.json"))]
    return sorted(reports, key=lambda each: -each.total[Outcome.PASSED])


def render_page() -> str:
    """Return the page with one row for each engine."""
    reports = load_reports()
    lines = [HEAD.format(seed=", ".join(sorted({str(each.run.seed) for each in reports})))]
    lines += [f"| engine | tables | {' | '.join(SUITES)} |", "|-" * (len(SUITES) + 2) + "|"]
    for report in reports:
        cells = [_describe(report.outcomes.get(suite, {})) for suite in SUITES]
        name = f"[{report.candidate.name}]({report.run.candidate}.json) {report.candidate.version}"
        lines.append(f"| {name} | {report.run.tables} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render_golden_page() -> str:
    """Return the page with outcomes by chapter and engine, and the reasons of the failures of each engine."""
    reports = load_reports(GOLDEN)
    chapters = sorted({chapter for report in reports for chapter in report.chapters})
    lines = [GOLDEN_HEAD.rstrip(), ""]
    names = [f"[{each.candidate.name}]({each.run.candidate}.json) {each.candidate.version}" for each in reports]
    lines += [f"| chapter | {' | '.join(names)} |", "|-" * (len(reports) + 1) + "|"]
    for chapter in chapters:
        cells = [_describe_briefly(_add_up(report.chapters.get(chapter, {}))) for report in reports]
        lines.append(f"| {chapter} | {' | '.join(cells)} |")
    lines.append(f"| all | {' | '.join(_describe_briefly(report.total) for report in reports)} |")
    lines.append(f"| not asked | {' | '.join(f'{report.total[Outcome.NOT_ASKED]:,}' for report in reports)} |")
    for report in reports:
        lines += ["", f"## {report.candidate.name} {report.candidate.version}", "", *_list_reasons(report)]
    return "\n".join(lines) + "\n"


def render_catalog_page() -> str:
    """Return the page with one row for each question about catalog-managed tables, and a column for each engine."""
    reports = load_reports(CATALOG)
    names = [f"[{each.candidate.name}]({each.run.candidate}.json) {each.candidate.version}" for each in reports]
    lines = [CATALOG_HEAD.rstrip(), "", f"| suite | {' | '.join(names)} |", "|-" * (len(reports) + 1) + "|"]
    for suite in ("refuse", *CATALOG_SUITES):
        lines.append(f"| {suite} | {' | '.join(_describe(report.outcomes.get(suite, {})) for report in reports)} |")
    for report in reports:
        title = f"## {report.candidate.name} {report.candidate.version}"
        lines += ["", title, "", *_list_reasons(report, "-catalog")]
        reasons = {reason: number for found in report.not_asked.values() for reason, number in found.items()}
        lines += ["", *(f"- not asked: {reason}" for reason in sorted(reasons))]
    return "\n".join(lines) + "\n"


def _add_up(outcomes: dict[str, dict[str, int]]) -> Counter[str]:
    return sum((Counter(counts) for counts in outcomes.values()), Counter())


def _describe_briefly(counts: Counter[str]) -> str:
    failed = sum(number for name, number in counts.items() if name not in (Outcome.PASSED, Outcome.NOT_ASKED))
    return f"{counts[Outcome.PASSED]:,}" + (f" / {failed:,}" if failed else "")


def _list_reasons(report: SuiteReport, kind: str = "") -> list[str]:
    """List the reasons of failures: number of questions, first golden case, reason with its finding or issue."""
    known = REPORTS / "known" / f"{report.run.candidate}{kind}.toml"
    entries = {each.reason: each for each in load_known_failures(known)} if known.exists() else {}
    groups: dict[str, list[str]] = {}
    for each in report.cases:
        groups.setdefault(each.known_failure, []).append(each.table.removeprefix("golden."))
    if not groups:
        return ["No failure."]
    lines = ["| questions | cases | reason | requirement | first case |", "|-|-|-|-|-|"]
    for reason, tables in sorted(groups.items(), key=lambda item: -len(item[1])):
        link, requirement = (entries[reason].link, entries[reason].requirement) if reason in entries else ("", "")
        target = link if link.startswith("https://") else f"../../../{link}"
        text = f"[{reason}]({target})" if link else reason or "not listed"
        lines.append(f"| {len(tables):,} | {len({*tables}):,} | {text} | {requirement} | {min(tables)} |")
    return lines


def _describe(counts: dict[str, int]) -> str:
    others = [f"{count} {name}" for name, count in counts.items() if name != Outcome.PASSED]
    return ", ".join([str(counts.get(Outcome.PASSED, 0)), *others])


if __name__ == "__main__":
    main()
