"""Committed reports of engines, the pages that show them and the lists of known failures agree."""

import runpy
from pathlib import Path

import msgspec
import pytest

from deltaspec.golden.definition import load_cases
from deltaspec.matrix.builder import build_matrix
from deltaspec.matrix.matrix_file import compute_digest, read_matrix
from deltaspec.requirements import load_requirements
from deltaspec.suites.known_failures import load_known_failures
from deltaspec.suites.results import SuiteReport

ROOT = Path(__file__).parents[3]
KNOWN = ROOT / "reports/engines/known"


@pytest.mark.parametrize(
    ("script", "function", "page"),
    [
        ("run.py", "render_page", "engines/README.md"),
        ("run.py", "render_golden_page", "engines/golden/README.md"),
        ("run.py", "render_catalog_page", "engines/catalog/README.md"),
        ("run_writers.py", "render_page", "writers/histories.md"),
        ("run_faults.py", "render_page", "writers/README.md"),
        ("run_releases.py", "render_page", "releases.md"),
    ],
)
def test_page_shows_the_reports(script: str, function: str, page: str) -> None:
    render = runpy.run_path(str(ROOT / "conformance/engines" / script))[function]
    assert (ROOT / "reports" / page).read_text("utf-8") == render()


def test_matrix_shows_the_reports() -> None:
    """`nox -s matrix` builds it."""
    list_reports = runpy.run_path(str(ROOT / "conformance/engines/publish_matrix.py"))["list_reports"]
    matrix = build_matrix(list_reports())
    published = read_matrix(ROOT / "reports/matrix/matrix.json")
    assert msgspec.structs.replace(published, comparison=None) == matrix
    assert compute_digest(published) in (ROOT / "reports/matrix/matrix.html").read_text("utf-8")
    assert (ROOT / "reports/matrix/matrix.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("path", sorted(KNOWN.glob("*.toml")), ids=lambda each: each.stem)
def test_known_failures_link_to_findings_that_exist(path: Path) -> None:
    links = [each.link for each in load_known_failures(path) if each.link]
    assert [
        each for each in links if not each.startswith("https://") and not (ROOT / each / "README.md").exists()
    ] == []


def test_known_failures_of_golden_cases_name_requirements_that_exist() -> None:
    entries = [entry for path in sorted(KNOWN.glob("*.toml")) for entry in load_known_failures(path)]
    named = {each.requirement for each in entries if each.requirement}
    assert named
    assert named <= set(load_requirements())
    cases = {case.partition("/golden.")[2] for each in entries for case in each.cases} - {""}
    assert cases <= set(load_cases())


@pytest.mark.parametrize(
    "path", sorted(KNOWN.parent.rglob("*.json")), ids=lambda each: f"{each.parent.name}-{each.stem}"
)
def test_reports_have_no_failure_that_is_not_listed(path: Path) -> None:
    report = msgspec.json.decode(path.read_bytes(), type=SuiteReport)
    assert [each.case for each in report.cases if each.outcome.is_bad] == []
    known = KNOWN / f"{path.stem}{'-catalog' if path.parent.name == 'catalog' else ''}.toml"
    reasons = {each.reason for each in load_known_failures(known)} if known.exists() else set()
    assert {each.known_failure for each in report.cases if each.known_failure} <= reasons
