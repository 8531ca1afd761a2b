"""What a harness of another client printed becomes a report that explains each failure."""

import pytest

from golden_clients.harness_results import (
    Explanation,
    Result,
    build_report,
    explain,
    list_skip_patterns,
    mark_skipped,
    parse_output,
    render_markdown,
)

OUTPUT = """
running 4 tests
test acceptance_workloads_test::log.append-remove/specs/all.json           ... ok
test acceptance_workloads_test::log.a b | c/specs/snapshot.json            ... FAILED
test acceptance_workloads_test::reader.x/specs/feed_cdf.json               ... ok
test reader_test::log.append-remove/test_case_info.json ... ignored

failures:

---- acceptance_workloads_test::log.a b | c/specs/snapshot.json ----
test panicked: Workload 'snapshot' failed:
Expected | metadata
note: run with `RUST_BACKTRACE=1`


failures:
    acceptance_workloads_test::log.a b | c/specs/snapshot.json

test result: FAILED. 2 passed; 1 failed
"""
FAILED = Result(
    "log.a b | c/specs/snapshot.json", "failed", "test panicked: Workload 'snapshot' failed: Expected | metadata"
)
SOURCE = """
const SKIP_LIST: &[(&str, &str)] = &[
    ("DV-017/", "Huge table"), // "not/this"
    ("_cdf", "CDF not supported"),
];
static SKIPPED_TESTS: &[&str; 1] = &["iceberg_compat_v1"];
const EXPECTED_KERNEL_FAILURES: &[(&str, &[&str])] = &[
    (
        "Accepts a table",
        &["prod_truncated_log/", "reader.x/specs/feed"],
    ),
];
fn other() { let path = "delta"; }
"""


def test_output_is_parsed() -> None:
    assert parse_output(OUTPUT) == [
        Result("log.append-remove/specs/all.json", "passed"),
        FAILED,
        Result("reader.x/specs/feed_cdf.json", "passed"),
        Result("log.append-remove/test_case_info.json", "skipped"),
    ]


def test_specs_that_the_harness_skips_do_not_count_as_passed() -> None:
    patterns = list_skip_patterns(SOURCE)
    assert patterns == ["DV-017/", "_cdf", "prod_truncated_log/", "reader.x/specs/feed", "iceberg_compat_v1"]
    outcomes = {each.name: each.outcome for each in mark_skipped(parse_output(OUTPUT), patterns)}
    assert outcomes["reader.x/specs/feed_cdf.json"] == "skipped"
    assert outcomes["log.append-remove/specs/all.json"] == "passed"


def test_failures_are_explained_or_listed_as_unexplained() -> None:
    entry = Explanation(("log.a*",), "Expected", "metadata is compared as text", "kernel-rs-text")
    unexplained = build_report("x", "acceptance", parse_output(OUTPUT), []).unexplained
    assert [each.name for each in unexplained] == [FAILED.name, "log.append-remove/test_case_info.json"]
    explained = build_report("x", "acceptance", explain([FAILED], [entry]), [])
    assert explained.unexplained == []
    assert explained.not_passed[0].explanation == (
        "metadata is compared as text ([kernel-rs-text](../findings/kernel-rs-text))"
    )


def test_explanation_that_matches_no_failure_is_an_error() -> None:
    passed = Result("log.a/specs/all.json", "passed")
    for results in ([passed], [FAILED]):
        with pytest.raises(ValueError, match=r"log\.\* with the message 'another' matches no failure \(fixed\)"):
            explain(results, [Explanation(("log.*",), "another", "fixed")])


def test_page_has_counts_by_chapter_and_escapes_messages() -> None:
    report = build_report("kernel 1", "acceptance", parse_output(OUTPUT), ["no question"] * 2)
    page = render_markdown(report)
    assert "2 passed, 1 failed, 1 skipped of 4 specs." in page
    assert "2 golden cases are left out: no question." in page
    assert "| log | 1 | 1 | 1 |\n| reader | 1 | 0 | 0 |" in page
    assert "| 1 | not explained | log.a b | c/specs/snapshot.json | `test panicked" in page
    assert r"failed: Expected \| metadata`" in page
