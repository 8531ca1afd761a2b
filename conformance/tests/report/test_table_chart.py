"""Text of `show`: the state of a table and the chart of its log."""

from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from rich.console import Console

from deltaspec.report.description import FeatureState, LogFiles, TableDescription
from deltaspec.report.table_chart import render_log_chart, write_description
from deltaspec.report.text import UNENCODABLE

LAST = 2**63 - 1


def log(**files: Any) -> LogFiles:
    facts: dict[str, Any] = {"commits": [], "checkpoints": [], "compactions": [], "checksums": [], "hint": None}
    return LogFiles(**(facts | files))


def describe(**changes: Any) -> TableDescription:
    facts: dict[str, Any] = {
        "table": "/lake/sales",
        "version": 3,
        "earliest_version": 0,
        "latest_version": 3,
        "min_reader_version": 3,
        "min_writer_version": 7,
        "features": [
            FeatureState(name="appendOnly", known=True, active=False),
            FeatureState(name="deletionVectors", known=True, active=True),
            FeatureState(name="futureThing", known=False),
        ],
        "id": "11111111-2222-4333-8444-555555555555",
        "name": None,
        "schema_tree": "|-- id: long (nullable = true)",
        "partition_columns": ["day", "größe"],
        "configuration": {"delta.enableDeletionVectors": "true"},
        "files": 2,
        "bytes": 3 << 20,
        "records": 1500,
        "files_with_deletion_vector": 1,
        "deleted_records": 4,
        "tombstones": 1,
        "domains": {"delta.clustering": "{}"},
        "transactions": {"stream": 12},
        "log": log(commits=[0, 1, 2, 3]),
    }
    return TableDescription(**(facts | changes))


def render(table: TableDescription, width: int = 100) -> str:
    stream = StringIO()
    console = Console(file=stream, width=width, highlight=False, soft_wrap=True, markup=False, emoji=False)
    write_description(table, console)
    return stream.getvalue()


class TestLogChart:
    def test_every_kind_of_file_has_a_line(self) -> None:
        files = log(
            commits=list(range(12)),
            checkpoints=[(4, "classic"), (8, "uuid")],
            compactions=[(1, 3), (5, 6)],
            checksums=[0, 11],
            hint=8,
        )
        assert render_log_chart(files, 11, 80) == [
            "versions     0         11",
            "commits      ████████████",
            "checkpoints  ····█···█···",
            "compactions  ·███·██·····",
            "checksums    █··········█",
            "hint                 ^ 8",
            "             checkpoints: classic, uuid",
        ]

    def test_many_versions_share_a_cell(self) -> None:
        files = log(commits=list(range(100, 1000)), checkpoints=[(99, "multipart")], checksums=[500])
        lines = render_log_chart(files, 999, 60)
        assert lines[0] == "versions     99" + " " * 41 + "999"
        assert lines[1] == "commits      ▌" + "█" * 45
        assert lines[2] == "checkpoints  ▌" + "·" * 45
        assert lines[3].count("▌") == 1
        assert lines[-2:] == ["             one mark for 20 versions:", "             █ all, ▌ some, · none"]

    def test_version_before_the_last_has_a_pointer(self) -> None:
        assert render_log_chart(log(commits=[0, 1, 2, 3]), 1, 80)[-1] == "shown         ^ 1"

    def test_gap_is_visible(self) -> None:
        assert render_log_chart(log(commits=[0, 1, 4]), 4, 80)[1] == "commits      ██··█"

    def test_ascii_chart_has_no_other_characters(self) -> None:
        files = log(commits=[5, 6, 123456], checkpoints=[(123456, "classic")], compactions=[(5, 6)], hint=123456)
        for width in (60, 100):
            assert [line for line in render_log_chart(files, 123456, width, blocks=False) if not line.isascii()] == []

    @pytest.mark.parametrize("width", [60, 80, 100])
    @pytest.mark.parametrize(
        "files",
        [
            log(commits=[0]),
            log(commits=[0, LAST], checkpoints=[(LAST, "uuid")], compactions=[(0, LAST)], checksums=[5], hint=LAST),
            log(commits=list(range(5000)), compactions=[(9, 3)], hint=4999),
            log(commits=[LAST]),
            log(checkpoints=[(7, "classic")], hint=2**40),
        ],
    )
    def test_lines_fit_the_width(self, files: LogFiles, width: int) -> None:
        version = max([*files.commits, *(version for version, _ in files.checkpoints)])
        assert max(map(len, render_log_chart(files, version, width))) <= width


class TestDescription:
    def test_complete_text(self) -> None:
        assert (
            render(describe())
            == """\
/lake/sales · version 3

readable   versions 0 to 3
protocol   reader 3, writer 7
features   appendOnly (not active), deletionVectors, futureThing (unknown)
id         11111111-2222-4333-8444-555555555555
files      2 files, 3.0 MiB, 1,500 rows, 1 removed
vectors    1 file with 4 deleted rows
partitions day, größe
properties delta.enableDeletionVectors = true
domains    delta.clustering = {}
streams    stream at 12

|-- id: long (nullable = true)

versions     0  3
commits      ████
"""
        )

    def test_table_without_protocol_and_metadata(self) -> None:
        text = render(
            describe(min_reader_version=None, min_writer_version=None, features=[], id=None, schema_tree="", files=0)
        )
        assert "protocol   none\nfeatures   none\nid         none\n" in text

    def test_entries_beyond_the_limit_are_counted(self) -> None:
        text = render(describe(transactions={f"app-{number:04}": number for number in range(1000)}))
        assert "           … and 980 more\n" in text
        assert text.count("app-") == 20

    def test_control_characters_in_names_are_escaped(self) -> None:
        hostile = "\x1b[2J\u202e[bold]\n"
        text = render(
            describe(
                table=hostile,
                name=hostile,
                features=[FeatureState(name=hostile, known=False)],
                schema_tree=f"|-- {hostile[:-1]}: long",
                partition_columns=[hostile],
                configuration={hostile: hostile},
                domains={hostile: hostile},
                transactions={hostile: 1},
            )
        )
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert text.count("[bold]") == 10

    @pytest.mark.parametrize("width", [60, 100])
    def test_no_line_is_wider_than_the_terminal(self, width: int) -> None:
        long = "x" * 3000
        text = render(
            describe(
                features=[FeatureState(name=f"feature{number}", known=True) for number in range(40)],
                configuration={long: long},
                domains={long: long},
                transactions={long: 1},
                partition_columns=[long] * 5,
            ),
            width,
        )
        assert max(map(len, text.splitlines())) <= width

    def test_stream_without_unicode_gets_ascii(self) -> None:
        data = BytesIO()
        stream = TextIOWrapper(data, encoding="ascii", errors=UNENCODABLE)
        write_description(describe(), Console(file=stream, width=80, highlight=False, soft_wrap=True, markup=False))
        stream.flush()
        text = data.getvalue().decode("ascii")
        assert "/lake/sales - version 3\n" in text
        assert "commits      ####\n" in text
        assert "gr\\xf6\\xdfe\n" in text
