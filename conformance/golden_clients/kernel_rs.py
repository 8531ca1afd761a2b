"""Run the acceptance harness and the DAT reader of a delta-kernel-rs checkout on the golden tables.

    python -m golden_clients.kernel_rs PATH_TO_CHECKOUT        # in the folder conformance

The checkout is not changed: its sources are copied next to the build, which later runs reuse. The build takes about six
minutes of CPU time at first. Results go to `reports/golden/kernel-rs.json` and `.md`. The exit code is 1 if a failure
has no explanation in `reports/golden/kernel-rs.toml`.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from deltaspec.errors import DeltaspecError
from deltaspec.golden.corpus import GoldenCorpus, load_corpus
from deltaspec.golden.export.layouts import write_layout
from golden_clients.harness_results import (
    HarnessReport,
    Result,
    build_report,
    explain,
    list_skip_patterns,
    load_explanations,
    mark_skipped,
    parse_output,
    render_markdown,
)

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports/golden"
BUILD = ROOT / "conformance/harnesses/build/kernel_rs_acceptance"
DAT_CASES = Path("tests/dat/out/reader_tests/generated")
_NOT_COPIED = {Path(".git"), Path("target"), Path("acceptance/workloads"), Path("acceptance/tests/dat")}
_EXECUTABLE = re.compile(r"Executable tests/(\w+)\.rs \((.+)\)")
HEAD = """# delta-kernel-rs on the golden tables

`nox -s acceptance_kernel_rs -- PATH_TO_CHECKOUT` writes this page. It runs the acceptance harness of delta-kernel-rs
and its reader of Delta acceptance tests (DAT), both unmodified, on the exported golden tables.

Both harnesses compare rows as text in which null and an empty string look the same. A reader that confuses them passes
here and fails in `deltaspec test` (see [kernel-rs-empty-partition-value](../findings/kernel-rs-empty-partition-value)).
[kernel-rs.json](kernel-rs.json) lists everything that does not pass.

"""


def main() -> None:
    """Parse the command line, run both harnesses and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="directory of delta-kernel-rs")
    parser.add_argument("--commit", default="", help="commit of the checkout, if it is not a git repository")
    parser.add_argument("--cases", type=Path, help="golden tables; by default from this checkout")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    if not (checkout / "acceptance/Cargo.toml").is_file():
        sys.exit(f"{checkout} is not a checkout of delta-kernel-rs: there is no acceptance/Cargo.toml")
    corpus = load_corpus(arguments.cases)
    source = copy_sources(checkout, BUILD / "source")
    left_out = {"acceptance": export(corpus, "acceptance", BUILD / "workloads")}
    left_out["dat"] = export(corpus, "dat", source / "acceptance" / DAT_CASES)
    (source / "acceptance/tests/dat/.done").write_text("done")  # otherwise the build downloads the cases of DAT
    programs = build(source)
    harness = f"delta-kernel-rs {describe_version(source, arguments.commit or read_commit(checkout))}"
    explanations = load_explanations(REPORTS / "kernel-rs.toml")
    results = {
        "acceptance": run_harness(source, programs, "acceptance_workloads_reader", ""),
        "dat": run_harness(source, programs, "dat_reader", "/test_case_info.json"),
    }
    every = explain([each for found in results.values() for each in found], explanations)
    names: dict[str, Literal["acceptance", "dat"]] = {"acceptance": "acceptance", "dat": "dat"}
    reports, start = [], 0
    for name, found in results.items():
        part = every[start : start + len(found)]
        start += len(found)
        reports.append(build_report(harness, names[name], part, left_out[name]))
    write_reports(reports)
    unexplained = [each for report in reports for each in report.unexplained]
    for each in unexplained:
        print(f"not explained: {each.outcome} {each.name}: {each.message}", file=sys.stderr)
    sys.exit(1 if unexplained else 0)


def copy_sources(checkout: Path, target: Path) -> Path:
    """Copy the sources of a checkout, with their times, so that Cargo builds only what changed."""
    lock = target / "Cargo.lock"
    versions = lock.read_bytes() if lock.exists() else None
    if target.exists():
        shutil.rmtree(target)

    def ignore(directory: str, names: list[str]) -> list[str]:
        return [name for name in names if (Path(directory) / name).relative_to(checkout) in _NOT_COPIED]

    shutil.copytree(checkout, target, ignore=ignore, symlinks=True)
    if versions is not None and not lock.exists():
        lock.write_bytes(versions)
    return target


def export(corpus: GoldenCorpus, layout: Literal["acceptance", "dat"], directory: Path) -> list[str]:
    """Export all cases, and return the reasons of those left out."""
    if directory.exists():
        shutil.rmtree(directory)
    _, left_out = write_layout(corpus.cases, layout, directory)
    return list(left_out.values())


def build(source: Path) -> dict[str, Path]:
    """Build the harnesses; return the programs by the name of their source."""
    command = ["cargo", "test", "--package", "acceptance", "--no-run", "--target-dir", str(BUILD / "cargo")]
    environment = {**os.environ, "DELTA_ACCEPTANCE_WORKLOADS_PATH": str(BUILD / "workloads")}
    done = subprocess.run(command, cwd=source, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-4_000:])
    link = source / "acceptance/workloads"
    if not link.is_symlink():  # a build script makes it, but only if it runs again
        link.symlink_to(BUILD / "workloads", target_is_directory=True)
    return {name: source / path for name, path in _EXECUTABLE.findall(done.stderr)}


def run_harness(source: Path, programs: dict[str, Path], name: str, suffix: str) -> list[Result]:
    """Run a harness; return its results, with names without the suffix."""
    directory = source / "acceptance"
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    command = [str(programs[name]), "--test-threads", "2"]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    results = parse_output(done.stdout.replace(f"{BUILD}/", ""))
    if not results:
        sys.exit(f"{name} ran no test: {done.stderr[-2_000:]}")
    patterns = list_skip_patterns((directory / "tests" / f"{name}.rs").read_text("utf-8"))
    return [
        msgspec.structs.replace(each, name=each.name.removesuffix(suffix)) for each in mark_skipped(results, patterns)
    ]


def read_commit(checkout: Path) -> str:
    """Return the commit of a checkout; empty if it is no repository."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if (checkout / ".git").exists() else ""


def describe_version(source: Path, commit: str) -> str:
    """Return the version of the workspace and the commit."""
    manifest: dict[str, Any] = tomllib.loads((source / "Cargo.toml").read_text("utf-8"))
    version = manifest["workspace"]["package"]["version"]
    return f"{version} ({commit})" if commit else str(version)


def write_reports(reports: list[HarnessReport]) -> None:
    """Write all reports as JSON and as Markdown."""
    REPORTS.mkdir(exist_ok=True)
    data = msgspec.json.format(msgspec.json.encode(reports), indent=2)
    (REPORTS / "kernel-rs.json").write_bytes(data + b"\n")
    (REPORTS / "kernel-rs.md").write_text(HEAD + "\n".join(map(render_markdown, reports)), "utf-8")


if __name__ == "__main__":
    try:
        main()
    except (DeltaspecError, ValueError) as error:
        sys.exit(str(error))
