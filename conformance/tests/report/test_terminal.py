"""The text of a report, whole, and what it does with a stranger's names."""

from io import StringIO

import msgspec
import pytest
from helpers.reports import COMMIT, RULE_DOCS, make_divergence, make_finding, make_not_compared, not_checked, report
from rich.console import Console

from deltaspec.report.report_types import Refusal, Report
from deltaspec.report.terminal import exit_code, write


def text_of(shown: Report, *, samples: int = 5, width: int = 100, color: bool = False) -> str:
    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, highlight=False, soft_wrap=True, markup=False, emoji=False
    )
    write(shown, RULE_DOCS, console, samples)
    return stream.getvalue()


def test_a_sound_table_is_four_lines() -> None:
    assert text_of(report()) == (
        "deltaspec 0.1.0 · validate · level log · revision current\n"
        "table  /lake/sales · version 7\n"
        "\n"
        "3 rules run, 1 not applicable, 1 not asked\n"
        "CONFORMS  nothing found · exit 0\n"
    )


def test_a_finding_says_what_where_why_and_what_next() -> None:
    expected = f"""\
deltaspec 0.1.0 · validate · level log · revision current
table  /lake/sales · version 7

VIOLATION FIL001 malformed-path
    The path of a file is not a URI reference.
    at {COMMIT} line 3 · a b.parquet
       path_fault = "holds a space"
    MUST  Add File and Remove File: A path is a URI reference.
    Why   Readers decode it to different names, or fail.
    Fix   rewrite the file's entry with its name percent-encoded.
    Next  deltaspec explain FIL001

3 rules run, 1 not applicable, 1 not asked
VIOLATIONS  1 violation · exit 1
"""
    assert text_of(report(make_finding(), verdict="violations")) == expected


def test_findings_stand_grouped_by_rule_with_their_number_and_some_samples() -> None:
    many = [make_finding(line=line) for line in range(1, 9)]
    text = text_of(
        report(*many, make_divergence(), verdict="violations", totals={"FIL001": 1204, "STA002": 1}), samples=2
    )
    assert "VIOLATION FIL001 malformed-path   1,204 findings\n" in text
    assert text.count(f"at {COMMIT} line") == 3
    assert "… and 1,202 more\n" in text
    assert text.index("VIOLATION FIL001") < text.index("DIVERGENCE STA002")
    assert "    DIVERGE S11 Per-file Statistics: Statistics name columns.\n" in text
    assert "VIOLATIONS  1,204 violations, 1 divergence · exit 1\n" in text


def test_what_was_not_checked_stands_with_its_reason_and_whether_it_was_accepted() -> None:
    text = text_of(
        report(
            verdict="incomplete",
            not_checked=[not_checked(), not_checked(rule="CRC002"), not_checked(rule="CRC003", accepted=True)],
            derived_files_not_compared=[make_not_compared("_delta_log/3.checkpoint.parquet")],
        )
    )
    assert "1 not asked, 3 not wholly checked\n" in text
    assert "not checked: CRC001, CRC002: no permission to read (_delta_log/7.crc)\n" in text
    assert "accepted unchecked: CRC003: no permission to read (_delta_log/7.crc)\n" in text
    assert "not compared: _delta_log/3.checkpoint.parquet: history is latest\n" in text
    assert text.endswith("INCOMPLETE  nothing found · exit 3\n")


def test_a_place_that_is_too_long_is_cut_between_its_parts() -> None:
    text = text_of(report(make_finding(path="with spaces " * 5, column="price"), verdict="violations"))
    path = ("with spaces " * 5).rstrip()
    assert f"    at {COMMIT} line 3\n       {path}  · column price\n" in text


def test_a_long_ledger_is_cut_and_counted() -> None:
    unchecked = [not_checked(reason=f"reason {number}") for number in range(10_000)]
    routes = [make_not_compared(f"_delta_log/{number}.checkpoint.parquet") for number in range(500)]
    text = text_of(report(verdict="incomplete", not_checked=unchecked, derived_files_not_compared=routes))
    assert len(text.splitlines()) < 30
    assert "not checked: 9,990 more; --format json has all\n" in text
    assert "not compared: 490 more; --format json has all\n" in text


def test_one_reason_of_many_files_is_told_once() -> None:
    gone = [
        not_checked(rule=rule, file=f"{number}.parquet", reason=f"{number}.parquet: is not there")
        for number in range(20)
        for rule in ("DAT001", "PQT001")
    ]
    others = [not_checked(rule=rule, file=None, reason="and at 7 more places") for rule in ("DAT001", "PQT001")]
    text = text_of(report(verdict="incomplete", not_checked=[*others, *gone]))
    assert [line for line in text.splitlines() if "checked: " in line or line.startswith("    ")] == [
        "not checked: DAT001, PQT001: is not there (0.parquet, 1.parquet, 2.parquet and 17 more)",
        "not checked: DAT001, PQT001: and at 7 more places",
    ]


def test_names_of_a_table_cannot_write_to_the_terminal() -> None:
    hostile = "\x1b[2J\x07[bold red]x[/]\u202egnp\r\n:smile:"
    shown = report(
        make_finding(path=hostile, file=hostile, column=hostile, evidence={"value": hostile}),
        verdict="violations",
        not_checked=[not_checked(reason=hostile, file=hostile)],
        derived_files_not_compared=[make_not_compared(hostile)],
    )
    text = text_of(shown)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\r"}
    assert text.count("\\x1b[2J\\x07[bold red]x[/]\\u202egnp\\x0d\\x0a:smile:") >= 3
    assert "gnp\r" not in text_of(shown, color=True)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "p=" + "x" * 5000
    shown = report(
        *(make_finding(path=long, file=long, column=long, message="word " * 60, evidence={"a": long, "b": long}),),
        verdict="violations",
        not_checked=[not_checked(reason="because " * 60, file=long)],
        derived_files_not_compared=[make_not_compared(long)],
    )
    lines = text_of(shown, width=width).splitlines()
    assert max(map(len, lines[3:])) <= width
    assert max(map(len, lines)) <= max(width, 100)


def test_a_table_without_a_version_says_so() -> None:
    from msgspec.structs import replace

    assert "· no version\n" in text_of(replace(report(), version=None))


@pytest.mark.parametrize(("verdict", "code"), [("conforms", 0), ("violations", 1), ("incomplete", 3)])
def test_exit_codes(verdict: str, code: int) -> None:
    assert exit_code(report(verdict=verdict)) == code  # type: ignore[arg-type]


def test_colour_changes_no_words() -> None:
    import re

    shown = report(make_finding(), make_divergence(), verdict="violations", not_checked=[not_checked()])
    assert re.sub(r"\x1b\[[0-9;]*m", "", text_of(shown, color=True)) == text_of(shown)


def test_the_clock_of_a_run_and_why_a_text_refuses_stand_in_the_report() -> None:
    refusal = Refusal(requirement="table-features.reader-supports-all", why="reader features v2Checkpoint")
    shown = msgspec.structs.replace(
        report(), revision="r2", verdict="refused", refusal=refusal, clock=1_704_067_200_000
    )
    text = text_of(shown)
    assert "revision r2 · clock 2024-01-01T00:00:00Z\n" in text
    assert "revision r2 does not know what the table asks for: reader features v2Checkpoint" in text
    assert text.splitlines()[-1] == "REFUSED  nothing found · exit 3"
