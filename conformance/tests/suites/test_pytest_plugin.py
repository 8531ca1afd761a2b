"""The pytest plugin from the outside: what a user types and sees."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import write_table

pytest_plugins = ["pytester"]

ENGINES = Path(__file__).parents[1]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A directory outside of the checkout whose tests can import the faulty readers."""
    monkeypatch.setenv("PYTHONPATH", str(ENGINES))
    monkeypatch.syspath_prepend(str(ENGINES))
    return pytester


def run_suites(run: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    is_installed = bool(entry_points(group="pytest11", name="deltaspec"))  # then pytest loads it by itself
    plugin = ("-p", "no:cacheprovider", *(() if is_installed else ("-p", "deltaspec.pytest_plugin")))
    return run.runpytest_subprocess(*plugin, "--deltaspec-tables", "3", *arguments)


def test_suites_run_against_a_class(run: pytest.Pytester) -> None:
    engine = "py:deltaspec.candidates.reference.engine:Engine"
    result = run_suites(
        run, "--pyargs", "deltaspec.suites", "--deltaspec-candidate", engine, "--deltaspec-suite", "read"
    )
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] >= 6


def test_failure_shows_the_difference_and_how_to_run_it_again(run: pytest.Pytester) -> None:
    engine = "py:suites.faulty_readers:IgnoresUnknownFeatures"
    result = run_suites(run, "--pyargs", "deltaspec.suites", "--deltaspec-candidate", engine, "-k", "unknown-reader")
    assert result.parseoutcomes()["failed"] == 3
    result.stdout.fnmatch_lines(
        ["*the table was read, 20 rows, although the protocol lists an unknown reader feature*",
         f"*again: deltaspec replay refuse.broken-table/broken.unknown-reader-feature --candidate {engine}*"]
    )  # fmt: skip
    assert "Traceback" not in result.stdout.str()


def test_candidate_is_required(run: pytest.Pytester) -> None:
    result = run_suites(run, "--pyargs", "deltaspec.suites")
    result.stdout.fnmatch_lines(["*--deltaspec-candidate is missing*"])
    assert "pytest_plugin.py" not in result.stdout.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.slow("conformance/deltaspec/suites", "conformance/deltaspec/pytest_plugin.py")
def test_suite_in_a_repository_with_known_failures(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import deltaspec.pytest as delta

        TestProtocol = delta.suite(
            "suites.faulty_readers:IgnoresUnknownFeatures", suites=["refuse"], tables=0, known="known.toml"
        )
        """
    )
    known = """
        [[failure]]
        cases = ["refuse.broken-table/broken.{}*"]
        outcome = "failed"
        match = "the table was read"
        reason = "features are not read"
        """
    listed = run.path / "known.toml"
    entries = [known.format(name) for name in ("unknown-reader-feature", "reader-version-4", "largest-reader-version",
                                               "unsupported-type-change")]  # fmt: skip
    listed.write_text("".join(entries))
    result = run_suites(run)
    assert set(result.parseoutcomes()) == {"passed", "xfailed"}
    assert result.ret == 0
    listed.write_text("".join([*entries, known.format("nothing")]))
    result = run_suites(run)
    result.stdout.fnmatch_lines(["*known failures that match no case*", "*broken.nothing*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_assert_conformant_shows_the_findings(run: pytest.Pytester) -> None:
    files = build_table_with_data()
    write_table(files, run.path / "sound")
    files.missing.add("c.parquet")
    write_table(files, run.path / "broken")
    run.makepyfile(
        """
        import deltaspec.pytest as delta

        def test_sound():
            delta.assert_conformant("sound")

        def test_broken():
            delta.assert_conformant("broken", level="files")

        def test_fixture(assert_conformant):
            assert_conformant("sound")

        def test_broken_with_fixture(assert_conformant):
            assert_conformant("broken", level="files")
        """
    )
    result = run_suites(run)
    assert result.parseoutcomes() == {"passed": 2, "failed": 2}
    result.stdout.fnmatch_lines(["*test_broken_with_fixture*", "*DAT001*"])


def test_drawn_tables_support_the_features(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import json
        from pathlib import Path

        import deltaspec.pytest as delta
        from hypothesis import given, settings

        @settings(max_examples=5, deadline=None, database=None)
        @given(table=delta.tables(features={"deletionVectors"}))
        def test_reader(table):
            with table.write() as path:
                first = sorted(Path(path, "_delta_log").glob("*.json"))[0].read_text()
                protocol = next(json.loads(line) for line in first.splitlines() if '"protocol"' in line)
                assert "deletionVectors" in protocol["protocol"]["readerFeatures"]
            assert table.rows.num_rows >= 0
        """
    )
    assert run_suites(run).parseoutcomes() == {"passed": 1}


def test_drawn_tables_meet_further_restrictions(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import deltaspec.pytest as delta
        import pytest
        from deltaspec.errors import InvalidUsage
        from hypothesis import HealthCheck, given, settings

        @settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(table=delta.tables(partitioned=False, types=("string",)))
        def test_reader(table):
            assert set(map(str, table.rows.schema.types)) <= {"string", "int64"}

        def test_wrong_name():
            with pytest.raises(InvalidUsage, match="unknown type 'text'"):
                delta.tables(types=("text",))
        """
    )
    assert run_suites(run).parseoutcomes() == {"passed": 2}
