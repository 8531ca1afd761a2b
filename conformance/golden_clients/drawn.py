"""Draw, export and verify golden cases, and let delta-rs and delta-kernel-rs answer them: `reports/golden/drawn.md`.

python -m golden_clients.drawn [--tables N] [--asked N] [--kernel-rs CHECKOUT]   (in conformance; `nox -s drawn_cases`)

A client that is not asked keeps its earlier results. The exit code is 1 if the reference disagrees with a case, or if a
failure of a client has no explanation in `reports/golden/drawn-*.toml`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from golden_clients import kernel_rs
from golden_clients.harness_results import explain, load_explanations
from golden_clients.writer_cases import Failure, describe_failure

REPORTS = Path(__file__).parents[2] / "reports/golden"
JSON, PAGE = REPORTS / "drawn.json", REPORTS / "drawn.md"
SEED = 54
LAYOUTS = ("acceptance", "dat")
INTRODUCTION = """\
# Drawn golden cases

`nox -s drawn_cases` writes this page. It draws cases with `deltaspec golden draw --seed 54`, in which every table is
validated at level rows, exports them in two more formats, and verifies them: the reference reader gives every expected
answer. Then clients are asked. Seconds are of the CPU, of all processes together.
"""


class Step(msgspec.Struct, frozen=True):
    """A command, and what it took."""

    cpu_seconds: float
    megabytes: int = 0
    """Size of what it wrote."""
    files: int = 0


class ClientResult(msgspec.Struct, frozen=True):
    """Answers of a client about drawn cases."""

    version: str
    cases: int
    outcomes: dict[str, int]
    """Number of questions by outcome."""
    failures: tuple[Failure, ...]

    @property
    def unexplained(self) -> list[Failure]:
        return [each for each in self.failures if not each.reason]


class DrawnReport(msgspec.Struct, frozen=True):
    """Content of `reports/golden/drawn.json`."""

    tables: int
    steps: dict[str, Step]
    verified: str
    """Last line of `deltaspec golden verify`."""
    clients: dict[str, ClientResult]


def run_step(*arguments: str, output: Path | None = None) -> tuple[Step, str]:
    """Run a command of deltaspec; return what it took, and what it printed."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([sys.executable, "-m", "deltaspec", *arguments], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode().strip()
    sizes = [path.stat().st_size for path in output.rglob("*") if path.is_file()] if output else []
    return Step(round(usage.ru_utime + usage.ru_stime, 1), sum(sizes) // 1_000_000, len(sizes)), text


def draw(tables: int, place: Path) -> tuple[dict[str, Step], str]:
    """Draw cases, export and verify them; return the steps and the last line of the verification."""
    folder = place / "folder"
    steps = {}
    steps["draw"], _ = run_step("golden", "draw", str(folder), "--tables", str(tables), "--seed", str(SEED),
                                output=folder)  # fmt: skip
    for layout in LAYOUTS:
        target = place / layout
        steps[f"export {layout}"], _ = run_step("golden", "export", str(target), "--format", layout,
                                                "--cases", str(folder), output=target)  # fmt: skip
    steps["verify"], text = run_step("golden", "verify", "--cases", str(folder))
    return steps, text.splitlines()[-1]


def ask_delta_rs(place: Path, cases: int) -> ClientResult:
    """Ask delta-rs the questions of the first cases."""
    chosen = copy_first(place, cases, place / "asked")
    report, events = place / "report.json", place / "events.jsonl"
    known = REPORTS / "drawn-deltalake.toml"
    run_step("test", "deltalake", "--import", str(chosen), "--format", "json", "--output", str(report),
             "--events", str(events), *(["--known", str(known)] if known.exists() else []))  # fmt: skip
    document = msgspec.json.decode(report.read_bytes())
    lines: list[dict[str, Any]] = [msgspec.json.decode(line) for line in events.read_bytes().splitlines()]
    answers = [each for each in lines if "case" in each]
    failures = tuple(describe_failure(each) for each in answers if each["outcome"] not in ("passed", "not-asked"))
    outcomes = dict(Counter(each["outcome"] for each in answers))
    return ClientResult(f"delta-rs {document['candidate']['version']}", cases, outcomes, failures)


def ask_kernel_rs(place: Path, cases: int, checkout: Path, commit: str) -> ClientResult:
    """Let the unmodified harness of a checkout answer the first cases."""
    source = kernel_rs.copy_sources(checkout, kernel_rs.BUILD / "source")
    workloads = kernel_rs.BUILD / "workloads"
    shutil.rmtree(workloads, ignore_errors=True)
    copy_first(place, cases, workloads)
    tests = source / "acceptance/tests/dat"
    tests.mkdir(parents=True)
    (tests / ".done").write_text("done")  # otherwise the build downloads the cases of DAT
    results = kernel_rs.run_harness(source, kernel_rs.build(source), "acceptance_workloads_reader", "")
    found = explain(results, load_explanations(REPORTS / "drawn-kernel-rs.toml"))
    failures = tuple(Failure(each.name, each.message, each.explanation) for each in found if each.outcome == "failed")
    version = kernel_rs.describe_version(source, commit or kernel_rs.read_commit(checkout))
    return ClientResult(f"delta-kernel-rs {version}", cases, dict(Counter(each.outcome for each in found)), failures)


def copy_first(place: Path, cases: int, target: Path) -> Path:
    """Copy the first cases in the layout of acceptance workloads; return the directory."""
    for each in sorted((place / "acceptance").iterdir())[:cases]:
        shutil.copytree(each, target / each.name)
    return target


def render(report: DrawnReport) -> str:
    """Return the page."""
    lines = [INTRODUCTION, f"{report.tables:,} tables. Verification: {report.verified}.", ""]
    lines += ["| step | seconds | cases per second | MB | files |", "|-|-|-|-|-|"]
    for name, step in report.steps.items():
        rate = report.tables / step.cpu_seconds if step.cpu_seconds else 0.0
        sizes = f"{step.megabytes:,} | {step.files:,}" if step.files else "|"
        lines.append(f"| {name} | {step.cpu_seconds:,.0f} | {rate:.1f} | {sizes} |")
    lines += ["", "| client | cases | questions by outcome | failures without a cause |", "|-|-|-|-|"]
    for client in report.clients.values():
        outcomes = ", ".join(f"{number:,} {each}" for each, number in sorted(client.outcomes.items()))
        lines.append(f"| {client.version} | {client.cases:,} | {outcomes} | {len(client.unexplained)} |")
    for client in report.clients.values():
        reasons = Counter(each.reason or f"Without a cause: {each.message}" for each in client.failures)
        lines += ["", f"## {client.version}", ""] + [f"- {reason} ({n})" for reason, n in reasons.most_common()]
    return "\n".join([*lines, ""])


def main() -> int:
    """Write the report and the page. Return 1 if something failed without a cause."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=10_000, help="tables to draw")
    parser.add_argument("--asked", type=int, default=1_000, help="cases that clients are asked")
    parser.add_argument("--kernel-rs", type=Path, help="checkout of delta-kernel-rs")
    parser.add_argument("--commit", default="", help="commit of the checkout, if it is not a git repository")
    arguments = parser.parse_args()
    clients = msgspec.json.decode(JSON.read_bytes(), type=DrawnReport).clients if JSON.exists() else {}
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
        place = Path(directory)
        steps, verified = draw(arguments.tables, place)
        clients["deltalake"] = ask_delta_rs(place, arguments.asked)
        if arguments.kernel_rs is not None:
            checkout = arguments.kernel_rs.resolve()
            clients["kernel_rs"] = ask_kernel_rs(place, arguments.asked, checkout, arguments.commit)
    report = DrawnReport(arguments.tables, steps, verified, clients)
    JSON.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    PAGE.write_text(render(report), "utf-8")
    failed = ", 0 cases with problems" not in verified or any(each.unexplained for each in clients.values())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
