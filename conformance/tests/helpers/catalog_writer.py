"""A writer of a catalog-managed table that can be killed between its steps: `python -m helpers.catalog_writer`.

It prints each step when it is done, and waits for a line of input before the next one.
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from helpers.catalog_client import CatalogClient

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Apply, Scan
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.write_operations import Append, Publish
from deltaspec.protocol.features.catalog_managed import CatalogAnswer

APPENDS = 2
"""Appends of a round. Then the writer publishes."""


class CatalogWriter:
    """The reference writer as a client of the catalog. Each append adds one row to the column `a`."""

    def __init__(self, url: str, table: Path, report: Callable[[str], None] = lambda step: None) -> None:
        """Connect.

        Args:
            url: address of the catalog.
            table: directory of the table.
            report: is called after each step.
        """
        self._client, self._table, self._report = CatalogClient(url), table, report
        self._client.id = self._client.load()["metadata"]["table-uuid"]
        self._candidate = InProcess(Engine())

    def ask(self) -> CatalogAnswer:
        """Return what the catalog knows."""
        return self._client.ask()

    def append(self, value: int) -> None:
        """Append a row: stage a commit, and have it ratified."""
        rows = pa.table({"a": pa.array([value], pa.int64())})
        with TemporaryDirectory() as directory:
            file = f"{directory}/rows.arrow"
            with pa.ipc.new_file(file, rows.schema) as stream:
                stream.write_table(rows)
            answer = self._candidate.apply(Apply(str(self._table), Append(file), catalog=self.ask()))
        assert answer.version is not None
        self._report(f"staged {value}")
        self._client.ratify(answer.version, answer.staged).raise_for_status()
        self._report(f"ratified {value}")

    def publish(self) -> None:
        """Publish what is ratified, version by version, and report it to the catalog."""
        known = self.ask()
        for number, commit in enumerate(known.commits, 1):
            until = CatalogAnswer(commit.version, known.commits[:number])
            self._candidate.apply(Apply(str(self._table), Publish(), catalog=until))
            self._report(f"published {commit.version}")
        if known.commits:
            self._client.set_published(known.latest_version).raise_for_status()
            self._report(f"reported {known.latest_version}")

    def read(self) -> list[int]:
        """Return the values, sorted."""
        rows = self._candidate.scan(Scan(str(self._table), "", catalog=self.ask())).table
        return sorted(rows["a"].to_pylist())


def _report_and_wait(step: str) -> None:
    print(step, flush=True)
    sys.stdin.readline()


def main(url: str, table: str, first: str) -> None:
    """Append the values from `first` on, and publish after each round, until the process is killed."""
    writer = CatalogWriter(url, Path(table), _report_and_wait)
    for value in itertools.count(int(first)):
        writer.append(value)
        if (value - int(first)) % APPENDS == APPENDS - 1:
            writer.publish()


if __name__ == "__main__":
    main(*sys.argv[1:])
