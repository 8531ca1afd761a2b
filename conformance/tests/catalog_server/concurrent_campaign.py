"""Validate all tables of a catalog while delta-kernel-rs writes them, and write `reports/catalog-writes.md`.

    python -m catalog_server.concurrent_campaign WRITER --tables 300     (in conformance/tests; `nox -s catalog_writes`)

WRITER is the program `kernel_rust_catalog`. Each table is created, and then written by two of it at once.
`deltaspec validate 'uc://main.default.*'` runs again and again until they are done. Nothing may be found in a table,
and a table may not be called unreadable. At the end, every table conforms, and has as many rows as commits were
acknowledged.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import pyarrow as pa
from helpers.catalog_client import CatalogClient

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Scan
from deltaspec.candidates.reference.engine import Engine
from deltaspec.catalog_server import Catalog, serve
from deltaspec.output_files import write_file

CONFLICT = "is already ratified"
"""Text of the catalog's answer if the version of a commit is taken."""
PAGE = Path(__file__).parents[3] / "reports/catalog-writes.md"
HEAD = """# Catalog-managed tables that are written while they are validated

`nox -s catalog_writes` writes this page. delta-kernel-rs 0.30.1 creates and writes the tables of the catalog for tests:
two writers for each table, of which one publishes. Meanwhile
`deltaspec validate 'uc://main.default.*' --level rows` validates all tables again and again.

"""


class Run(msgspec.Struct, frozen=True):
    """One run of `deltaspec validate` over all tables of the catalog."""

    verdicts: Counter[str]
    problems: tuple[str, ...]
    """Tables that do not conform, with what the report says, and other failures of the command."""


class Writes(msgspec.Struct):
    """What the writers say."""

    acknowledged: Counter[str] = msgspec.field(default_factory=Counter)
    """Appends by table."""
    conflicts: int = 0
    """Appends whose version another writer has committed."""
    failures: list[str] = msgspec.field(default_factory=list)
    """Other errors of the writers."""


def write_tables(writer: str, url: str, names: Iterable[str], appends: int, writes: Writes) -> None:
    """Create tables, and let two writers append to each, of which one publishes."""
    for name in names:
        run_writer = [writer, url, f"main.default.{name}"]
        subprocess.run([*run_writer, "0"], capture_output=True, check=True)
        commands = [[*run_writer, str(appends)], [*run_writer, str(appends), "publish"]]
        for process in [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in commands]:
            output, _ = process.communicate()
            for line in output.splitlines():
                done = json.loads(line)
                if "error" in done:
                    is_conflict = done["operation"] == "append" and CONFLICT in done["error"]
                    writes.conflicts += is_conflict
                    writes.failures += [] if is_conflict else [f"{name}: {done['operation']}: {done['error'][:300]}"]
                elif done["operation"] == "append":
                    writes.acknowledged[name] += 1


def validate_all(url: str, folder: Path) -> Run:
    """Validate all tables of the catalog, as a user does."""
    reports = folder / "reports"
    command = [sys.executable, "-m", "deltaspec", "validate", "uc://main.default.*", "--catalog", url]
    command += ["--level", "rows", "--jobs", "2", "--report", f"json:{reports}/"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [msgspec.json.decode(file.read_bytes()) for file in sorted(reports.glob("*.json"))]
    problems = [f"{each['table']}: {describe(each)}" for each in found if each["verdict"] != "conforms"]
    if done.returncode not in (0, 1, 3):
        problems.append(f"exit {done.returncode}: {done.stderr.strip()[-500:]}")
    shutil.rmtree(reports, ignore_errors=True)
    return Run(Counter(each["verdict"] for each in found), tuple(problems))


def describe(report: dict[str, Any]) -> str:
    """Say in one line why a table does not conform."""
    unchecked = [f"{each['rule']}: {each['reason']}" for each in report["checked"]["not_checked"]]
    return f"{report['verdict']} {report['totals']} {unchecked[:2]}"


def count_rows(url: str, name: str) -> int:
    """Return the number of rows of a table in its latest version, read by the reference reader."""
    client = CatalogClient(url, name)
    location = unquote(urlsplit(client.load()["metadata"]["location"]).path)
    rows: pa.Table = InProcess(Engine()).scan(Scan(location, "", catalog=client.ask())).table
    return rows.num_rows


def main(arguments: list[str]) -> int:
    """Run the campaign; return 1 if a run found something that is not there, or if rows are missing."""
    parser = argparse.ArgumentParser(prog="catalog_server.concurrent_campaign")
    parser.add_argument("writer")
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--appends", type=int, default=4, help="of each writer")
    options = parser.parse_args(arguments)
    names, writes, runs = [f"t{number}" for number in range(options.tables)], Writes(), list[Run]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(1) as pool:
        folder = Path(directory)
        with serve(Catalog((folder / "warehouse").as_uri())) as server:
            done = pool.submit(write_tables, options.writer, server.url, names, options.appends, writes)
            while not done.done():
                if writes.acknowledged:  # before, the catalog may have no table, which is wrong usage
                    runs.append(validate_all(server.url, folder))
                time.sleep(0.1)
            done.result()
            last = validate_all(server.url, folder)
            lost = [name for name in names if count_rows(server.url, name) != writes.acknowledged[name]]
    problems = [*writes.failures, *(each for run in (*runs, last) for each in run.problems)]
    problems += [
        f"{name}: {writes.acknowledged[name]} rows were acknowledged, and another number is there" for name in lost
    ]
    write_file(str(PAGE), render_page(options, writes, runs, last, problems, time.monotonic() - began).encode())
    print(*problems, sep="\n")
    return 1 if problems or last.verdicts["conforms"] != len(names) else 0


def render_page(
    options: argparse.Namespace, writes: Writes, runs: list[Run], last: Run, problems: list[str], seconds: float
) -> str:
    """Return the page as Markdown."""
    during = sum((run.verdicts for run in runs), Counter[str]())
    lines = {
        "tables": options.tables,
        "appends acknowledged": writes.acknowledged.total(),
        "appends refused, because another writer was first": writes.conflicts,
        "runs of `deltaspec validate` during the writes": len(runs),
        "tables judged by these runs": during.total(),
        "of these, conforming": during["conforms"],
        "tables that conform after the writes": last.verdicts["conforms"],
        "problems": len(problems),
    }
    table = "".join(f"| {name} | {value:,} |\n" for name, value in lines.items())
    listed = "".join(f"- {each}\n" for each in problems[:20])
    return f"{HEAD}| {seconds:.0f} s | |\n|-|-|\n{table}" + (f"\n## Problems\n\n{listed}" if listed else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
