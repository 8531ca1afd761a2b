"""The benchmark: the registry of cases, the results as JSON, and the page that is rendered from them."""

import json
from pathlib import Path

import pytest
from helpers.selection import ROOT

from bench.cases import CASES, DELTASPEC, SERIES, Case, Target, get_table
from bench.page import SPARK_TABLE, check_targets, format_spread, render_page
from bench.results import CaseResult, Measurement, Results, ScaleRow, Session, load_results, save_results
from bench.run import PROGRAMS, describe_work, load_into_page_cache, parse_options, run_once, save
from deltaspec.scales import LEVELS

RESULTS = ROOT / "reports" / "bench.json"
SESSION = Session("2026-11-26", "abc1234", "Linux", 2, 24, "3.11.9", {"deltalake": "1.6.6"}, 0.25)
OTHER_SESSION = Session("2026-11-21", note="other work ran")
TARGETS = (
    *("tiny", "a", "a-spaced", "b", "c", "d", "e", "v2", "added-columns-1000"),
    *("vectors-1000000", "files-1000000", "since-1000000", "missing-300000"),
)


def build_result(
    own: float = 2.0, peer: float = 4.0, peer_name: str = "delta-rs", session: Session = SESSION
) -> CaseResult:
    spread = [own, own - 0.5, own + 0.5]
    measured = Measurement(spread, [each * 2 for each in spread], [300, 200, 400], "134 rules run")
    return CaseResult(session, {DELTASPEC: measured, peer_name: Measurement([peer], [peer], [100], "lists | it")})


def find_row(page: str, *starts: str) -> str:
    """Return the only row of the page that begins with these cells."""
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {' | '.join(starts)} |"))
    return row


# registry


@pytest.mark.parametrize("name", CASES)
def test_case_is_measurable(name: str) -> None:
    case = CASES[name]
    assert case.level in LEVELS
    assert set(case.peers) <= set(PROGRAMS)
    assert case.items > 0
    assert case.runs >= 1
    assert case.reads_data == (case.level in ("footers", "rows") and case.verdict == "conforms")
    assert case.target.ratio is None or case.peers


def test_every_target_is_a_case() -> None:
    assert tuple(name for name, case in CASES.items() if case.target != Target()) == TARGETS
    assert [name for name, case in CASES.items() if case.is_optional] == ["v2"]
    assert {name: CASES[name].runs for name in TARGETS} == {
        name: 3 if name in ("v2", "files-1000000", "since-1000000") else 5 for name in TARGETS
    }


def test_series_grow() -> None:
    for names in SERIES.values():
        cases = [CASES[name] for name in names]
        assert [case.items for case in cases] == sorted({case.items for case in cases}), f"{names=}"
        assert len({case.level for case in cases}) == 1, f"{names=}"
    assert {name for names in SERIES.values() for name in names} >= CASES.keys() - set(TARGETS)


@pytest.mark.parametrize("name", ["tiny", "columns-10", "metadata-100", "added-columns-100"])
def test_table_is_written_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_BENCH", str(tmp_path))
    table = get_table(name)
    lines = [line for path in (table / "_delta_log").iterdir() for line in path.read_text().splitlines()]
    assert sum("add" in json.loads(line) for line in lines) == CASES[name].files
    times = [path.stat().st_mtime_ns for path in (table / "_delta_log").iterdir()]
    assert get_table(name) == table
    assert [path.stat().st_mtime_ns for path in (table / "_delta_log").iterdir()] == times


# processes


def test_process_is_measured_and_a_failure_stops_the_run() -> None:
    measured = Measurement()
    command = PROGRAMS["imports"][:1]
    assert run_once([*command, "-c", "print(7)"], measured) == b"7\n"
    assert [len(each) for each in (measured.wall_seconds, measured.cpu_seconds, measured.megabytes)] == [1, 1, 1]
    assert measured.megabytes[0] > 1
    with pytest.raises(SystemExit, match="exit 3"):
        run_once([*command, "-c", "raise SystemExit(3)"], measured)
    assert len(measured.wall_seconds) == 1


def test_work_is_compared_with_the_case() -> None:
    case = Case("title", lambda _: None, items=1, files=7)
    report = {"table": "t", "verdict": "conforms", "checked": {"run": ["A", "B"], "not_applicable": ["C"]}}
    assert describe_work(DELTASPEC, json.dumps(report).encode(), case) == "2 rules run, 1 not applicable"
    with pytest.raises(SystemExit, match="verdict violations, expected conforms"):
        describe_work(DELTASPEC, json.dumps({**report, "verdict": "violations"}).encode(), case)
    assert "deltalake 1." in describe_work("delta-rs", b"7\n", case)
    with pytest.raises(SystemExit, match="expected 7 files, found 6"):
        describe_work("delta-rs", b"6\n", case)


def test_page_cache_gets_the_log_and_data_on_request(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.json").write_text("{}")
    load_into_page_cache(tmp_path, reads_data=True)
    (tmp_path / "data.parquet").symlink_to(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        load_into_page_cache(tmp_path, reads_data=False)


def test_options_refuse_unknown_cases_and_no_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_options(["--case", "d", "--case", "suites"]).case == ["d", "suites"]
    for arguments in (["--case", "z"], ["--runs", "0"], ["--program", "z"]):
        with pytest.raises(SystemExit):
            parse_options(arguments)
    assert "--runs must be at least 1" in capsys.readouterr().err


# results


def test_partial_run_replaces_only_its_rows(tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    row = ScaleRow("20 M files", "spark", [182.0], [310.4], "heap 2499", OTHER_SESSION)
    save_results(output, Results({}, [row]))
    save(output, "d", build_result(3.0, peer_name="pyarrow-footers"))
    save(output, "a", build_result(1.0, session=OTHER_SESSION))
    before = load_results(output)
    save(output, "d", build_result(2.0, peer_name="pyarrow-footers"))
    after = load_results(output)
    assert list(after.cases) == ["a", "d"]
    assert after.cases["a"] == before.cases["a"]
    assert after.cases["d"] != before.cases["d"]
    assert after.scale == [row]
    assert output.with_suffix(".md").read_text(encoding="utf-8") == render_page(after)


def test_results_of_another_structure_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    for text in ("{", '{"cases": []}'):
        path.write_text(text)
        with pytest.raises(SystemExit, match=r"bench\.json"):
            load_results(path)
        assert path.read_text() == text


def test_scale_rows_are_replaced_in_their_place() -> None:
    rows = [ScaleRow("20 M files", name, [1.0], [1.0], "1", SESSION) for name in ("embedded", "spark")]
    other = ScaleRow("5 GB rows", "spark", [1.0], [1.0], "1", SESSION)
    results = Results({}, [*rows, other])
    new = [ScaleRow("20 M files", name, [2.0], [1.0], "1", SESSION) for name in ("embedded", "delta")]
    results.replace_scale_rows(new)
    assert results.scale == [new[0], rows[1], new[1], other]


# page


def test_published_page_is_rendered_from_the_published_results() -> None:
    assert RESULTS.with_suffix(".md").read_text(encoding="utf-8") == render_page(load_results(RESULTS))


def test_page_lists_every_case_and_target_even_if_nothing_is_measured() -> None:
    page = render_page(Results())
    for name, case in CASES.items():
        assert f"| ({name}) {case.title}" in page
        for check in check_targets(case, None):
            assert f"| {check.target} | not measured | - |" in page, f"{name=}"
    assert "not measured, optional" in page


def test_page_shows_medians_ratios_and_sessions() -> None:
    page = render_page(Results({"a": build_result(), "c": build_result(1.0, session=OTHER_SESSION)}))
    title = f"(a) {CASES['a'].title}"
    row = find_row(page, title, "deltaspec")
    assert "| 2.00 [1.50-2.50] | 4.00 [3.00-5.00] | 300 [200-400] |  | 3 | 134 rules run | 1 |" in row
    assert "|  | delta-rs | 4.00 | 4.00 | 100 | 0.50 | 1 | lists \\| it | 1 |" in page
    assert "1. 2026-11-26; commit abc1234; Linux; 2 processors; 24 GiB; Python 3.11.9; deltalake 1.6.6;" in page
    assert "2. 2026-11-21; commit not recorded; other work ran" in page


def test_page_compares_start_and_floor_with_the_target() -> None:
    result = build_result(3.0, 4.0, "kernel-rs")
    result.programs["floor"] = Measurement([0.5, 0.75, 0.7], [1.0], [100], "")
    page = render_page(Results({"tiny": build_result(1.25), "a": result, "d": build_result()}))
    assert (
        find_row(page, f"(a) {CASES['a'].title}", "wall s")
        == f"| (a) {CASES['a'].title} | wall s | 1.25 | 4.00 | 3.00 |"
    )
    assert f"| (d) {CASES['d'].title}, level footers | wall s" not in page


@pytest.mark.parametrize(
    ("name", "floor", "row"),
    [
        ("v2", "floor", "CPU s | 2.0 | 110.0 | 4.0"),
        ("v2", "floor", "wall s | 2.50 | not measured | 2.00"),
        ("vectors-1000000", "floor-files", "wall s | 2.50 | 1.15 | 2.00"),
    ],
)
def test_page_compares_times_with_start_and_floor(name: str, floor: str, row: str) -> None:
    start, result = build_result(), build_result()
    start.programs[DELTASPEC].cpu_seconds = [0.5]
    result.programs[floor] = Measurement([1.0], [1.5], [100], "")
    page = render_page(Results({"tiny": start, name: result}))
    assert f"| ({name}) {CASES[name].title}" in page
    assert f"| {row} |" in page


@pytest.mark.parametrize(("own", "is_met"), [(4.0, True), (4.1, False)])
def test_ratio_target_is_compared_with_the_peer(own: float, is_met: bool) -> None:
    (check,) = check_targets(CASES["a"], build_result(own, 4.0, "kernel-rs"))
    assert (check.target, check.is_met) == ("wall: 1.0 x kernel-rs", is_met)


def test_other_targets_are_compared() -> None:
    case = Case(
        "t",
        lambda _: None,
        items=500_000,
        files=1,
        target=Target(wall_seconds=1.9, cpu_seconds=4, megabytes=250, item_microseconds=8),
    )
    found = [(each.target, each.measured, each.is_met) for each in check_targets(case, build_result())]
    assert found == [
        ("wall: 1.9 s", "2.00", False),
        ("CPU: 4 s", "4.0", True),
        ("peak: 250 MB", "300", False),
        ("CPU for each item: 8 µs", "8.0", True),
    ]


def test_growth_shows_the_cost_of_further_items() -> None:
    few, many = build_result(1.0), build_result(2.0)
    many.programs[DELTASPEC].megabytes = [390]
    page = render_page(Results({"metadata-100": few, "metadata-1000": many}))
    growth = page.partition("## Growth")[2]
    assert "| 100 | 1.00 [0.50-1.50] | 2.00 [1.00-3.00] | 300 [200-400] |  |  | 1 |" in growth
    # 2 s of CPU and 90 MB for 900 actions
    assert "|  | 1,000 | 2.00 [1.50-2.50] | 4.00 [3.00-5.00] | 390 | 2222.2 | 100000 | 1 |" in growth


def test_scale_rows_show_what_did_not_finish() -> None:
    rows = [
        ScaleRow("20 M files", "spark", [182.0], [310.4], "heap 2499", OTHER_SESSION),
        ScaleRow("20 M files", "delta", [], [], "", OTHER_SESSION, "stopped after 330 s"),
    ]
    page = render_page(Results({}, rows))
    assert "| 20 M files | spark | 182.0 | 310.4 | heap 2499 |  | 1 |" in page
    assert "|  | delta | - | - |  | stopped after 330 s | 1 |" in page


@pytest.mark.parametrize(
    ("own", "loads", "measured"),
    [
        ([90.0], {"delta (50 partitions)": [240.0], "delta (200 partitions)": [180.0]}, "0.50 | yes"),
        ([90.0], {"delta (50 partitions)": [170.0]}, "0.53 | **no**"),
        ([90.0], {"delta (50 partitions)": []}, "90.0 s; Delta Spark did not finish | -"),
        ([], {}, "not measured | -"),
    ],
)
def test_spark_is_compared_with_the_fastest_load(
    own: list[float], loads: dict[str, list[float]], measured: str
) -> None:
    rows = [ScaleRow(SPARK_TABLE, name, times, times, "", SESSION) for name, times in {"spark": own, **loads}.items()]
    title = "| Spark, 20 M files, warm session | wall: 0.5 x Delta Spark's load and count |"
    assert f"{title} {measured} |" in render_page(Results({}, rows))


def test_spread_has_no_range_for_one_value() -> None:
    assert [format_spread(values, ".1f") for values in ([], [1.0], [1.0, 3.0, 2.0])] == ["-", "1.0", "2.0 [1.0-3.0]"]
