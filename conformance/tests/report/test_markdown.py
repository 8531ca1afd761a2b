"""Markdown reports, for step summaries and comments."""

import re

import pytest
from helpers.reports import make_divergence, make_finding, make_not_compared, not_checked, report
from msgspec.structs import replace

from deltaspec.report import markdown
from deltaspec.report.markdown import render_markdown
from deltaspec.report.report_types import Refusal
from deltaspec.report.text import format_code

HOSTILE = "x`\n# Title\n<img src=x onerror=alert(1)> @someone `` [a](http://b) ::error::"


def test_complete_document() -> None:
    shown = report(make_finding(), verdict="violations", totals={"FIL001": 12}, not_checked=[not_checked()])
    assert (
        render_markdown(shown, 1)
        == """\
# VIOLATIONS  12 violations · exit 1

`/lake/sales`, version 7, level log, revision current, deltaspec 1.0.0rc1

3 rules run, 1 not applicable, 1 not selected, 1 not completely checked.

## Not checked

- `not checked: CRC001: no permission to read (_delta_log/7.crc)`

## VIOLATION FIL001 malformed-path: 12 findings

`The path of a file is not a URI reference.`

- `_delta_log/00000000000000000007.json line 3 · a b.parquet`: `path_fault = "holds a space"`
- and 11 more

**must** [Add File and Remove File](https://example.org/protocol#add): A path is a URI reference.

**Why** Readers decode it to different names, or fail.

**Fix** rewrite the file's entry with its name percent-encoded.
"""
    )


def test_refusal_and_files_that_were_not_compared_are_shown() -> None:
    shown = report(verdict="refused", derived_files_not_compared=[make_not_compared("_delta_log/8.crc")])
    text = render_markdown(replace(shown, refusal=Refusal(requirement="a.b", why="feature `y`")), 3)
    assert "# REFUSED  nothing found · exit 3\n" in text
    assert "what the table requires: `` feature `y` ``" in text
    assert "- `not compared: _delta_log/8.crc: history is latest`\n" in text


def test_text_of_the_table_is_in_code_spans() -> None:
    finding = make_finding(path=HOSTILE, column=HOSTILE, file=HOSTILE, message=HOSTILE, evidence={HOSTILE: HOSTILE})
    shown = report(finding, verdict="violations", not_checked=[not_checked(reason=HOSTILE, file=HOSTILE)])
    text = render_markdown(replace(shown, table=HOSTILE), 1)
    without_code = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    for markup in ("<", "@someone", "](http://b", "::", "# Title"):
        assert markup not in without_code
    assert [line for line in text.splitlines() if line.startswith(("# ", "## "))] == [
        "# VIOLATIONS  1 violation · exit 1",
        "## Not checked",
        "## VIOLATION FIL001 malformed-path: 1 finding",
    ]


@pytest.mark.parametrize(("text", "code"), [("a", "`a`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("", "` `")])
def test_code_span_is_longer_than_its_backticks(text: str, code: str) -> None:
    assert format_code(text) == code


def test_document_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = report(make_finding(), make_divergence(), verdict="violations")
    monkeypatch.setattr(markdown, "MOST_BYTES", len(render_markdown(shown, 1).encode()) - 50)
    text = render_markdown(shown, 1)
    assert "FIL001" in text
    assert text.endswith("\n1 more rule with findings; the JSON report has all.\n")
