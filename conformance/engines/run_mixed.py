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

from deltaspec.differential.report import FoundDifference, KnownDifference, load_known_differences
from deltaspec.suites.results import SuiteReport

REPORTS = Path(__file__).parents[2] / "reports/writers"
KNOWN = Path(__file__).with_name("known_mixed.toml")
HEAD = """# Engines that write to the same tables in turn

`nox -s mixed` writes this page. In each run one engine creates the tables, with the features that it offers. All
engines perform the operations of the history in turn, and all of them read the table after every operation. A row is
one writer of the last operation and one reader. A cell is the number of tables that were read with exactly the right
rows. *not supported*: the reader refuses the table, as it must without a feature. Failures are listed below.

"""


class MixedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the histories whose tables one engine creates."""

    engines: str
    """The first one creates the tables."""
    seed: int
    histories: int
    outcomes: dict[str, int]
    """Cases of suite write by outcome."""
    cells: dict[str, int]
    """`writer > reader: feature: outcome` and how often."""
    counts: dict[str, int]
    """Numbers of other comparisons."""
    failures: list[tuple[str, str]]
    """Case and message."""


class MixedReport(msgspec.Struct, frozen=True, kw_only=True):
    """All runs."""

    runs: list[MixedRun]


def main() -> None:
    """Parse the command line, run each engine as the first one and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="+", metavar="NAME")
    parser.add_argument("--first", action="append", metavar="NAME", help="engine that creates tables; default: each")
    parser.add_argument("--tables", type=int, default=50, help="histories of each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-scale", type=float, default=1.0)
    parser.add_argument("--add", action="store_true", help="keep the other runs of the last page")
    arguments = parser.parse_args()
    path = REPORTS / "mixed.json"
    keeps = arguments.add and path.exists()
    runs = msgspec.json.decode(path.read_bytes(), type=MixedReport).runs if keeps else []
    for name in arguments.first or arguments.engines:
        names = [name, *(each for each in arguments.engines if each != name)]
        found = run(names, arguments.tables, arguments.seed, arguments.timeout_scale)
        runs = [*(each for each in runs if found is None or each.engines != found.engines), *([found] if found else [])]
        path.write_bytes(msgspec.json.format(msgspec.json.encode(MixedReport(runs=runs)), indent=2) + b"\n")
        path.with_suffix(".md").write_text(render_page(runs, load_known_differences(KNOWN)), "utf-8")
    sys.exit(1 if any(each.failures for each in runs) else 0)


def run(names: list[str], tables: int, seed: int, timeout_scale: float) -> MixedRun | None:
    """Run the suite write with several engines; None if it does not start."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "report.json"
        command = [sys.executable, "-m", "deltaspec", "test", names[0], "--with", ",".join(names[1:])]
        command += ["--suite", "write", "--tables", str(tables), "--seed", str(seed), "--written"]
        command += ["--timeout-scale", str(timeout_scale), "--format", "json", "--output", str(path)]
        code = subprocess.run(command, check=False).returncode
        print(f"{names[0]}: exit code {code}", file=sys.stderr)
        if not path.exists():
            return None
        report = msgspec.json.decode(path.read_bytes(), type=SuiteReport)
    counts = report.counts.get("write", {})
    return MixedRun(
        engines=report.run.candidate,
        seed=seed,
        histories=tables,
        outcomes=report.outcomes.get("write", {}),
        cells={name: number for name, number in sorted(counts.items()) if " > " in name},
        counts={name: number for name, number in sorted(counts.items()) if " > " not in name},
        failures=[(case.case, case.message) for case in report.cases],
    )


def render_page(runs: list[MixedRun], known: list[KnownDifference]) -> str:
    """Return the page with one row for each writer and reader."""
    cells: dict[tuple[str, str], dict[str, Counter[str]]] = {}
    for each in runs:
        for name, number in each.cells.items():
            writer, _, rest = name.partition(" > ")
            reader, feature, outcome = rest.split(": ")
            cells.setdefault((writer, reader), {}).setdefault(feature, Counter())[outcome] += number
    features = sorted({feature for each in cells.values() for feature in each})
    lines = [HEAD]
    for each in runs:
        outcomes = ", ".join(f"{number:,} cases {name}" for name, number in each.outcomes.items())
        lines.append(f"- {each.engines}: seed {each.seed}, {each.histories:,} histories, {outcomes}")
    lines += ["", "| writer | reader | " + " | ".join(features) + " |", "|-|-|" + "-|" * len(features)]
    for (writer, reader), row in sorted(cells.items()):
        texts = [_describe_cell(row.get(feature, Counter())) for feature in features]
        lines.append(f"| {writer} | {reader} | {' | '.join(texts)} |")
    lines += ["", "## Violations", "", "Histories in which an operation was the first to violate a rule.", ""]
    violations: Counter[str] = Counter()
    for each in runs:
        violations.update({name: number for name, number in each.counts.items() if " violates " in name})
    lines += [f"- {number} x {name}" for name, number in sorted(violations.items())] or ["None."]
    lines += ["", "## Failures", "", "The first problem of each check in a history.", ""]
    grouped: Counter[tuple[str, str, str]] = Counter()
    for each in runs:
        for case, message in each.failures:
            check = case.partition("/")[0]
            failure = FoundDifference(check, message, 0)
            entry = next((one for one in known if one.applies(failure)), None)
            reason = "not decided" if entry is None else f"{entry.verdict}, {entry.reason} {entry.link}".strip()
            grouped[check, message.partition("\n")[0][:160] if entry is None else entry.match, reason] += 1
    lines += [f"- {n} x `{check}`: {text}: {reason}" for (check, text, reason), n in grouped.most_common()] or ["None."]
    return "\n".join(lines) + "\n"


def _describe_cell(outcomes: Counter[str]) -> str:
    bad = [f"**{number:,} {name}**" for name, number in outcomes.items() if name not in ("equal", "not supported")]
    unsupported = [f"{outcomes['not supported']:,} not supported"] if outcomes["not supported"] else []
    return ", ".join([*([f"{outcomes['equal']:,}"] if outcomes["equal"] else []), *unsupported, *bad])


if __name__ == "__main__":
    main()
