"""Text of `show --files`."""

from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console

from deltaspec.report.description import (
    FileFacts,
    FilesDescription,
    PartitionFacts,
    Partitions,
    RowsPerFile,
    SizeBin,
)
from deltaspec.report.files_chart import histogram, write_files
from deltaspec.report.text import UNENCODABLE

MIB = 1 << 20


def bins(*counts: int) -> list[SizeBin]:
    """Return ranges from 1 KiB up, with every file of the smallest size in its range."""
    return [
        SizeBin(at_least=1024 << index, below=2048 << index, files=files, bytes=files * (1024 << index))
        for index, files in enumerate(counts)
    ]


def part(files: int, size: int, **values: str | None) -> PartitionFacts:
    return PartitionFacts(values=values, files=files, bytes=size)


def describe(**changes: Any) -> FilesDescription:
    facts: dict[str, Any] = {
        "table": "/lake/sales",
        "version": 3,
        "files": 10,
        "bytes": 100 * MIB,
        "files_without_size": 0,
        "median_bytes": 1.5 * MIB,
        "sizes": [
            SizeBin(at_least=MIB, below=2 * MIB, files=8, bytes=12 * MIB),
            SizeBin(at_least=2 * MIB, below=4 * MIB, files=0, bytes=0),
            SizeBin(at_least=4 * MIB, below=8 * MIB, files=2, bytes=88 * MIB),
        ],
        "small_below": 16 * MIB,
        "small_files": 8,
        "small_bytes": 12 * MIB,
        "largest": [FileFacts(path="day=1/b.parquet", bytes=5 * MIB)],
        "smallest": [FileFacts(path="day=2/a.parquet", bytes=MIB)],
        "partitions": Partitions(
            columns=["day"],
            count=3,
            median_files=2.0,
            median_bytes=2.0 * MIB,
            by_bytes=[part(4, 92 * MIB, day="1"), part(4, 6 * MIB, day="null")],
            by_files=[part(4, 92 * MIB, day="1"), part(2, 2 * MIB, day=None)],
        ),
        "files_with_deletion_vector": 1,
        "deleted_records": 5,
        "rows_under_vectors": 100,
        "rows": RowsPerFile(least=10, median=100.0, most=1200, total=2000),
        "files_without_row_count": 0,
        "files_without_statistics": 0,
    }
    return FilesDescription(**(facts | changes))


EMPTY = describe(
    files=0,
    bytes=0,
    median_bytes=None,
    sizes=[],
    small_files=0,
    small_bytes=0,
    largest=[],
    smallest=[],
    partitions=Partitions(columns=["day"], count=0, median_files=0.0, median_bytes=0.0, by_bytes=[], by_files=[]),
    files_with_deletion_vector=0,
    deleted_records=0,
    rows_under_vectors=0,
    rows=None,
)


def render(files: FilesDescription, width: int = 80) -> str:
    stream = StringIO()
    console = Console(file=stream, width=width, highlight=False, soft_wrap=True, markup=False, emoji=False)
    write_files(files, console)
    return stream.getvalue()


class TestText:
    def test_complete_text(self) -> None:
        assert (
            render(describe())
            == """\
/lake/sales · version 3 · data files

files      10 files, 100.0 MiB
sizes      1.0 MiB to 5.0 MiB, median 1.5 MiB
small      80 % of the files are below 16.0 MiB, with 12 % of the bytes
rows       10 to 1,200 a file, median 100
statistics every file has them
vectors    10 % of the files have a deletion vector; 5 rows deleted, 0.2 % of
           all

    from     below  files     bytes
   1 MiB     2 MiB      8  12.0 MiB  ███████████████████████████████████████████
   2 MiB     4 MiB      0       0 B
   4 MiB     8 MiB      2  88.0 MiB  ███████████

3 partitions by day; median 2.0 MiB and 2 files
most bytes      bytes         files  x median
             92.0 MiB             4      46.0  day=1
              6.0 MiB             4       3.0  day="null"
most files      bytes         files  x median
             92.0 MiB             4       2.0  day=1
              2.0 MiB             2       1.0  day=null

largest       5.0 MiB  day=1/b.parquet

smallest      1.0 MiB  day=2/a.parquet
"""
        )

    def test_table_without_files(self) -> None:
        assert render(EMPTY) == "/lake/sales · version 3 · data files\n\nfiles      0 files, 0 B\n"

    def test_files_without_row_counts_or_statistics_are_counted(self) -> None:
        text = render(describe(files_without_row_count=3, files_without_statistics=2))
        assert "rows       10 to 1,200 a file, median 100\n           3 files without numRecords\n" in text
        assert "statistics 20 % of the files have none\n" in text
        assert "vectors    10 % of the files have a deletion vector; 5 rows deleted\n" in text

    def test_table_without_statistics(self) -> None:
        text = render(describe(rows=None, files_without_row_count=10, files_without_statistics=10))
        assert "rows       10 files without numRecords\nstatistics 100 % of the files have none\n" in text

    @pytest.mark.parametrize(
        ("part", "share"), [(0, "0 %"), (1, "less than 0.1 %"), (999_999, "more than 99.9 %"), (1_000_000, "100 %")]
    )
    def test_percentage_is_0_or_100_only_if_exact(self, part: int, share: str) -> None:
        text = render(describe(files=1_000_000, small_files=part))
        assert f"small      {share} of the files are below" in text

    def test_control_characters_in_names_are_escaped(self) -> None:
        hostile, shown = "\x1b[2J\u202e[bold]\r", "\\x1b[2J\\u202e[bold]\\x0d"
        partitions = Partitions(
            columns=[hostile],
            count=2,
            median_files=1.0,
            median_bytes=1.0,
            by_bytes=[PartitionFacts(values={hostile: hostile}, files=1, bytes=1)],
            by_files=[PartitionFacts(values={hostile: hostile}, files=1, bytes=1)],
        )
        file = [FileFacts(path=hostile, bytes=1)]
        text = render(describe(table=hostile, partitions=partitions, largest=file, smallest=file), 100)
        assert [each for each in text.splitlines() if not each.isprintable()] == []
        assert len(text.split("\n")) == len(text.splitlines()) + 1
        assert f'{shown}="{shown}"' in text
        assert text.count("[bold]") == 8

    @pytest.mark.parametrize(("width", "most"), [(60, 2**50 - 1), (100, 2**63 - 1)])
    def test_no_line_is_wider_than_the_terminal(self, width: int, most: int) -> None:
        long = "x" * 3000
        values = {f"{long}{number}": long for number in range(9)}
        some = [PartitionFacts(values=values, files=10**9, bytes=most)]
        text = render(
            describe(
                table=long,
                files=10**9,
                bytes=most,
                sizes=[SizeBin(at_least=(most + 1) // 2, below=most + 1, files=10**9, bytes=most)],
                partitions=Partitions(
                    columns=[long] * 9, count=10**9, median_files=1.5e6, median_bytes=1e18, by_bytes=some, by_files=some
                ),
                largest=[FileFacts(path=long, bytes=most)],
                smallest=[FileFacts(path=long, bytes=0)],
                rows=RowsPerFile(least=0, median=1e18, most=most, total=most),
            ),
            width,
        )
        assert max(map(len, text.splitlines())) <= width

    def test_output_without_a_terminal_has_no_color(self) -> None:
        assert "\x1b" not in render(describe())

    def test_stream_without_unicode_gets_ascii(self) -> None:
        data = BytesIO()
        stream = TextIOWrapper(data, encoding="ascii", errors=UNENCODABLE)
        partitions = Partitions(
            columns=["größe"], count=2, median_files=1.0, median_bytes=1.0, by_bytes=[], by_files=[]
        )
        table = describe(partitions=partitions)
        write_files(table, Console(file=stream, width=80, highlight=False, soft_wrap=True, markup=False))
        stream.flush()
        text = data.getvalue().decode("ascii")
        assert "  ###########\n" in text
        assert "2 partitions by gr\\xf6\\xdfe; median 1 B and 1 file\n" in text


class TestHistogram:
    def test_bars_are_proportional_to_counts(self) -> None:
        drawn = [
            line.split()[-1] if "#" in line or "+" in line else ""
            for line in histogram(describe(sizes=bins(64, 32, 1, 0)), 77, blocks=False)[1:]
        ]
        assert drawn == ["#" * 40, "#" * 20, "#", ""]

    def test_smallest_count_is_visible(self) -> None:
        line = histogram(describe(sizes=bins(1, 10**6)), 80)[1]
        assert line.endswith("  ▌")
