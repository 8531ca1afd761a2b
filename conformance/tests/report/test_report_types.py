"""`Report` as Python users see it: exceptions, `repr` and notebook display."""

import msgspec
import pytest
from helpers.reports import COMMIT, make_divergence, make_finding, not_checked, report

from deltaspec.errors import DeltaspecError, ValidationFailed
from deltaspec.report.report_types import Report


def test_violations_raise_with_the_verdict_and_the_first_findings() -> None:
    many = [make_finding(line=line) for line in range(1, 6)]
    with pytest.raises(ValidationFailed) as caught:
        report(*many, verdict="violations", totals={"FIL001": 1204}).raise_for_violations()
    assert str(caught.value).splitlines() == [
        "/lake/sales, version 7: VIOLATIONS  1,204 violations · exit 1",
        *(
            f"  FIL001 malformed-path at {COMMIT} line {line} · a b.parquet: The path of a file is not a URI reference."
            for line in (1, 2, 3)
        ),
        "  and 1,201 violations more",
    ]
    assert isinstance(caught.value, DeltaspecError)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("verdict", ["conforms", "incomplete", "refused"])
def test_other_verdicts_do_not_raise(verdict: str) -> None:
    report(make_divergence(), verdict=verdict).raise_for_violations()  # type: ignore[arg-type]


@pytest.mark.parametrize("verdict", ["incomplete", "refused"])
def test_incomplete_reports_raise_on_request(verdict: str) -> None:
    with pytest.raises(ValidationFailed, match=f"{verdict.upper()}  nothing found · exit 3"):
        report(verdict=verdict).raise_for_violations(require_complete=True)  # type: ignore[arg-type]


def test_complete_reports_do_not_raise_on_request() -> None:
    report().raise_for_violations(require_complete=True)


def test_repr_is_one_line() -> None:
    assert repr(report()) == "<Report conforms: /lake/sales, version 7, level log, no findings>"
    found = report(make_finding(), make_divergence(), verdict="violations")
    assert repr(found) == "<Report violations: /lake/sales, version 7, level log, 1 violation, 1 divergence>"
    nowhere = msgspec.structs.replace(report(), version=None, table="/a\nb")
    assert repr(nowhere) == "<Report conforms: /a\\x0ab, no version, level log, no findings>"


def test_html_has_one_row_for_each_rule() -> None:
    shown = report(make_finding(line=1), make_finding(line=2), make_divergence(), verdict="violations")
    html = shown._repr_html_()
    assert html.count("<tr>") == 3
    assert "<b>VIOLATIONS</b> /lake/sales, version 7, level log: 2 violations, 1 divergence" in html
    assert "<td>FIL001 malformed-path</td><td>2</td>" in html
    assert f"{COMMIT} line 1 · a b.parquet" in html


def test_html_escapes_names_of_the_table() -> None:
    hostile = "<script>alert('x')</script>\x1b&"
    shown = report(make_finding(path=hostile, message=hostile), verdict="violations")
    html = msgspec.structs.replace(shown, table=hostile)._repr_html_()
    assert "<script>" not in html
    assert "\x1b" not in html
    assert html.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;\\x1b&amp;") == 3


def test_html_is_bounded() -> None:
    many = [make_finding(rule=f"FIL{number:03}", path="p" * 1_000_000) for number in range(100)]
    html = report(*many, verdict="violations")._repr_html_()
    assert len(html) < 200_000
    assert "and 80 rules more" in html


def test_html_counts_undecided_rules() -> None:
    html = report(verdict="incomplete", not_checked=[not_checked(), not_checked(file="b")])._repr_html_()
    assert "<p>1 rule not completely checked</p>" in html


def test_json_has_only_the_fields() -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(report(make_finding())))
    assert list(encoded) == list(Report.__struct_fields__)
    assert "location" not in encoded["findings"][0]


@pytest.mark.parametrize(("verdict", "code"), [("conforms", 0), ("violations", 1), ("incomplete", 3), ("refused", 3)])
def test_exit_codes(verdict: str, code: int) -> None:
    assert report(verdict=verdict).exit_code == code  # type: ignore[arg-type]
