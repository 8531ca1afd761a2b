"""Findings that the user accepts: every one is decided, whatever a report shows and however a run is distributed."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from helpers.backends import compare_reports, embedded_backend, list_backend
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from validation.test_fingerprint import add_commits, draw_table

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.report.report_types import AcceptEntry, Report
from deltaspec.rules import RULES
from deltaspec.validation.acceptance import Acceptance, RecordedFindings
from deltaspec.validation.baseline import KnownFinding, build_table_key, read_baseline, write_baseline
from deltaspec.validation.findings import Findings
from deltaspec.validation.fingerprint import compute_fingerprint
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.run import run_embedded
from deltaspec.views.data.data_files import data_files
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    add_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.faults.all_faults import PLANTED_FAULTS

DAY = 86_400_000
"""Milliseconds."""


def write_faulty_table(root: Path, *commits: list[str]) -> str:
    """Write a table whose files have paths with a tab: a finding of FIL001 for each."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    for version, names in enumerate(commits, 1):
        files.commits[version] = [add_action(f"{each}\t.parquet") for each in names]
    write_table(files, root)
    return str(root)


def validate(table: str, **options: Any) -> Report:
    return deltaspec.validate(table, **{"level": "log", "select": ["FIL", "LIN"], **options})


def record(table: str, baseline: Path, **options: Any) -> None:
    """Write a baseline with the findings of a table."""
    settings = RunSettings(recorded=RecordedFindings())
    run_embedded(table, Options.create(**{"level": "log", "select": ["FIL", "LIN"], **options}), settings)
    assert settings.recorded is not None
    key = build_table_key(settings.recorded.table_root, str(baseline))
    write_baseline(str(baseline), [change(each, table=key) for each in settings.recorded.findings])


def change(known: KnownFinding, **changes: Any) -> KnownFinding:
    return KnownFinding(**({name: getattr(known, name) for name in known.__struct_fields__} | changes))


def accept(rule: str = "FIL001", **more: Any) -> dict[str, Any]:
    return {"rule": rule, "reason": "legacy loader", **more}


def test_entry_accepts_findings_of_a_rule_below_a_path(tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path, ["day=1/a", "day=1/b"], ["day=2/c"])
    report = validate(table, accept=[accept(path="day=1/*", link="https://x/1")])
    assert (report.totals, report.counts["violation"], report.verdict) == ({"FIL001": 1}, 1, "violations")
    assert [each.path for each in report.findings] == ["day=2/c\t.parquet"]
    assert report.accepted_totals == {"FIL001": 2}
    assert [(each.finding.path, each.source, each.reason, each.link) for each in report.accepted] == [
        (f"day=1/{name}\t.parquet", "configuration", "legacy loader", "https://x/1") for name in "ab"
    ]
    assert {each.finding.fingerprint for each in report.accepted} == {
        compute_fingerprint(each.finding, table) for each in report.accepted
    }


@pytest.mark.parametrize(
    ("entry", "accepted"),
    [
        (accept("FIL"), 2),
        (accept("fil001"), 2),
        (accept("FIL007"), 0),
        (accept(path="a%20b\t.parquet"), 1),
        (accept(path="a b\t.parquet"), 1),
        (accept(path="_delta_log/*"), 0),
        (accept(path="*"), 2),
        (accept(path="A*"), 0),
        (accept("LIN", path="_delta_log/*"), 1),
        (accept("LIN", path="*.parquet"), 0),
    ],
)
def test_path_of_an_entry_is_that_of_the_data_file_or_else_of_the_log_file(
    entry: dict[str, Any], accepted: int, tmp_path: Path
) -> None:
    table = write_faulty_table(tmp_path, ["a%20b", "day=2/c"])
    commit = tmp_path / "_delta_log" / f"{1:020}.json"
    commit.write_text(commit.read_text() + "{}\n")
    report = validate(table, accept=[entry])
    assert sum(report.accepted_totals.values()) == accepted
    assert sum(report.totals.values()) + accepted == sum(validate(table).totals.values())


def test_first_entry_that_matches_gives_the_reason(tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path, ["a", "b"])
    first, second = accept(path="a*"), accept(reason="all others")
    report = validate(table, accept=[first, second])
    assert [each.reason for each in report.accepted] == ["legacy loader", "all others"]
    assert [(each.status, each.count) for each in report.accept] == [("used", 1), ("used", 1)]
    assert report.verdict == "conforms"


@pytest.mark.parametrize(("clock", "status"), [(DAY * 10, "used"), (DAY * 11 - 1, "used"), (DAY * 11, "expired")])
def test_entry_applies_until_its_last_day(clock: int, status: str, tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path, ["a"])
    report = validate(table, accept=[accept(until="1970-01-11")], clock=clock)
    assert [each.status for each in report.accept] == [status]
    assert report.totals == ({"FIL001": 1} if status == "expired" else {})


def test_entry_without_clock_expires_by_the_current_day(tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path, ["a"])
    report = validate(table, accept=[accept(until="2024-01-31"), accept(until="9999-12-31")])
    assert [(each.status, each.count) for each in report.accept] == [("expired", 0), ("used", 1)]


def test_entry_is_unused_only_if_its_rules_were_decided(tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path, ["a"])
    entries = [accept("FIL007"), accept(path="b*"), accept("DAT001"), accept("FIL")]
    assert [each.status for each in validate(table, accept=entries, select=None).accept] == [
        *("unused", "unused", "not checked", "used"),
    ]
    selected = validate(table, accept=[accept("FIL007")], select="FIL001")
    assert [each.status for each in selected.accept] == ["not checked"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["FIL001"], r"accept\[0\]: expected a table with the keys rule, path, reason, link, until"),
        ([accept(), {"rule": "FIL001"}], r"accept\[1\]: reason is missing"),
        ([{"reason": "x"}], r"accept\[0\]: rule is missing"),
        ([accept("NOPE")], r"accept\[0\].rule: unknown rule 'NOPE'"),
        ([accept(until="soon")], r"accept\[0\].until: expected a date such as 2027-01-31"),
        ([accept(until=3)], r"accept\[0\].until: expected a date"),
        ([accept(pth="x")], r"accept\[0\].pth: unknown key \(did you mean path\?\)"),
        ([accept(path=" ")], r"accept\[0\].path: expected a text"),
        ("FIL001", "invalid accept 'FIL001'; expected a list"),
    ],
)
def test_invalid_entry_is_refused(entries: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidUsage, match=message):
        validate(str(tmp_path), accept=entries)


def test_baseline_accepts_what_is_known_and_nothing_else(tmp_path: Path) -> None:
    baseline = tmp_path / "b.json"
    table = write_faulty_table(tmp_path / "t", ["a", "b"])
    record(table, baseline)
    known = validate(table, baseline=str(baseline))
    assert (known.verdict, known.totals, known.accepted_totals) == ("conforms", {}, {"FIL001": 2})
    assert known.baseline is not None
    assert (known.baseline.known, known.baseline.new, known.baseline.gone) == (2, 0, 0)
    write_faulty_table(tmp_path / "t", ["b"], ["c"], ["d"])
    changed = validate(table, baseline=str(baseline))
    assert changed.totals == {"FIL001": 2}
    assert [each.path for each in changed.findings] == ["c\t.parquet", "d\t.parquet"]
    assert changed.baseline is not None
    assert (changed.baseline.known, changed.baseline.new, changed.baseline.gone) == (1, 2, 1)
    assert not known.baseline.gone


@pytest.mark.parametrize("samples", [1, 2, 1000])
def test_findings_that_a_report_does_not_show_are_decided_too(samples: int, tmp_path: Path) -> None:
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", [f"a{number}" for number in range(20)]), baseline)
    write_faulty_table(tmp_path / "t", [f"a{number}" for number in range(20)], ["zz"])
    report = validate(table, baseline=str(baseline), samples=samples)
    assert [each.path for each in report.findings] == ["zz\t.parquet"]
    assert (report.totals, report.accepted_totals) == ({"FIL001": 1}, {"FIL001": 20})
    assert len(report.accepted) == min(samples, 20)
    accepted = validate(table, accept=[accept(path="a*")], samples=samples)
    assert (accepted.totals, accepted.accepted_totals) == ({"FIL001": 1}, {"FIL001": 20})
    assert [each.path for each in accepted.findings] == ["zz\t.parquet"]


@pytest.mark.parametrize("samples", [1, 1000])
def test_more_findings_than_the_baseline_has_are_new(samples: int, tmp_path: Path) -> None:
    """They have the same fingerprint, so the last in report order count as new: later versions come last."""
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", ["a"], ["b"], ["a"]), baseline)
    write_faulty_table(tmp_path / "t", ["a"], ["b"], ["a"], *[["a"]] * 3)
    report = validate(table, baseline=str(baseline), samples=samples)
    assert (report.totals, report.accepted_totals) == ({"FIL001": 3}, {"FIL001": 3})
    assert [each.version for each in report.findings] == [4, 5, 6][-samples:]
    assert report.verdict == "violations"


def test_many_findings_with_one_fingerprint_are_counted(tmp_path: Path) -> None:
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", *[["a", "b"]] * 15), baseline)
    assert [each.count for each in read_baseline(str(baseline))] == [15, 15]
    write_faulty_table(tmp_path / "t", *[["a", "b"]] * 15, *[["b"]] * 13)
    report = validate(table, baseline=str(baseline))
    assert (report.totals, report.accepted_totals) == ({"FIL001": 13}, {"FIL001": 30})
    assert {each.path for each in report.findings} == {"b\t.parquet"}
    assert [each.version for each in report.findings] == list(range(19, 29)), "ten of a fingerprint are kept"


def test_rewritten_commits_keep_the_baseline_valid(tmp_path: Path) -> None:
    """The same faults in other commits and lines are known."""
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", ["a", "b"], ["c"]), baseline)
    write_faulty_table(tmp_path / "t", [], ["c", "x"], [], ["b"], ["a"])
    report = validate(table, baseline=str(baseline))
    assert [each.path for each in report.findings] == ["x\t.parquet"]
    assert report.accepted_totals == {"FIL001": 3}


@pytest.mark.parametrize("history", ["latest", "all"])
@pytest.mark.parametrize("later", [*("checkpoint", "cleanup", "two checkpoints", "compaction", "remove", "vectors")])
def test_actions_that_are_repeated_in_the_log_are_known(later: str, history: str, tmp_path: Path) -> None:
    """Checkpoints repeat faulty actions of commits; a remove, and an add with a vector, the faulty path of an add."""
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    options: Any = {"history": history, "select": ["FIL001", "MET"]}
    files = build_table_with_faulty_actions()
    write_table(files, tmp_path / "t")
    record(table, baseline, **options)
    repeat_actions(files, later)
    shutil.rmtree(table)
    write_table(files, tmp_path / "t")
    report = validate(table, baseline=str(baseline), **options)
    assert (report.totals, report.verdict) == ({}, "conforms")
    assert report.accepted_totals.keys() == {"FIL001", "MET001"}
    assert report.baseline is not None
    assert report.baseline.gone == 0
    files.commits[5] = [add_action("c\t.parquet"), add_action("a\t.parquet")]
    write_table(files, tmp_path / "t")
    assert validate(table, baseline=str(baseline), **options).totals == {"FIL001": 1 if later == "cleanup" else 2}


def build_table_with_faulty_actions() -> TableFiles:
    """A table whose metadata and first two files are faulty."""
    files = TableFiles()
    metadata = metadata_action([("id", "long")])
    metadata["metaData"]["id"] = "sales"
    files.commits[0] = [protocol_action(1, 2), metadata]
    files.commits[1] = [add_action("a\t.parquet"), add_action("b\t.parquet")]
    files.commits |= {version: [add_action(f"{version}.parquet")] for version in range(2, 5)}
    return files


def repeat_actions(files: TableFiles, later: str) -> None:
    """Repeat the actions of commits in other files of the log, or remove a file."""
    last = {"checkpoint": [2], "cleanup": [2], "two checkpoints": [1, 3]}.get(later, [])
    for version in last:
        rows = [action for number in range(version + 1) for action in files.commits[number]]
        files.checkpoints.append(CheckpointFiles(version, rows=rows))
    if later == "cleanup":
        del files.commits[0], files.commits[1]
    elif later == "compaction":
        files.compactions[1, 3] = [action for number in (1, 2, 3) for action in files.commits[number]]
    elif later == "remove":
        files.commits[4] = [remove_action(add_action("a\t.parquet"))]
    elif later == "vectors":
        added = add_action("a\t.parquet")
        for version in (3, 4):
            vector = {
                "storageType": "u",
                "pathOrInlineDv": f"{version}" * 20,
                "sizeInBytes": 40,
                "cardinality": version,
            }
            replaced, added = added, add_action("a\t.parquet", deletionVector=vector)
            files.commits[version] = [remove_action(replaced), added]


def test_entries_come_before_the_baseline(tmp_path: Path) -> None:
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", ["a", "b"]), baseline)
    report = validate(table, baseline=str(baseline), accept=[accept(path="a*")])
    assert [each.source for each in report.accepted] == ["configuration", "baseline"]
    assert report.baseline is not None
    assert (report.baseline.known, report.baseline.gone, report.accept[0].count) == (1, 1, 1)


def test_findings_of_rules_that_did_not_run_are_not_gone(tmp_path: Path) -> None:
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    record(write_faulty_table(tmp_path / "t", ["a"]), baseline)
    report = validate(table, baseline=str(baseline), select="FIL007")
    assert report.baseline is not None
    assert (report.baseline.gone, report.verdict) == (0, "conforms")


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED_FAULTS)
def test_baseline_has_every_fault_and_later_commits_keep_it_valid(name: str, tmp_path: Path) -> None:
    fault, baseline, root = PLANTED_FAULTS[name], tmp_path / "b.json", tmp_path / "t"
    files = draw_table(fault)
    if not files.commits:
        return
    options: Any = {"level": fault.level, "clock": files.clock_ms, "select": None}
    write_table(files, root)
    before = deltaspec.validate(str(root), samples=1_000_000, **options)
    record(str(root), baseline, **options)
    recorded = Counter({each.fingerprint: each.count for each in read_baseline(str(baseline))})
    found = Counter(each.fingerprint for each in before.findings)
    assert recorded.keys() == found.keys()
    assert recorded <= found
    write_table(add_commits(files, 2), root)
    plain, known = (deltaspec.validate(str(root), baseline=file, **options) for file in (None, str(baseline)))
    assert sum(known.accepted_totals.values()) + sum(known.totals.values()) == sum(plain.totals.values())
    if set(plain.totals.items()) <= set(before.totals.items()):
        assert (known.totals, known.counts["violation"]) == ({}, 0)


@pytest.mark.parametrize("samples", [1, 1000])
def test_backends_accept_the_same_findings(samples: int, tmp_path: Path) -> None:
    baseline, table = tmp_path / "b.json", str(tmp_path / "t")
    names = [f"day={number % 3}/{number}" for number in range(12)]
    record(write_faulty_table(tmp_path / "t", names, names[:4]), baseline)
    write_faulty_table(tmp_path / "t", names, names[:4], names[2:6], ["new"])
    backends = {"spilled": embedded_backend(0, 3), "executors": list_backend(4, 1)}
    options: Any = {"accept": [accept(path="day=0/*")], "baseline": str(baseline), "samples": samples}
    assert compare_reports(table, backends, **options) == []
    report = validate(table, **options)
    assert (report.totals, report.accepted_totals) == ({"FIL001": 4}, {"FIL001": 17})


def test_resumed_run_has_the_same_accepted_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, table, state = tmp_path / "b.json", str(tmp_path / "t"), str(tmp_path / "state")
    record(write_faulty_table(tmp_path / "t", ["a", "b"]), baseline)
    write_faulty_table(tmp_path / "t", ["a", "b", "c"], ["a", "d"])
    options: Any = {"baseline": str(baseline), "accept": [accept(path="c*")]}
    with monkeypatch.context() as patched:
        patched.setattr("deltaspec.validation.run.build_report", interrupt)
        with pytest.raises(KeyboardInterrupt):
            validate(table, state=state, **options)
    first = validate(table, state=state, resume=True, **options)
    assert first == validate(table, **options)
    assert (first.totals, first.accepted_totals) == ({"FIL001": 2}, {"FIL001": 3})
    for changed in ({"accept": []}, {"baseline": None}):
        with pytest.raises(InvalidUsage, match=r"the set of accepted findings|--baseline"):
            validate(table, state=state, resume=True, **{**options, **changed})
    record(str(tmp_path / "t"), baseline)
    with pytest.raises(InvalidUsage, match="the set of accepted findings differs"):
        validate(table, state=state, resume=True, **options)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_file_of_all_findings_has_accepted_ones_too(tmp_path: Path) -> None:
    table = write_faulty_table(tmp_path / "t", ["a", "b"])
    every = str(tmp_path / "all.parquet")
    validate(table, accept=[accept(path="a*")], findings_out=every)
    assert pl.read_parquet(every)["path"].to_list() == ["a\t.parquet", "b\t.parquet"]


@st.composite
def rows_in_buckets(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Missing data files, many with the same fingerprint, and the same rows shuffled and distributed to buckets."""
    location = {"version": st.integers(0, 9), "file": st.sampled_from(["a.json", None]), "line": st.integers(1, 2)}
    row = st.fixed_dictionaries({**location, "path": st.sampled_from("pqr"), "size": st.integers(0, 2)})
    missing = {"kind": "add", "exists": False, "removed_since": False}
    rows = [{**each, **missing} for each in draw(st.lists(row, max_size=25))]
    buckets: list[list[dict[str, Any]]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for each in draw(st.permutations(rows)):
        draw(st.sampled_from(buckets)).append(each)
    return rows, buckets


@example_settings(60)
@given(rows_in_buckets(), st.integers(1, 12), st.dictionaries(st.sampled_from("pqr"), st.integers(1, 9)))
def test_merged_acceptance_equals_that_of_all_rows(
    drawn: tuple[list[dict[str, Any]], list[list[dict[str, Any]]]], samples: int, known: dict[str, int]
) -> None:
    rows, buckets = drawn
    by_path = {each.path: compute_fingerprint(each) for each in evaluate(rows, None, 1000).sorted_findings}
    allowed = {
        by_path[path]: KnownFinding(table="", rule="DAT001", subject=path, fingerprint=by_path[path], count=number)
        for path, number in known.items()
        if path in by_path
    }
    acceptance = Acceptance(entries=(AcceptEntry(rule="DAT", path="r", reason="x"),), known=allowed, table_root=None)
    complete, merged = evaluate(rows, acceptance, samples), evaluate([], acceptance, samples)
    for bucket in buckets:
        found = merged.copy_without_findings()
        found.evaluate_rows(data_files, bucket)
        found.acceptance = None
        merged.merge(found)
    assert merged.totals == complete.totals
    assert merged.sorted_findings == complete.sorted_findings
    assert merged.accepted.list_accepted(acceptance) == complete.accepted.list_accepted(acceptance)
    total = Counter(each["path"] for each in rows)
    new = {path: max(total[path] - known.get(path, 0), 0) for path in "pq"}
    assert merged.totals.total() == sum(new.values())
    assert merged.accepted.count_accepted(acceptance).total() == len(rows) - sum(new.values())


def evaluate(rows: list[dict[str, Any]], acceptance: Acceptance | None, samples: int) -> Findings:
    found = Findings([RULES["DAT001"]], samples)
    found.acceptance = acceptance
    found.evaluate_rows(data_files, rows)
    return found
