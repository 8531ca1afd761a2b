"""Play a team's first week with deltaspec on ten tables, five on disk and five in an object store.

`nox -s first_week` runs it and writes `reports/first-week.md`. Every step is a command that a user would type. Its exit
code and its output are checked. The tables are recorded ones of Delta Spark; delta-rs writes a version.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
from deltalake import write_deltalake
from moto.server import ThreadedMotoServer

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "conformance/tests/spark/recorded_tables.tar.xz"
BUCKET = "lake"
ON_DISK = {
    "sales/orders": "plain",
    "sales/refunds": "deletion_vectors",
    "web/sessions": "row_tracking",
    "web/pages": "strings_with_escapes",
    "staff/people": "column_mapping_name",
}
IN_STORE = {
    "iot/readings": "checkpoint_v2_parquet",
    "iot/devices": "generated_columns",
    "finance/ledger": "type_widening",
    "finance/rates": "edge_values",
    "finance/audit": "change_data_feed",
}


SETTINGS = """\
level = "rows"
fail-on = "warning"
baseline = "known.json"

[tables."*/iot/devices"]
accept-unchecked = ["ROW041"]  # needs Spark
"""


class Week:
    """Runs commands in the team's directory and keeps the transcript."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines: list[str] = []

    def begin(self, heading: str, text: str) -> None:
        """Begin a chapter of the transcript."""
        self.lines += ["", f"## {heading}", "", text]

    def write(self, name: str, text: str) -> None:
        """Write a file, and show it."""
        (self.directory / name).write_text(text, "utf-8")
        self.lines += ["", "```toml", *text.splitlines(), "```"]

    def run(self, command: str, *, exit_code: int, shows: str = "") -> str:
        """Run a command, check its exit code and what it shows, and return its output.

        Raises:
            SystemExit: it ended in another way.
        """
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(
            words, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        output = re.sub(r"(?m) in [\d.,]+ m?s\b|[ \t]+$", "", done.stdout)
        self.lines += ["", "```console", f"$ {command}", *output.rstrip().splitlines()]
        self.lines += [f"(exit code {done.returncode})", "```"] if done.returncode else ["```"]
        if done.returncode != exit_code or not re.search(shows, output):
            sys.exit(f"{command}\n{done.stdout}\nexit code {done.returncode}, expected {exit_code} and {shows!r}")
        return output


@contextmanager
def serve_object_store() -> Iterator[None]:
    """Start an S3 server on this machine, and point the environment at it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "team",
        "AWS_SECRET_ACCESS_KEY": "team",
        "AWS_REGION": "us-east-1",
    }
    try:
        yield
    finally:
        server.stop()


def write_tables(directory: Path) -> None:
    """Write the ten tables: below `lake` in a directory, and into a new bucket."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(RECORDED) as archive:
            archive.extractall(folder, filter="data")
        for name, recorded in ON_DISK.items():
            shutil.copytree(Path(folder, recorded), directory / "lake" / name)
        store = connect()
        store.create_bucket(Bucket=BUCKET)
        for name, recorded in IN_STORE.items():
            for path in Path(folder, recorded).rglob("*"):
                if path.is_file():
                    store.upload_file(path, BUCKET, f"{name}/{path.relative_to(Path(folder, recorded)).as_posix()}")


def connect() -> Any:
    """Return a client of the object store."""
    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")


def find_live_file(table: Path) -> Path:
    """Return a data file of a table that the last commit added."""
    newest = max((table / "_delta_log").glob("*.json"))
    added = [json.loads(line)["add"]["path"] for line in newest.read_text("utf-8").splitlines() if '"add"' in line]
    return table / added[0]


def play(week: Week) -> None:
    """Run the commands of the week."""
    orders = week.directory / "lake/sales/orders"
    week.begin("Monday: what is there, and how is it?", "The team finds its tables and validates them once.")
    on_disk = week.run("deltaspec discover lake", exit_code=0, shows="lake/web/sessions")
    in_store = week.run(f"deltaspec discover s3://{BUCKET}", exit_code=0, shows="finance/audit")
    (week.directory / "tables.txt").write_text(on_disk + in_store, "utf-8")
    validate = "deltaspec validate --tables-from tables.txt --jobs 2"
    week.run(f"{validate} --level rows --fail-on warning", exit_code=1, shows="10 tables")

    week.begin(
        "Tuesday: a baseline",
        "The warnings come from the engine that wrote the tables. They go into a baseline, and the nightly run passes. "
        "`deltaspec.toml` has its settings:",
    )
    tables = " ".join((on_disk + in_store).split())
    week.run(f"deltaspec baseline update known.json {tables} --level rows", exit_code=0)
    week.run("deltaspec baseline show known.json", exit_code=0, shows="RID030")
    week.write("deltaspec.toml", SETTINGS)
    week.run(validate, exit_code=0, shows="10 tables: 10 conform ·")

    week.begin("Wednesday: something is wrong", "A clean-up job deletes a file that the table still needs.")
    lost = find_live_file(orders)
    shutil.move(lost, week.directory / "trash")
    week.run(f"{validate} --report sarif:night/", exit_code=1, shows="DAT001")
    runs = [json.loads(path.read_text("utf-8"))["runs"] for path in (week.directory / "night").iterdir()]
    results = [each for each in runs for run in each for each in run["results"]]
    new = [each for each in results if each["baselineState"] == "new" and each["level"] == "error"]
    if [each["ruleId"] for each in new] != ["DAT001"]:
        sys.exit(f"expected one new result in SARIF, found {[each['ruleId'] for each in new]}")

    week.begin("Thursday: a bug report", "The finding becomes a small table without the team's names and values.")
    week.run("deltaspec explain DAT001", exit_code=0)
    week.run("deltaspec extract lake/sales/orders DAT001 --redact --output bug", exit_code=0)
    week.run("deltaspec validate bug/delta", exit_code=1, shows="DAT001")

    week.begin(
        "Friday: repaired, and only what is new",
        "The file comes back from the trash. A new version is validated against the report of the run before.",
    )
    shutil.move(week.directory / "trash", lost)
    week.run("deltaspec validate lake/sales/orders --report json:orders.json", exit_code=0)
    append_rows(orders)
    week.run("deltaspec validate lake/sales/orders --since orders.json", exit_code=0, shows="since")
    week.run(f"{validate} --quiet", exit_code=0)


def append_rows(table: Path) -> None:
    """Append the table's own first rows to it with delta-rs."""
    from deltalake import DeltaTable

    rows = pa.table(DeltaTable(table).to_pyarrow_dataset().head(2))
    write_deltalake(table, rows, mode="append")


def main() -> None:
    """Play the week, and write the transcript."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="write the transcript to this file")
    options = parser.parse_args()
    os.environ |= {"COLUMNS": "110", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder, serve_object_store():
        week = Week(Path(folder))
        write_tables(week.directory)
        play(week)
        introduction = (__doc__ or "").split("\n\n", 1)[1].strip()
        text = "\n".join(["# The first week with deltaspec", "", introduction, *week.lines, ""])
        text = text.replace(folder, "~").replace(os.environ["AWS_ENDPOINT_URL"], "https://store.example")
    if options.output:
        options.output.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
