"""Ask several releases of engines the same questions, and write `reports/releases.md`.

    python conformance/engines/run_releases.py                        # every release of RELEASES
    python conformance/engines/run_releases.py deltalake --tables 30  # the releases of one engine
    python conformance/engines/run_releases.py deltalake==1.5.1       # one release

A release that is a Python package runs in a virtual environment of its own below `build/releases`, which has the engine
and what its adapter imports, but not deltaspec. The harnesses of kernel-rs and Kernel Java are built there with the
release. The questions are those about 30 drawn tables, the written tables and the golden cases. The results of all
releases are in `reports/releases.json`; a run replaces those of the releases that it asks.

A cause is an entry of the known failures, or else a kind of message. The page shows for each cause the first release
that has it, and the first later one that does not.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from packaging.version import Version

from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.results import SuiteReport

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "reports"
RESULTS, PAGE = REPORTS / "releases.json", REPORTS / "releases.md"
KNOWN = REPORTS / "engines/known"
ROW = "| [releases](../../releases.md) asked |"
"""Begin of the row of a finding that this script writes."""
ENVIRONMENTS = ROOT / "build/releases"
HEAD = """# Engines by release

`nox -s releases` writes this page from `releases.json`. Each release answered the same questions, with the adapter and
the declarations of the newest release: what an older release refuses or reads wrongly is a cause below. A number is the
number of cases that fail. *first with* is the first release asked that has the cause, *first without* the first later
one that does not. An older release may have the same cause with another message, which is then another row, and one
that refuses a table cannot show what else is wrong with it.
"""


class Engine(msgspec.Struct, frozen=True):
    """Releases of an engine to ask."""

    releases: tuple[str, ...]
    packages: tuple[str, ...] = ()
    """Distributions of the engine, of the same release; empty for a harness that is built."""
    others: tuple[str, ...] = ()
    """What else its adapter imports."""


RELEASES = {
    "delta_spark": Engine(("4.0.1", "4.2.0", "4.4.0"), ("delta-spark",)),
    "kernel_java": Engine(("4.0.1", "4.2.0", "4.4.0")),
    "kernel_rust": Engine(("0.28.0", "0.30.1")),
    "deltalake": Engine(("1.0.2", "1.2.1", "1.4.2", "1.5.1", "1.6.6"), ("deltalake",)),
    "sail": Engine(("0.5.3", "0.6.6", "0.7.2"), ("pysail",), ("pyspark[connect]==4.2.0",)),
    "duckdb": Engine(("1.3.2", "1.4.4", "1.5.5"), ("duckdb", "duckdb-extension-delta")),
    "chdb": Engine(("3.7.2", "4.1.9", "4.4.0"), ("chdb",)),
    "polars": Engine(("1.36.1", "1.40.1", "2.1.0"), ("polars",), ("deltalake==1.6.6",)),
    "daft": Engine(("0.6.14", "0.7.10", "0.7.26"), ("daft",), ("deltalake==1.6.6",)),
}
HARNESSES = ROOT / "conformance/harnesses"


class CauseCount(msgspec.Struct, frozen=True):
    """Failing cases of one release with one cause."""

    title: str
    link: str
    """Where the cause is described; empty if it is not listed."""
    cases: int
    example: str
    """Id of the simplest case."""


class ReleaseResult(msgspec.Struct, frozen=True):
    """What one release answered."""

    engine: str
    release: str
    tables: int
    golden: bool
    """Whether the golden cases were asked too."""
    passed: int
    failed: int
    not_asked: int
    causes: tuple[CauseCount, ...]
    problem: str = ""
    """Why it could not be asked; the counts are then 0."""


def main() -> None:
    """Parse the command line, ask the releases and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="NAME[==RELEASE]", help="all of RELEASES by default")
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--no-golden", action="store_true", help="do not ask about the golden cases")
    arguments = parser.parse_args()
    found = {(each.engine, each.release): each for each in load_results()}
    for name, release in select_releases(arguments.engines):
        result = ask_release(name, release, arguments.tables, golden=not arguments.no_golden)
        found[name, release] = result
        save_results(list(found.values()))
        print(
            f"{name} {release}: {result.problem or f'{result.passed:,} passed, {result.failed:,} failed'}", flush=True
        )
    PAGE.write_text(render_page(), "utf-8")
    update_findings(load_results())


def select_releases(chosen: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield engine and release of the words of the command line; all without words."""
    for word in chosen or RELEASES:
        name, _, release = word.partition("==")
        if name not in RELEASES:
            sys.exit(f"unknown engine {name}; choose from {', '.join(RELEASES)}")
        yield from ((name, each) for each in ([release] if release else RELEASES[name].releases))


def ask_release(name: str, release: str, tables: int, *, golden: bool) -> ReleaseResult:
    """Install a release and ask it."""
    try:
        environment = install_release(name, release)
    except subprocess.CalledProcessError as fault:
        problem = f"it cannot be installed: {describe_failure(fault)}"
        return ReleaseResult(name, release, tables, golden, 0, 0, 0, (), problem)
    report = run_suites(name, environment, ["--tables", str(tables), "--written", *(["--golden"] if golden else [])])
    if isinstance(report, str):
        return ReleaseResult(name, release, tables, golden, 0, 0, 0, (), report)
    # a list of known failures is about the newest release, so that a listed case may pass
    failed = [case for case in report.cases if case.outcome is not Outcome.UNEXPECTED_PASS]
    return ReleaseResult(
        engine=name,
        release=release,
        tables=tables,
        golden=golden,
        passed=report.total[Outcome.PASSED] + report.total[Outcome.UNEXPECTED_PASS],
        failed=len(failed),
        not_asked=report.total[Outcome.NOT_ASKED],
        causes=tuple(count_causes(failed)),
    )


def install_release(name: str, release: str) -> dict[str, str]:
    """Install or build a release; return the environment variables with which deltaspec finds it."""
    directory = ENVIRONMENTS / f"{name}-{release}"
    if name == "kernel_rust":
        program = build_rust_harness(directory, release)
        return {"DELTASPEC_HARNESSES": str(program.parent)}
    if name == "kernel_java":
        program = build_java_harness(directory, release)
        return {"DELTASPEC_HARNESSES": str(program.parent)}
    python = directory / "bin" / "python"
    complete = directory / "complete"
    if not complete.exists():
        engine = RELEASES[name]
        venv.create(directory, with_pip=True)
        words = [f"{package}=={release}" for package in engine.packages]
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_captured([*install, *words, *engine.others, "pyarrow>=22", "msgspec>=0.22"])
        complete.touch()
    return {f"DELTASPEC_PYTHON_{name.upper()}": str(python)}


def build_rust_harness(directory: Path, release: str) -> Path:
    """Build the harness with a release of the crates; return the program."""
    program = directory / "kernel_rust"
    if not program.exists():
        crate = directory / "crate"
        shutil.copytree(HARNESSES / "kernel_rust", crate, dirs_exist_ok=True)
        manifest = crate / "Cargo.toml"
        text = re.sub(r'(delta_kernel\w* = .*"=)[\d.]+"', rf'\g<1>{release}"', manifest.read_text("utf-8"))
        manifest.write_text(text.partition("[[example]]")[0], "utf-8")
        target = ENVIRONMENTS / "cargo"
        run_captured(["cargo", "build", "--release", "--target-dir", str(target), "--manifest-path", str(manifest)])
        shutil.copy2(target / "release/kernel_rust", program)
    return program


def build_java_harness(directory: Path, release: str) -> Path:
    """Build the harness with a release of the kernel; return the program."""
    program = directory / "sources/build/kernel_java.jar"
    if not program.exists():
        sources = directory / "sources"
        shutil.copytree(HARNESSES, sources, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build"))
        maven = ["mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={ENVIRONMENTS / 'maven'}"]
        maven += ["--file", str(sources / "pom.xml"), "--projects", "kernel_java", "--also-make"]
        run_captured([*maven, f"-Ddelta.version={release}", "package"])
    return program


def run_captured(command: Sequence[str]) -> None:
    """Run a command; raise `CalledProcessError` with its output if it fails."""
    subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def describe_failure(fault: subprocess.CalledProcessError) -> str:
    """Return the first line of the output with an error, or the exit code."""
    lines = [line.strip() for line in (fault.stdout or "").splitlines()]
    errors = [line for line in lines if re.match(r"(\[ERROR\]|ERROR:|error)", line)]
    return (errors or [f"exit code {fault.returncode}"])[0].replace(str(ROOT) + os.sep, "")[:300]


def run_suites(name: str, variables: Mapping[str, str], words: Sequence[str]) -> SuiteReport | str:
    """Run the suites against the adapter with other environment variables; return why that is impossible, as text."""
    known = KNOWN / f"{name}.toml"
    environment = {
        **os.environ,
        **variables,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "report.json"
        command = [sys.executable, "-m", "deltaspec", "test", name, *words, "--format", "json", "--output", str(output)]
        command += ["--timeout-scale", "2", *(["--known", str(known)] if known.exists() else [])]
        done = subprocess.run(command, env=environment, check=False, stderr=subprocess.PIPE, text=True)
        if not output.exists():
            return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return msgspec.json.decode(output.read_bytes(), type=SuiteReport)


def count_causes(cases: Sequence[CaseResult]) -> Iterator[CauseCount]:
    """Yield the causes of failing cases, the most frequent first."""
    groups: dict[tuple[str, str], list[CaseResult]] = defaultdict(list)
    for case in cases:
        is_listed = case.outcome is Outcome.EXPECTED_FAILURE
        groups[(case.known_failure, case.known_link) if is_listed else (describe_kind(case), "")].append(case)
    for (title, link), found in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        simplest = min(found, key=lambda case: (len(case.history), case.case))
        yield CauseCount(title, link, len(found), simplest.case)


def describe_kind(case: CaseResult) -> str:
    """Return the kind of an unlisted failure: refused features, or the message without names and values."""
    needed = re.search(r"reader features required: \[(.*?)\]", case.message)
    if needed:
        return f"refuses tables that need {', '.join(sorted(needed[1].split(', ')))}"
    text = re.sub(r"^refused: \w+ in phase \w+( \(\w+\))?: ", "refuses: ", re.sub(r"\s+", " ", case.signature))
    return text[:160]


def load_results() -> list[ReleaseResult]:
    """Return the results of all releases, in the order of `RELEASES` and of releases."""
    if not RESULTS.exists():
        return []
    found = msgspec.json.decode(RESULTS.read_bytes(), type=list[ReleaseResult])
    order = list(RELEASES)
    return sorted(found, key=lambda each: (order.index(each.engine), Version(each.release)))


def save_results(results: list[ReleaseResult]) -> None:
    """Write the results of all releases."""
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def render_page() -> str:
    """Return the page."""
    results = load_results()
    lines = [HEAD]
    for name in RELEASES:
        found = [each for each in results if each.engine == name]
        lines += [f"## {name}", "", *(render_engine(found) if found else ["Not run.", ""])]
    return "\n".join(lines).rstrip() + "\n"


def render_engine(results: Sequence[ReleaseResult]) -> Iterator[str]:
    """Yield the tables of one engine."""
    yield "| release | asked | passed | failed | not asked |"
    yield "|-|-|-|-|-|"
    for each in results:
        cells = f"{each.passed:,} | {each.failed:,} | {each.not_asked:,}"
        questions = f"{each.tables:,} drawn and the written tables" + (", golden cases" if each.golden else "")
        yield f"| {each.release} | {questions} | {each.problem or cells} |" + (" | |" if each.problem else "")
    yield ""
    asked = [each for each in results if not each.problem]
    yield f"| cause | {' | '.join(each.release for each in asked)} | first with | first without | simplest case |"
    yield "|-" * (len(asked) + 4) + "|"
    for title, link in list_causes(asked):
        counts = [find_count(each, title) for each in asked]
        first, without = find_range(asked, title)
        example = next(each for each in reversed(counts) if each).example
        text = title.replace("|", "\\|")
        name = f"[{text}]({link.removeprefix('reports/')})" if link.startswith("reports/") else text
        cells = " | ".join(f"{each.cases:,}" if each else "-" for each in counts)
        yield f"| {name} | {cells} | {first} | {without} | `{example}` |"
    yield ""


def find_range(asked: Sequence[ReleaseResult], title: str) -> tuple[str, str]:
    """Return the first release with a cause that one of them has, and the first later one without it, or `none`."""
    has = [find_count(each, title) is not None for each in asked]
    first = has.index(True)
    without = next((asked[number].release for number in range(first, len(asked)) if not has[number]), "none")
    return asked[first].release, without


def update_findings(results: Sequence[ReleaseResult]) -> None:
    """Write the releases with each listed cause into the table of its finding."""
    lines: dict[str, list[str]] = defaultdict(list)
    for name in RELEASES:
        asked = [each for each in results if each.engine == name and not each.problem]
        for title, link in list_causes(asked):
            if link.startswith("reports/findings/"):
                first, without = find_range(asked, title)
                lines[link].append(f"{name}: first with {first}, first without {without}")
    for link, found in lines.items():
        path = ROOT / link / "README.md"
        rows = [row for row in path.read_text("utf-8").split("\n") if not row.startswith(ROW)]
        after = next(number for number, row in enumerate(rows) if row.startswith("| engine |"))
        rows.insert(after + 1, f"{ROW} {'; '.join(dict.fromkeys(found))} |")
        path.write_text("\n".join(rows), "utf-8")


def list_causes(results: Sequence[ReleaseResult]) -> list[tuple[str, str]]:
    """Return title and link of every cause, those of the newest release first."""
    found: dict[str, str] = {}
    for result in reversed(results):
        for cause in result.causes:
            found.setdefault(cause.title, cause.link)
    return list(found.items())


def find_count(result: ReleaseResult, title: str) -> CauseCount | None:
    """Return the failures of a release with a cause."""
    return next((each for each in result.causes if each.title == title), None)


if __name__ == "__main__":
    main()
