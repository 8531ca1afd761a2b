"""`deltaspec golden draw`: the cases are right, reproducible, and what was asked for."""

import json
from pathlib import Path

import pytest
from helpers.cli import run
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.golden.corpus import load_corpus
from deltaspec.golden.drawing import DrawnCases
from deltaspec.golden.drawn_defects import DRAWN_DEFECTS, DrawnDefect
from deltaspec.golden.drawn_output import write_drawn_cases
from deltaspec.golden.pair_coverage import cover_pairs
from deltaspec.golden.verification import verify_case
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.tables.corpus import draw_table
from deltaspec_generators.tables.restrictions import CHECKPOINT_KINDS, Restrictions

CASES = DrawnCases(5, Restrictions(forbidden=("variantShredding",)), refused=1.0)
FEW = DrawnCases(5, Restrictions(allowed=(), types=("string",)))


def draw(*arguments: str) -> tuple[int, str]:
    """Run the command in this process; return exit code and output."""
    result = run("golden", "draw", *arguments)
    return result.exit_code, result.output


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_reference_agrees_with_drawn_cases_and_refuses_broken_ones(tmp_path: Path) -> None:
    write_drawn_cases([(CASES, number) for number in range(8)], "folder", tmp_path / "cases", 1)
    cases = load_corpus(tmp_path / "cases").cases
    kinds = [case.description.expect.kind for case in cases]
    assert kinds.count("rows") == 8
    assert kinds.count("refuse") >= 6
    assert {case.id: found.problems for case in cases if (found := verify_case(case)).problems} == {}
    twins = {case.description.twin.id for case in cases if case.description.twin is not None}
    assert twins <= {case.id for case in cases}


def test_row_tracking_of_r2_has_its_high_water_mark_as_an_action(tmp_path: Path) -> None:
    cases = DrawnCases(5, Restrictions(required=("rowTracking",), revision="r2", versions=(2, 4)))
    write_drawn_cases([(cases, number) for number in range(3)], "folder", tmp_path / "cases", 1)
    logs = [path.read_text("utf-8") for path in (tmp_path / "cases").rglob("_delta_log/*.json")]
    assert ([log for log in logs if "rowIdHighWaterMark\\" in log], len(logs) > 3) == ([], True)
    assert [log for log in logs if '{"rowIdHighWaterMark":{"highWaterMark":' in log] != []
    found = load_corpus(tmp_path / "cases").cases
    assert [(case.description.spec.since, case.description.spec.until) for case in found] == [("r2", "r2")] * 3
    assert {case.id: problems for case in found if (problems := verify_case(case).problems)} == {}


@pytest.mark.parametrize("defect", DRAWN_DEFECTS, ids=lambda defect: defect.name)
def test_each_defect_applies_to_some_table(defect: DrawnDefect) -> None:
    applies = [number for number in range(60) if defect.plan(draw_table(SeededChoices(5, number))) is not None]
    assert applies != []


def test_ids_name_generator_seed_and_restrictions() -> None:
    assert FEW.prefix == "drawn.v2-s5-5b01a9"
    assert replace(FEW, seed=6).prefix != FEW.prefix
    assert replace(FEW, restrictions=Restrictions(allowed=())).prefix != FEW.prefix


def test_processes_and_order_do_not_matter(tmp_path: Path) -> None:
    plan = [(FEW, number) for number in range(10)]
    write_drawn_cases(plan, "folder", tmp_path / "one", 1)
    write_drawn_cases(plan[::-1], "folder", tmp_path / "two", 2)
    assert list_files(tmp_path / "one") == list_files(tmp_path / "two")


def test_pairs_are_covered() -> None:
    allowed = ("deletionVectors", "columnMapping", "v2Checkpoint")
    cases = DrawnCases(2, Restrictions(allowed=allowed, checkpoints=("classic", "v2-json")))
    found = cover_pairs(cases, 50)
    pairs = set()
    for drawn, number in found.chosen:
        table = drawn.draw(number)
        features = table.versions[-1].state.features
        pairs |= {
            (one, other)
            for one in features
            for other in (*features, *(kind for kind in CHECKPOINT_KINDS if f"checkpoint:{kind}" in table.dimensions))
        }
    wanted = {("columnMapping", "deletionVectors"), ("v2Checkpoint", "v2-json"), ("deletionVectors", "classic")}
    assert found.missing == []
    assert wanted <= pairs
    assert len(found.chosen) < 12


def test_pairs_that_no_table_has_are_named() -> None:
    cases = DrawnCases(2, Restrictions(allowed=("clustering",), partitioned=True, checkpoints=("classic",)))
    assert cover_pairs(cases, 3).missing == [("clustering", "classic")]


@pytest.mark.parametrize("layout", ["acceptance", "dat"])
def test_layouts(layout: str, tmp_path: Path) -> None:
    code, output = draw(str(tmp_path / "out"), "--tables", "3", "--refuse", "100%", "--format", layout)
    assert (code, "cases written" in output) == (0, True), output
    assert ("DAT has no tables that a reader refuses" in output) is (layout == "dat")
    (first, *_) = sorted((tmp_path / "out").iterdir())
    assert (first / "delta/_delta_log").is_dir()
    found = "specs/snapshot.json" if layout == "acceptance" else "expected/latest/table_version_metadata.json"
    assert json.loads((first / found).read_bytes())


def test_the_command_restricts_tables(tmp_path: Path) -> None:
    options = ("--features", "deletionVectors", "--partitioned", "--versions", "2-5", "--tables", "3")
    assert draw(str(tmp_path / "out"), *options)[0] == 0
    cases = load_corpus(tmp_path / "out").cases
    assert [case.id for case in cases if "deletionVectors" not in case.description.features.writer] == []
    assert {case.description.expect.version for case in cases} <= {1, 2, 3, 4}
    snapshots = {case.id: json.loads(case.read_file("specs/snapshot.json")) for case in cases}
    partitions = {name: each["expected"]["metadata"]["partitionColumns"] for name, each in snapshots.items()}
    assert [name for name, columns in partitions.items() if not columns] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--features", "vectors"), "unknown feature 'vectors'"),
        (("--versions", "a-b"), "is N or N-M"),
        (("--refuse", "0.5"), "is a percentage"),
        (("--features", "clustering", "--partitioned", "--tables", "1"), "none meets the restrictions"),
        (("--features", "v2Checkpoint", "--revision", "r1"), "no table of revision r1"),
    ],
)
def test_wrong_options_are_errors(options: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    code, output = draw(str(tmp_path / "out"), *options)
    assert code == 2
    assert expected in output
    assert not (tmp_path / "out").exists()


def test_a_filled_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(InvalidUsage, match="not empty"):
        write_drawn_cases([(FEW, 0)], "folder", tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
