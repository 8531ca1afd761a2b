"""The simulation of a table of a billion files, and the page that is rendered from its measurements."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import backends
from helpers.backends import embedded_backend, list_backend, report_to_builtins
from helpers.selection import ROOT

from bench import invented_table
from bench.billion_page import render_billion_page
from bench.invented_table import InventedStore
from deltaspec.validation.data import listing_stage
from deltaspec.validation.options import Options

REPORTS = ROOT / "reports"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InventedStore:
    """An invented table of a few small files of the log."""
    monkeypatch.setattr(invented_table, "ADDS_PER_SIDECAR", 100)
    monkeypatch.setattr(invented_table, "FILES_PER_PARTITION", 40)
    monkeypatch.setattr(invented_table, "UNKNOWN", 50)
    monkeypatch.setattr(listing_stage, "FILES_OF_ONE_TASK", 0)
    store = InventedStore(250, str(tmp_path), constraint="id > 0")
    monkeypatch.setattr(backends, "open_store", lambda _: store)
    return store


@pytest.mark.parametrize("level", ["files", "rows"])
def test_invented_table_conforms_however_it_is_listed(level: Any, store: InventedStore) -> None:
    options = Options.create(level=level)
    expected = embedded_backend()("invented", options)
    assert (expected.verdict, expected.checked.not_checked) == ("conforms", [])
    assert expected.inventory is not None
    assert (expected.inventory.live_files, expected.inventory.unreferenced_files) == (250, 5)
    assert store.count_requests()["list"] == 1
    found = list_backend(3, 1)("invented", options)
    assert report_to_builtins(found) == report_to_builtins(expected)
    assert store.count_requests()["list"] > 10, "every part is listed"


def test_page_is_rendered_from_the_measurements() -> None:
    found = json.loads((REPORTS / "billion-files.json").read_text())
    assert (REPORTS / "billion-files.md").read_text() == render_billion_page(found), "run nox -s billion -- --sizes"
