"""Let several engines write to the same tables in turn, and write `reports/writers/mixed`.

    python conformance/engines/run_mixed.py reference deltalake kernel_rust --tables 50

Each engine creates the tables of one run, with the features that it offers; all write and read. The page has the matrix
writer x reader x feature. The exit code is 1 if an engine could not read what another one wrote, or a case failed.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from deltaspec.suites.results import SuiteReport

REPORTS = Path(__file__).parents[2] / "reports/writers"
HEAD = """# Engines that write to the same tables in turn

`nox -s mixed` writes this page. In each run one engine creates the tables, with the features that it offers. All
engines perform the operations of the history in turn, and all of them read the table after every operation. A row is
one writer of the last operation and one reader. A cell is the number of tables that were read with exactly the right
rows. *not supported*: the reader refuses the table, as it must without a feature. Failures are listed below.

"""


class Mixed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of all runs."""

    seed: int
    histories: int
    """Histories of each run."""
    runs: dict[str, dict[str, int]]
    """Outcomes of the cases of suite write by run."""
    cells: dict[str, int]
    """`writer > reader: feature: outcome` and how often."""
    counts: dict[str, int]
    """What else was compared."""
    failures: list[tuple[str, str, str]]
    """Run, case and message."""


def main() -> None:
    """Parse the command line, run each engine as the first one and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="+", metavar="NAME")
    parser.add_argument("--tables", type=int, default=50, help="histories of each run")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    reports = [
        run([name, *(each for each in arguments.engines if each != name)], arguments.tables, arguments.seed)
        for name in arguments.engines
    ]
    result = merge([each for each in reports if each is not None], arguments.tables, arguments.seed)
    (REPORTS / "mixed.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    (REPORTS / "mixed.md").write_text(render_page(result), "utf-8")
    sys.exit(1 if result.failures or len(reports) != len(result.runs) else 0)


def run(names: list[str], tables: int, seed: int) -> SuiteReport | None:
    """Run the suite write with several engines; None if it does not start."""
    with TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [sys.executable, "-m", "deltaspec", "test", names[0], "--with", ",".join(names[1:])]
        command += ["--suite", "write", "--tables", str(tables), "--seed", str(seed)]
        code = subprocess.run([*command, "--format", "json", "--output", str(report)], check=False).returncode
        print(f"{names[0]}: exit code {code}", file=sys.stderr)
        return msgspec.json.decode(report.read_bytes(), type=SuiteReport) if report.exists() else None


def merge(reports: list[SuiteReport], histories: int, seed: int) -> Mixed:
    """Add the counts of all runs."""
    total: Counter[str] = Counter()
    for each in reports:
        total.update(each.counts.get("write", {}))
    return Mixed(
        seed=seed,
        histories=histories,
        runs={each.run.candidate: each.outcomes.get("write", {}) for each in reports},
        cells={name: number for name, number in sorted(total.items()) if " > " in name},
        counts={name: number for name, number in sorted(total.items()) if " > " not in name},
        failures=[(each.run.candidate, case.case, case.message) for each in reports for case in each.cases],
    )


def render_page(result: Mixed) -> str:
    """Return the page with one row for each writer and reader."""
    cells: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for name, number in result.cells.items():
        writer, _, rest = name.partition(" > ")
        reader, feature, outcome = rest.split(": ")
        cells.setdefault((writer, reader), {}).setdefault(feature, Counter())[outcome] += number
    features = sorted({feature for each in cells.values() for feature in each})
    lines = [f"{HEAD}Seed {result.seed}, {result.histories:,} histories in each run.", ""]
    lines += [f"- {name}: {', '.join(f'{number:,} cases {key}' for key, number in each.items())}"
              for name, each in result.runs.items()]  # fmt: skip
    lines += ["", "| writer | reader | " + " | ".join(features) + " |", "|-|-|" + "-|" * len(features)]
    for (writer, reader), each in sorted(cells.items()):
        texts = [_describe_cell(each.get(feature, Counter())) for feature in features]
        lines.append(f"| {writer} | {reader} | {' | '.join(texts)} |")
    lines += ["", "## Failures", ""]
    grouped = Counter((case.partition("/")[0], message.partition("\n")[0]) for _, case, message in result.failures)
    lines += [f"- {number} x `{check}`: {message}" for (check, message), number in grouped.most_common()] or ["None."]
    return "\n".join(lines) + "\n"


def _describe_cell(outcomes: Counter[str]) -> str:
    bad = [f"**{number:,} {name}**" for name, number in outcomes.items() if name not in ("equal", "not supported")]
    unsupported = [f"{outcomes['not supported']:,} not supported"] if outcomes["not supported"] else []
    return ", ".join([*([f"{outcomes['equal']:,}"] if outcomes["equal"] else []), *unsupported, *bad])


if __name__ == "__main__":
    main()
