"""The suite catalog: the reference passes it, and an engine that knows no catalog is asked about the path alone."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit
from deltaspec.suites.kit_catalog import KitCatalog
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.runner import build_suite_plan, run_suite_plan
from deltaspec_generators.catalog_managed import stage
from deltaspec_generators.catalog_tables import CATALOG_TABLES, NEWEST, build_managed
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.table_files import write_table
from deltaspec_generators.tables.catalog_managed import draw_catalog_managed_table

DRAWN = 12


def run_catalog(engine: Any, *, drawn: int = 0) -> list[CaseResult]:
    """Ask an engine everything about catalog-managed tables, except whether it refuses to read them by their path."""
    plan = build_suite_plan(("catalog", "refuse"), 1, drawn, select=lambda case: "catalog" in case)
    return [result for done in run_suite_plan(lambda: InProcess(engine), plan) for result in done.results]


def test_reference_passes() -> None:
    results = run_catalog(Engine(), drawn=DRAWN)
    assert [f"{each.case}: {each.message}" for each in results if each.outcome is not Outcome.PASSED] == []
    asked = Counter(each.check for each in results)
    assert asked["catalog.rows"] == asked["catalog.state"] == len(CATALOG_TABLES) + DRAWN
    assert asked["catalog.race"] == asked["catalog.publishing"] == asked["catalog.commit"] == 3
    assert asked["catalog.append-by-path"] == 1
    assert asked["refuse.broken-table"] == 3
    assert asked["catalog.no-later-version"] >= 1


class _WithoutCatalog(Engine):
    """An engine that refuses catalog-managed tables, because it cannot be told what their catalog knows."""

    def hello(self) -> dict[str, Any]:
        features = super().hello()
        del features["catalog"]
        kept = [name for name in features["reader_features"] if name != "catalogManaged"]
        return {**features, "reader_features": kept}


def test_engine_without_catalog_is_asked_about_the_path_alone() -> None:
    results = run_catalog(_WithoutCatalog(), drawn=2)
    passed = {each.check for each in results if each.outcome is Outcome.PASSED}
    by_path = {f"catalog.{kind}-by-path" for kind in ("append", "checkpoint", "vacuum", "optimize")}
    readable = {"catalog.rows", "catalog.state", "catalog.every-version"}
    assert passed == {"refuse.broken-table", *by_path, *readable}
    by_outcome = Counter(each.outcome for each in results)
    assert set(by_outcome) == {Outcome.PASSED, Outcome.NOT_ASKED}
    assert {each.table for each in results if each.check in readable and each.outcome is Outcome.PASSED} == {
        "catalog.downgraded"
    }


class _Weak(_WithoutCatalog):
    """An engine that writes to the table by path after it has reported the table as missing."""

    def apply(self, table: str, **request: Any) -> dict[str, Any]:
        try:
            return super().apply(table, **request)
        except EngineError as error:
            raise EngineError("not-found", str(error)) from error


def test_refusal_by_path_for_another_reason_is_weak() -> None:
    outcomes = {each.check: each.outcome for each in run_catalog(_Weak()) if each.check.endswith("by-path")}
    assert set(outcomes.values()) == {Outcome.WEAK}


class _Untidy(_WithoutCatalog):
    """An engine that writes the commit and then refuses the table."""

    def apply(self, table: str, **request: Any) -> dict[str, Any]:
        try:
            return super().apply(table, **request)
        except EngineError:
            (Path(table) / "_delta_log" / f"{2:020d}.json").write_text("{}")
            raise


def test_refusal_after_a_change_of_the_log_fails() -> None:
    failed = {each.check: each.message for each in run_catalog(_Untidy()) if each.outcome is Outcome.FAILED}
    assert (
        "but the table changed; files changed: _delta_log/00000000000000000002.json" in failed["catalog.append-by-path"]
    )


@pytest.fixture
def catalog(tmp_path: Path) -> KitCatalog:
    """Return the catalog of a table with published versions 0 to 4, and two staged commits of version 5."""
    files = build_managed()
    for attempt in (1, 2):
        stage(files, NEWEST + 1, [{"commitInfo": {"txnId": f"attempt-{attempt}"}}], attempt=attempt)
    stage(files, NEWEST + 2, [{"commitInfo": {"txnId": "early"}}])
    write_table(files, tmp_path)
    return KitCatalog(tmp_path, CatalogAnswer(NEWEST))


def list_staged(catalog: KitCatalog) -> list[str]:
    return sorted(path.name for path in (catalog.log / "_staged_commits").iterdir())


def test_catalog_ratifies_a_version_once_and_in_order(catalog: KitCatalog) -> None:
    first, second, early = list_staged(catalog)
    assert not catalog.ratify(early), "version 5 is not ratified yet"
    assert catalog.ratify(first)
    assert not catalog.ratify(second), "version 5 is ratified"
    assert catalog.ratify(first), "a request is repeated if its answer was lost"
    assert catalog.ratify(early)
    assert catalog.answer == CatalogAnswer(6, (RatifiedCommit(5, staged=first), RatifiedCommit(6, staged=early)))
    assert not catalog.ratify("00000000000000000007.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"), "there is no such file"


def test_catalog_reports_what_is_not_published(catalog: KitCatalog) -> None:
    first, *_ = list_staged(catalog)
    catalog.ratify(first)
    assert catalog.find_publishing_fault() == "version 5 was not published"
    published = catalog.log / f"{5:020d}.json"
    published.write_text("{}")
    assert catalog.find_publishing_fault() == "the published file of version 5 differs from the ratified commit"
    published.write_bytes((catalog.log / "_staged_commits" / first).read_bytes())
    assert catalog.find_publishing_fault() is None
    catalog.forget_published()
    assert catalog.answer == CatalogAnswer(5)


def test_drawn_tables_have_every_mixture() -> None:
    tables = [draw_catalog_managed_table(SeededChoices(1, number)) for number in range(60)]
    plans = [table.history[-1] for table in tables]
    assert [each for each in plans if "nothing is published" in each] != []
    assert [each for each in plans if "not any more" in each] != []
    assert [each for each in plans if "since version 0;" not in each] != []
    known = [table.catalog for table in tables if table.catalog is not None]
    kinds = {frozenset(each.content is None for each in answer.commits) for answer in known}
    assert kinds == {frozenset(), frozenset({True}), frozenset({False}), frozenset({True, False})}
    newest = [(max(table.files.commits, default=-1), table.catalog) for table in tables]
    assert [answer for version, answer in newest if answer is not None and version > answer.latest_version] != []
    checkpoints = [(each.version, table) for table in tables for each in table.files.checkpoints]
    assert checkpoints
    assert [version for version, table in checkpoints if version > max(table.files.commits)] == []
