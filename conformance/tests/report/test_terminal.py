"""Text reports: complete output, wrapping, and names with control characters."""

import re
from io import StringIO

import msgspec
import pytest
from helpers.reports import COMMIT, make_baseline, make_divergence, make_finding, make_not_compared, not_checked, report
from rich.console import Console

from deltaspec.report.report_types import (
    AcceptedFinding,
    AcceptEntry,
    CopiedFrom,
    FilesNotRead,
    MissingCommits,
    Refusal,
    Report,
    RuleDoc,
)
from deltaspec.report.terminal import write


def render(shown: Report, *, samples: int = 5, width: int = 100, color: bool = False, verbose: bool = False) -> str:
    stream = StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, highlight=False, soft_wrap=True, markup=False, emoji=False
    )
    write(shown, console, samples, verbose=verbose)
    return stream.getvalue()


def strip_color(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_report_of_a_sound_table_has_four_lines() -> None:
    assert render(report()) == (
        "deltaspec 1.0.0rc1 · validate · level log · revision current\n"
        "table  /lake/sales · version 7\n"
        "\n"
        "3 rules run, 1 not applicable, 1 not selected\n"
        "CONFORMS  nothing found · exit 0\n"
    )


def test_finding_has_message_location_evidence_reason_and_fix() -> None:
    expected = f"""\
deltaspec 1.0.0rc1 · validate · level log · revision current
table  /lake/sales · version 7

VIOLATION FIL001 malformed-path
    The path of a file is not a URI reference.
    at {COMMIT} line 3 · a b.parquet
       path_fault = "holds a space"
    MUST  Add File and Remove File: A path is a URI reference.
    Why   Readers decode it to different names, or fail.
    Fix   rewrite the file's entry with its name percent-encoded.
    Next  deltaspec explain FIL001

3 rules run, 1 not applicable, 1 not selected
VIOLATIONS  1 violation · exit 1
"""
    assert render(report(make_finding(), verdict="violations")) == expected


def test_findings_are_grouped_by_rule_with_their_number_and_samples() -> None:
    many = [make_finding(line=line) for line in range(1, 9)]
    text = render(
        report(*many, make_divergence(), verdict="violations", totals={"FIL001": 1204, "STA002": 1}), samples=2
    )
    assert "VIOLATION FIL001 malformed-path   1,204 findings\n" in text
    assert text.count(f"at {COMMIT} line") == 3
    assert "… and 1,202 more\n" in text
    assert text.index("VIOLATION FIL001") < text.index("DIVERGENCE STA002")
    assert "    DIVERGE S11 Per-file Statistics: Statistics name columns.\n" in text
    assert "VIOLATIONS  1,204 violations, 1 divergence · exit 1\n" in text


def test_unchecked_rules_have_their_reason() -> None:
    text = render(
        report(
            verdict="incomplete",
            not_checked=[not_checked(), not_checked(rule="CRC002"), not_checked(rule="CRC003", accepted=True)],
            derived_files_not_compared=[make_not_compared("_delta_log/3.checkpoint.parquet")],
        )
    )
    assert "1 not selected, 3 not completely checked\n" in text
    assert "not checked: CRC001, CRC002: no permission to read (_delta_log/7.crc)\n" in text
    assert "accepted unchecked: CRC003: no permission to read (_delta_log/7.crc)\n" in text
    assert "not compared: _delta_log/3.checkpoint.parquet: history is latest\n" in text
    assert text.endswith("INCOMPLETE  nothing found · exit 3\n")


def test_long_location_is_split_between_its_parts() -> None:
    text = render(report(make_finding(path="with spaces " * 5, column="price"), verdict="violations"))
    path = ("with spaces " * 5).rstrip()
    assert f"    at {COMMIT} line 3\n       {path}  · column price\n" in text


def test_long_ledger_is_shortened_and_counted() -> None:
    unchecked = [not_checked(reason=f"reason {number}") for number in range(10_000)]
    names = [f"_delta_log/{number}.checkpoint.parquet" for number in range(500)]
    routes = [make_not_compared(name, reason=f"commit {number} is missing") for number, name in enumerate(names)]
    text = render(report(verdict="incomplete", not_checked=unchecked, derived_files_not_compared=routes))
    assert len(text.splitlines()) < 30
    assert "not checked: 9,990 more; --format json has all\n" in text
    assert "not compared: 490 more; --format json has all\n" in text


def test_files_that_are_not_compared_or_read_have_one_line_per_reason() -> None:
    routes = [make_not_compared(f"_delta_log/{number}.c") for number in range(500)]
    unread = FilesNotRead(reason="later than version 7", count=4000, files=[f"_delta_log/{n}.json" for n in range(9)])
    gaps = [MissingCommits(first=0, last=4, explained=True), MissingCommits(first=6, last=6, explained=False)]
    shown = report(derived_files_not_compared=routes, files_not_read=[unread], missing_commits=gaps)
    assert [line for line in render(shown, width=200).splitlines() if line.startswith("not ")] == [
        "not compared: _delta_log/0.c, _delta_log/1.c, _delta_log/2.c and 497 more: history is latest",
        "not read: _delta_log/0.json, _delta_log/1.json, _delta_log/2.json and 3,997 more: later than version 7",
        "not listed: commits 0 to 4; log cleanup may have deleted them",
        "not listed: commit 6 between other commits",
    ]


def test_rules_that_were_not_selected_have_the_option_that_runs_them() -> None:
    reasons = {"DAT001": "needs --level files", "DAT002": "needs --level files", "RET001": "needs --clock"}
    shown = report(skipped=["DAT001", "DAT002"], not_applicable=["RET001"], reasons=reasons)
    assert ", 0 not applicable, 3 not selected: 1 need --clock, 2 need --level files\n" in render(shown)


@pytest.mark.parametrize(
    ("files", "paths"),
    [
        (["file:/src/a", "file:/src/b"], ["/src/a", "/src/b"]),
        (["file:///src/a%20a", "file:///src/b"], ["src/a a", "src/b"]),
        (["s3://lake/a", "s3://lake/b: c"], ["s3://lake/a", "s3://lake/b: c"]),
    ],
)
def test_reasons_that_differ_only_by_a_path_are_one_entry(files: list[str], paths: list[str]) -> None:
    unchecked = [
        not_checked(rule=code, file=file, reason=f"{path}: leads out")
        for code in ("DAT001", "DAT002")
        for file, path in zip(files, paths, strict=True)
    ]
    lines = [line for line in render(report(not_checked=unchecked), width=200).splitlines() if "not checked:" in line]
    assert lines == [f"not checked: DAT001, DAT002: leads out ({files[0]}, {files[1]})"]


def test_copied_table_is_explained() -> None:
    copied = [CopiedFrom(location="s3://old/place", file="day=1/a.parquet")]
    assert (
        "copied: absolute paths lead to s3://old/place, but the table has files of the same names, such as "
        "day=1/a.parquet. It looks like a copy of that place: clone it again, or rewrite the paths\n"
    ) in render(msgspec.structs.replace(report(), copied_from=copied), width=300)


def test_reason_that_begins_with_another_path_keeps_it() -> None:
    unchecked = [not_checked(file="data/part", reason=f"{path}: leads out") for path in ("t", "other", "")]
    lines = [line for line in render(report(not_checked=unchecked), width=200).splitlines() if "not checked:" in line]
    assert lines == [
        "not checked: CRC001: t: leads out (data/part)",
        "not checked: CRC001: other: leads out (data/part)",
        "not checked: CRC001: : leads out (data/part)",
    ]


def test_reason_of_many_files_is_printed_once() -> None:
    gone = [
        not_checked(rule=rule, file=f"{number}.parquet", reason=f"{number}.parquet: does not exist")
        for number in range(20)
        for rule in ("DAT001", "PQT001")
    ]
    others = [not_checked(rule=rule, file=None, reason="and 7 more locations") for rule in ("DAT001", "PQT001")]
    text = render(report(verdict="incomplete", not_checked=[*others, *gone]))
    assert [line for line in text.splitlines() if "checked: " in line or line.startswith("    ")] == [
        "not checked: DAT001, PQT001: does not exist (0.parquet, 1.parquet, 2.parquet and 17 more)",
        "not checked: DAT001, PQT001: and 7 more locations",
    ]


def test_control_characters_in_names_are_escaped() -> None:
    hostile = "\x1b[2J\x07[bold red]x[/]\u202egnp\r\n:smile:"
    shown = report(
        make_finding(path=hostile, file=hostile, column=hostile, evidence={"value": hostile}),
        verdict="violations",
        not_checked=[not_checked(reason=hostile, file=hostile)],
        derived_files_not_compared=[make_not_compared(hostile)],
    )
    text = render(shown)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\r"}
    assert text.count("\\x1b[2J\\x07[bold red]x[/]\\u202egnp\\x0d\\x0a:smile:") >= 3
    assert "gnp\r" not in render(shown, color=True)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "p=" + "x" * 5000
    shown = report(
        *(make_finding(path=long, file=long, column=long, message="word " * 60, evidence={"a": long, "b": long}),),
        verdict="violations",
        not_checked=[not_checked(reason="because " * 60, file=long)],
        derived_files_not_compared=[make_not_compared(long)],
    )
    lines = strip_color(render(shown, width=width, color=True)).splitlines()
    assert max(map(len, lines[3:])) <= width
    assert max(map(len, lines)) <= max(width, 100)


LONG_PATH = "region=north%20west/" * 20 + "part-00000-c0ffee.c000.snappy.parquet"


@pytest.mark.parametrize("width", [60, 100])
def test_paths_and_evidence_are_complete_and_in_one_line_without_a_terminal(width: int) -> None:
    shown = report(
        make_finding(path=LONG_PATH, evidence={"expected": LONG_PATH, "found": "b" * 1000}),
        verdict="violations",
        not_checked=[not_checked(file=LONG_PATH, reason="no permission")],
        derived_files_not_compared=[make_not_compared(LONG_PATH)],
    )
    lines = render(shown, width=width).splitlines()
    assert f"       {LONG_PATH}" in lines
    assert f'       expected = "{LONG_PATH}"' in lines
    assert f'       found = "{"b" * 1000}"' in lines
    assert len([line for line in lines if LONG_PATH in line]) == 4


def test_wrapped_evidence_adds_up_to_the_complete_value() -> None:
    value = "two  spaces " * 30 + "x" * 300
    shown = report(make_finding(path=None, evidence={"value": value}), verdict="violations")
    text = strip_color(render(shown, width=60, color=True))
    evidence = text[text.index("value = ") : text.index("    MUST")]
    assert evidence.replace("\n" + " " * 10, "").startswith(f'value = "{value}"')


def test_empty_evidence_is_left_out() -> None:
    finding = make_finding(evidence={"role": None, "fields": [], "number": 0, "name": ""})
    assert '       number = 0, name = ""\n' in render(report(finding, verdict="violations"))


def test_huge_values_are_shortened_with_their_length() -> None:
    text = render(report(make_finding(path="p" * 7_000_000), verdict="violations"))
    assert "… (7,000,000 characters)" in text
    assert len(text) < 10_000


def test_table_without_a_version_is_reported() -> None:
    assert "· no version\n" in render(msgspec.structs.replace(report(), version=None))


def test_color_changes_no_text() -> None:
    shown = report(make_finding(), make_divergence(), verdict="violations", not_checked=[not_checked()])
    assert strip_color(render(shown, color=True)) == render(shown)


def test_report_has_the_clock_and_the_reason_of_a_refusal() -> None:
    refusal = Refusal(requirement="table-features.reader-supports-all", why="reader features v2Checkpoint")
    shown = msgspec.structs.replace(
        report(), revision="r2", verdict="refused", refusal=refusal, clock=1_704_067_200_000
    )
    text = render(shown)
    assert "revision r2 · clock 2024-01-01T00:00:00Z\n" in text
    assert "revision r2 does not support what the table requires: reader features v2Checkpoint" in text
    assert text.splitlines()[-1] == "REFUSED  nothing found · exit 3"


def test_accepted_findings_are_counted_with_their_reasons() -> None:
    entries = [
        AcceptEntry(rule="FIL", path="day=1/*", reason="legacy loader", link="https://x/1", status="used", count=2),
        AcceptEntry(rule="FIL001", reason="old", until="2026-01-31", status="expired"),
        AcceptEntry(rule="FIL002", reason="fixed", status="unused"),
        AcceptEntry(rule="STA002", reason="not run", status="not checked"),
    ]
    baseline = make_baseline(known=3, new=0, gone=1, has_table=True)
    shown = msgspec.structs.replace(report(), accept=entries, baseline=baseline, accepted_totals={"FIL001": 5})
    assert render(shown).splitlines()[-7:] == [
        "3 rules run, 1 not applicable, 1 not selected",
        "2 findings accepted (legacy loader https://x/1): FIL in day=1/*",
        "3 findings accepted (baseline b.json)",
        "outdated: accept FIL001 (old) expired after 2026-01-31",
        "outdated: accept FIL002 (fixed) is unused",
        "outdated: 1 finding of the baseline b.json is gone; run `deltaspec baseline prune`",
        "CONFORMS  5 accepted · exit 0",
    ]
    missing = msgspec.structs.replace(shown, accept=[], baseline=make_baseline(known=0, has_table=False))
    assert "no finding accepted (baseline b.json has none of this table)" in render(missing).splitlines()


def test_verbose_report_has_the_requirement_and_accepted_findings() -> None:
    doc = RuleDoc(
        "A path is a URI.", "Add File", "must", "It fails.", "Do x.", "https://x/#add", "A colon is excluded."
    )
    accepted = [
        AcceptedFinding(finding=make_finding(line=9), source="configuration", reason="legacy", link="https://x/1"),
        AcceptedFinding(finding=make_finding(line=10), source="baseline"),
    ]
    shown = msgspec.structs.replace(
        report(make_finding()), rules={"FIL001": doc}, accepted=accepted, accepted_totals={"FIL001": 3}
    )
    lines = render(shown, verbose=True).splitlines()
    start = lines.index("    MUST  Add File: A path is a URI.")
    assert lines[start + 1 : start + 4] == [
        "    Id    add.path-encoding",
        "    Reading A colon is excluded.",
        "    See   https://x/#add",
    ]
    start = lines.index("ACCEPTED FIL001 malformed-path   3 findings")
    assert [line.strip() for line in lines[start:] if "line" in line or "Reason" in line or "more" in line] == [
        "at _delta_log/00000000000000000007.json line 9 · a b.parquet",
        "Reason legacy https://x/1",
        "at _delta_log/00000000000000000007.json line 10 · a b.parquet",
        "Reason in the baseline",
        "… and 1 more",
    ]
    plain = render(shown)
    assert "ACCEPTED" not in plain
    assert "https://x/#add" not in plain
