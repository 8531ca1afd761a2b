"""Writers that are killed between staging, ratifying and publishing: nothing is lost, and the next writer goes on."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from helpers.catalog_client import CatalogClient
from helpers.catalog_tables import CatalogTable, info, metadata, protocol
from helpers.catalog_writer import CatalogWriter

import deltaspec
from deltaspec.catalog_server import Catalog, CatalogServer, serve
from deltaspec.protocol.features.catalog_managed import list_published_versions
from deltaspec.report.report_types import Report

NEXT = 1000
"""Value that the writer after a killed one appends."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    with serve(Catalog((tmp_path / "warehouse").as_uri())) as server:
        yield server


@pytest.fixture
def table(server: CatalogServer) -> CatalogTable:
    """Return a table without rows, whose version 0 is published."""
    table = CatalogClient(server.url).create()
    (table.root / "f0.parquet").unlink()
    table.publish(0, [info(0), protocol(), metadata()])
    return table


@contextmanager
def start_writer(server: CatalogServer, table: CatalogTable, first: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a writer as a process, and kill it (SIGKILL) at the end of the block."""
    command = [sys.executable, "-m", "helpers.catalog_writer", server.url, str(table.root), str(first)]
    directory, pipe = Path(__file__).parents[1], subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, stdin=pipe, stdout=pipe, bufsize=0) as process:
        try:
            yield process
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL


def list_steps(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the steps of a writer, which waits after each one until the next is requested."""
    assert process.stdin is not None
    assert process.stdout is not None
    while line := process.stdout.readline():
        yield line.decode().strip()
        with suppress(BrokenPipeError):  # it was killed
            process.stdin.write(b"\n")


def judge(table: CatalogTable, writer: CatalogWriter) -> Report:
    """Validate the table with what its catalog knows."""
    file = table.root.parent / "answer.json"
    file.write_bytes(msgspec.json.encode(writer.ask()))
    return deltaspec.validate(str(table.root), level="rows", history="all", catalog_commits=str(file))


def list_staged(table: CatalogTable) -> list[Path]:
    """List the staged commits."""
    return sorted((table.log / "_staged_commits").iterdir())


@pytest.mark.parametrize(
    ("step", "values", "published", "leftovers"),
    [
        ("staged 2", [1], 0, 1),
        ("ratified 2", [1, 2], 0, 0),
        ("published 1", [1, 2], 1, 0),
    ],
)
def test_killed_after_a_step(
    server: CatalogServer, table: CatalogTable, step: str, values: list[int], published: int, leftovers: int
) -> None:
    with start_writer(server, table, 1) as process:
        assert step in list_steps(process)
    writer = CatalogWriter(server.url, table.root)
    assert list_published_versions(path.name for path in table.log.iterdir()) == list(range(published + 1))
    assert writer.read() == values
    report = judge(table, writer)
    assert (report.verdict, report.version) == ("conforms", len(values))
    assert len(list_staged(table)) == len(values) + leftovers
    writer.append(NEXT)
    writer.publish()
    assert writer.read() == [*values, NEXT]
    assert (writer.ask().latest_version, writer.ask().commits) == (len(values) + 1, ())
    report = judge(table, writer)
    assert (report.verdict, report.version) == ("conforms", len(values) + 1)
    assert report.inventory is not None
    assert report.inventory.unreferenced_files == leftovers
    assert sum(each.count for each in report.checked.files_not_read) == len(list_staged(table))


def kill_after(seconds: float, server: CatalogServer, table: CatalogTable, first: int, before: list[int]) -> list[int]:
    """Kill a writer after its first step and a time, judge the table, and return its values."""
    with start_writer(server, table, first) as process:
        steps = list_steps(process)
        found = [next(steps)]
        threading.Timer(seconds, process.kill).start()
        found += steps
    ratified = [int(step.split()[1]) for step in found if step.startswith("ratified")]
    in_doubt = [*ratified, first + len(ratified)]  # the catalog may have ratified it before the writer reported it
    writer = CatalogWriter(server.url, table.root)
    values = writer.read()
    assert values in (before + ratified, before + in_doubt)
    assert (judge(table, writer).verdict, writer.ask().latest_version) == ("conforms", len(values))
    published = list_published_versions(path.name for path in table.log.iterdir())
    assert published == list(range(len(published)))
    assert len(published) <= len(values) + 1
    return values


def test_killed_at_any_moment(server: CatalogServer, table: CatalogTable) -> None:
    drawn = random.Random(1)
    values: list[int] = []
    for first in (1, 101, 201):
        values = kill_after(drawn.uniform(0, 0.3), server, table, first, values)
    writer = CatalogWriter(server.url, table.root)
    writer.append(NEXT)
    writer.publish()
    assert writer.read() == [*values, NEXT]
    assert (judge(table, writer).verdict, writer.ask().commits) == ("conforms", ())
