"""Findings, ledgers and aggregates of buckets merge to those of the table, in any order."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.report.report_types import Inventory, NotChecked
from deltaspec.rules import RULES
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.ledger import Ledger
from deltaspec.views.data.data_files import data_files
from deltaspec.views.files.file_replay import REPLAY_COLUMNS
from deltaspec.views.log.derived_file_rows import LiveFileTotals

Row = dict[str, Any]


@st.composite
def rows_in_buckets(draw: st.DrawFn) -> tuple[list[Row], list[list[Row]]]:
    """Live data files, some of them missing, and the same rows shuffled and distributed to buckets."""
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "version": st.integers(0, 2),
                    "file": st.sampled_from(["a.json", "b.json", None]),
                    "line": st.sampled_from([1, 2, None]),
                    "kind": st.just("add"),
                    "path": st.sampled_from(["p", "q", "r"]),
                    "size": st.integers(0, 3),
                    "exists": st.sampled_from([True, False, None]),
                    "removed_since": st.sampled_from([False, True, None]),
                    "actual_size": st.sampled_from([None, 2]),
                }
            ),
            max_size=20,
        )
    )
    buckets: list[list[Row]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for row in draw(st.permutations(rows)):
        draw(st.sampled_from(buckets)).append(row)
    return rows, buckets


@settings(deadline=None)
@given(drawn=rows_in_buckets(), samples=st.integers(1, 4))
def test_merged_findings_equal_those_of_all_rows(drawn: tuple[list[Row], list[list[Row]]], samples: int) -> None:
    rows, buckets = drawn
    rules = [RULES["DAT001"], RULES["DAT002"]]
    complete, merged = Findings(rules, samples), Findings(rules, samples)
    complete.evaluate_rows(data_files, rows)
    for bucket in buckets:
        found = merged.copy_without_findings()
        found.evaluate_rows(data_files, bucket)
        merged.merge(found)
    assert merged.sorted_findings == complete.sorted_findings
    assert merged.totals == complete.totals
    assert set(map(repr, merged.not_checked)) == set(map(repr, complete.not_checked))
    assert merged.evaluated_views == complete.evaluated_views


def test_first_findings_by_location_are_kept() -> None:
    found = Findings([RULES["DAT001"]], 2)
    for name in ("d", "c", "b", "a"):
        location = {"version": 1, "file": "f", "line": 1, "kind": "add", "path": name}
        found.evaluate_rows(data_files, [{**location, "exists": False, "removed_since": False}])
    assert [each.path for each in found.sorted_findings] == ["a", "b"]
    assert found.totals == {"DAT001": 4}


ledger_entries = st.tuples(
    st.sampled_from(["R1", "R2"]),
    st.sampled_from(["missing", "unreadable", "unknown"]),
    st.sampled_from([None, *(f"file {number:02}" for number in range(30))]),
)


@settings(deadline=None)
@given(data=st.data(), added=st.lists(ledger_entries, max_size=80))
def test_merged_ledger_equals_that_of_all_entries(data: st.DataObject, added: list[tuple[str, str, str]]) -> None:
    complete, buckets = Ledger(), [Ledger() for _ in range(3)]
    for code, reason, file in added:
        complete.add_reason(code, reason, file)
    for code, reason, file in data.draw(st.permutations(added)):
        ledger = data.draw(st.sampled_from(buckets))
        ledger.add_reason(code, reason, file)
    merged = Ledger()
    for ledger in data.draw(st.permutations(buckets)):
        merged.merge(ledger)
    assert _sorted_entries(merged) == _sorted_entries(complete)


def _sorted_entries(ledger: Ledger) -> list[tuple[str, str, str]]:
    return sorted((each.rule, each.reason, each.file or "") for each in ledger.entries)


def test_reason_without_file_counts_once_however_often_it_is_added() -> None:
    ledger = Ledger()
    for _ in range(5):
        for number in range(22):
            ledger.add_reason("R", f"constraint {number:02}", None)
    assert [each.reason for each in ledger.entries] == [
        *(f"constraint {number:02}" for number in range(20)),
        "and 2 more locations",
    ]


def test_replace_reasons_leaves_one_entry() -> None:
    ledger = Ledger()
    for number in range(30):
        ledger.add_reason("R", "missing", f"{number}")
    ledger.add_reason("R", "unknown", None)
    ledger.replace_reasons("R", "refused")
    assert ledger.entries == [NotChecked(rule="R", reason="refused")]


def build_inventory(**numbers: Any) -> Inventory:
    every = {name: 0 for name in Inventory.__struct_fields__ if name not in ("unreferenced", "is_complete")}
    return Inventory(**{**every, "unreferenced": [], "is_complete": True, **numbers})


def build_live_totals(*sizes: int) -> LiveFileTotals:
    rows = [{**dict.fromkeys(REPLAY_COLUMNS), "size": each, "cardinality": 2**62} for each in sizes]
    return LiveFileTotals.from_files(pl.DataFrame(rows, schema=REPLAY_COLUMNS), None)


def build_aggregates() -> list[Aggregates]:
    one = Aggregates(live={1: build_live_totals(5)}, all_files_faults={1: (2, "b", "b is missing")}, older_files=[1, 0])
    one.adds_with_known_stats["derived_file x"].update({"x": 3})
    one.split_paths["derived_file x"] += 1
    one.kinds[4] |= {"add"}
    one.inventory = build_inventory(files=2, bytes=7, unreferenced=["c"], unreferenced_files=1)
    two = Aggregates(
        live={1: build_live_totals(6, 7), 2: build_live_totals()},
        all_files_faults={1: (1, "z", "lists z")},
        older_files=[2, 5],
    )
    two.adds_with_known_stats["derived_file x"].update({"x": 1, "y": 1})
    two.kinds[4] |= {"remove"}
    two.kinds[5] |= {"add"}
    two.rearranging = {5}
    two.inventory = build_inventory(files=1, bytes=1, unreferenced=["b"], unreferenced_files=1, is_complete=False)
    return [one, two, Aggregates()]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_aggregates_merge_in_any_order(order: tuple[int, ...]) -> None:
    total, parts = Aggregates(), build_aggregates()
    for number in order:
        total.merge(parts[number])
    assert (total.live[1].files, total.live[1].bytes) == (3, 18)
    assert (total.live[2].files, total.live[2].bytes) == (0, 0)
    assert total.all_files_faults == {1: (1, "z", "lists z")}
    assert total.older_files == [3, 5]
    assert total.adds_with_known_stats == {"derived_file x": {"x": 4, "y": 1}}
    assert total.split_paths == {"derived_file x": 1}
    assert total.rewriting == [4]
    assert total.rearranging == {5}
    assert total.inventory == build_inventory(
        files=3, bytes=8, unreferenced=["b", "c"], unreferenced_files=2, is_complete=False
    )


def test_totals_may_exceed_64_bits() -> None:
    assert build_live_totals(2**63 - 1, 2**63 - 1, 3).bytes == 2**64 + 1
    assert (build_live_totals(2**63 - 1) + build_live_totals(2**63 - 1)).bytes == 2**64 - 2
    assert build_live_totals(1, 1, 1).deleted_records == 3 * 2**62
