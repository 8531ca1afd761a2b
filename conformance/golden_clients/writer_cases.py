"""Export 100 cases for writers, and let engines perform them: `reports/golden/writers/`.

python -m golden_clients.writer_cases [ENGINE[=CANDIDATE]]...      (in conformance; `nox -s writer_cases` does it)
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from deltaspec.golden.writers.expressing import EXPRESSIBLE_KINDS, INEXPRESSIBLE_FEATURES
from deltaspec.golden.writers.output import DrawnHistories, select_written, write_drawn_histories, write_written_cases

REPORTS = Path(__file__).parents[2] / "reports/golden/writers"
CASES = 100
SEED = 54
INTRODUCTION = """\
# Cases for writers

100 cases of `deltaspec golden export --format writers` and `deltaspec golden draw --format writers --operations form`
(the written histories, and drawn ones of seed 54), imported with `deltaspec test ENGINE --import`. A write spec is
what the form of the Delta acceptance tests can express of a history; the complete history is judged as in suite
`write`. A case that needs a feature or an operation that the engine does not declare is not asked. `nox -s
writer_cases` writes this page; each failure has an entry in a `.toml` file of this folder.
"""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case that did not pass."""

    case: str
    message: str
    reason: str = ""
    link: str = ""


class EngineResult(msgspec.Struct, frozen=True):
    """Outcomes of an engine."""

    version: str
    outcomes: dict[str, dict[str, int]]
    """By kind of question (`write spec` or `history`), then by outcome."""
    not_asked: dict[str, int]
    failures: tuple[Failure, ...]

    @property
    def unexplained(self) -> list[Failure]:
        return [each for each in self.failures if not each.reason]


def ask(name: str, candidate: str, cases: Path) -> EngineResult:
    """Let an engine perform the cases."""
    known = REPORTS / f"{name}.toml"
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
        report, events = f"{place}/report.json", f"{place}/events.jsonl"
        command = [sys.executable, "-m", "deltaspec", "test", candidate, "--import", str(cases), "--format", "json"]
        command += ["--output", report, "--events", events, *(["--known", str(known)] if known.exists() else [])]
        subprocess.run(command, check=False)
        document = msgspec.json.decode(Path(report).read_bytes())
        lines = Path(events).read_text("utf-8").splitlines()
    results = [each for each in map(msgspec.json.decode, lines) if "case" in each]
    outcomes: dict[str, Counter[str]] = {"write spec": Counter(), "history": Counter()}
    for each in results:
        kind = "history" if each["table"].endswith("/operations") else "write spec"
        outcomes[kind][each["outcome"]] += 1
    return EngineResult(
        document["candidate"]["version"],
        {kind: dict(counts) for kind, counts in outcomes.items()},
        dict(Counter(_simplify(each["message"]) for each in results if each["outcome"] == "not-asked").most_common()),
        tuple(describe_failure(each) for each in results if each["outcome"] not in ("passed", "not-asked")),
    )


def _simplify(reason: str) -> str:
    """Return a reason without the number of the commit."""
    head, _, rest = reason.partition(": ")
    return rest if head.startswith("commit ") else reason


def describe_failure(result: dict[str, Any]) -> Failure:
    """Return a case of the events of `deltaspec test` that did not pass."""
    message = " ".join(result["message"].split())[:300]
    return Failure(result["case"], message, result.get("known_failure", ""), result.get("known_link", ""))


def render(results: dict[str, EngineResult]) -> str:
    """Return the page."""
    lines = [INTRODUCTION, "| engine | write specs | complete histories | failures without a cause |", "|-|-|-|-|"]
    for name, each in results.items():
        cells = [_render_outcomes(each.outcomes[kind]) for kind in ("write spec", "history")]
        lines.append(f"| {name} {each.version} | {' | '.join(cells)} | {len(each.unexplained)} |")
    for name, each in results.items():
        lines += ["", f"## {name}", ""]
        for reason, cases in _group(each.failures).items():
            lines.append(f"- {reason} ({len(cases)}): {', '.join(f'`{case}`' for case in cases[:3])}")
        lines += [f"- Not asked ({number}): {reason}." for reason, number in each.not_asked.items()]
    return "\n".join([*lines, ""])


def _render_outcomes(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items(), key=lambda item: -item[1]))


def _group(failures: Sequence[Failure]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in failures:
        link = f" ([{Path(each.link).name}](../../findings/{Path(each.link).name}))" if each.link else ""
        reason = f"{each.reason}{link}" if each.reason else f"Without a cause: {each.message}"
        found.setdefault(reason, []).append(each.case)
    return found


def main(engines: Sequence[str]) -> int:
    """Ask engines and write the reports; others keep their earlier results. Return 1 if a failure has no cause."""
    path = REPORTS / "results.json"
    results = msgspec.json.decode(path.read_bytes(), type=dict[str, EngineResult]) if path.exists() else {}
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
        cases = Path(place) / "cases"
        cases.mkdir()
        written = select_written([])
        write_written_cases(written, cases / "written")
        drawn = DrawnHistories(SEED, forbidden=INEXPRESSIBLE_FEATURES, operations=EXPRESSIBLE_KINDS)
        write_drawn_histories(drawn, CASES - len(written), cases / "drawn", 1)
        for engine in engines:
            name, _, candidate = engine.partition("=")
            results[name] = ask(name, candidate or name, cases)
    results = {name: results[name] for name in sorted(results)}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
    (REPORTS / "README.md").write_text(render(results), "utf-8")
    return int(any(each.unexplained for each in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["deltalake"]))
