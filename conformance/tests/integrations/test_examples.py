"""Examples in `conformance/examples` for Airflow, dbt and Jupyter.

Airflow and dbt are too heavy for the requirements of the tests, so small classes stand in for the base classes of their
plugins. They have only what the examples use.
"""

import importlib.util
import json
import logging
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.selection import ROOT

EXAMPLES = ROOT / "conformance/examples"
SOUND = ROOT / "golden-tables/log/log.append-remove/delta"
FAULTY = ROOT / "golden-tables/partition-values/partition-values.key-missing/delta"


def load_example(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    """Make a module importable that is not installed, with the packages that contain it."""
    package = name.rpartition(".")[0]
    if package and package not in sys.modules:
        stand_in(monkeypatch, package)
    module = ModuleType(name)
    module.__dict__.update(members, __path__=[])
    monkeypatch.setitem(sys.modules, name, module)


class TestAirflow:
    @pytest.fixture
    def example(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        class BaseOperator:
            def __init__(self, *, task_id: str) -> None:
                self.task_id = task_id
                self.log = logging.getLogger("airflow.task")

        class AirflowException(Exception):
            pass

        class AirflowFailException(AirflowException):
            pass

        errors = {each.__name__: each for each in (AirflowException, AirflowFailException)}
        stand_in(monkeypatch, "airflow.sdk", BaseOperator=BaseOperator)
        stand_in(monkeypatch, "airflow.sdk.exceptions", **errors)
        return load_example("airflow_operator.py")

    def test_sound_table_gives_a_result(self, example: ModuleType) -> None:
        task = example.ValidateDeltaTable(task_id="check", table=str(SOUND), level="rows")
        assert task.execute({}) == {"table": str(SOUND), "version": 3, "verdict": "conforms"}
        assert set(task.template_fields) <= vars(task).keys()

    def test_violation_fails_without_retries(self, example: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
        task = example.ValidateDeltaTable(task_id="check", table=str(FAULTY))
        with pytest.raises(example.AirflowFailException, match="1 violation"):
            task.execute({})
        assert "violation FIL007 partition-column-missing" in caplog.text

    def test_incomplete_run_may_be_tried_again(self, example: ModuleType) -> None:
        task = example.ValidateDeltaTable(task_id="check", table=str(SOUND), options={"revision": "r1"}, level="log")
        assert task.execute({})["verdict"] == "conforms"
        budget = example.ValidateDeltaTable(task_id="check", table=str(SOUND), options={"budget": 1e-9})
        with pytest.raises(example.AirflowException, match="INCOMPLETE") as raised:
            budget.execute({})
        assert not isinstance(raised.value, example.AirflowFailException)


class TestDbt:
    @pytest.fixture
    def example(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
        monkeypatch.chdir(tmp_path)
        stand_in(monkeypatch, "dbt.adapters.duckdb.plugins", BasePlugin=object)
        return load_example("dbt/deltaspec_dbt.py")

    def test_hook_of_the_model_validates_what_the_plugin_stores(self, example: ModuleType) -> None:
        model = (EXAMPLES / "dbt/models/orders.sql").read_text("utf-8")
        hook = model.partition('after_commit("')[2].partition('"')[0]
        pq.write_table(pa.table({"id": [1]}), "orders.parquet")
        target = SimpleNamespace(
            location=SimpleNamespace(path="orders.parquet"), config={"delta_location": "lake/orders"}
        )
        plugin = example.Plugin()
        plugin.store(target)
        with duckdb.connect() as connection:
            plugin.configure_connection(connection)
            assert connection.sql(hook).fetchall() == [("conforms",)]
            shutil.rmtree("lake/orders")
            shutil.copytree(FAULTY, "lake/orders")
            with pytest.raises(duckdb.InvalidInputException, match="FIL007 A file has no value"):
                connection.sql(hook).fetchall()

    def test_profile_names_the_plugin_of_the_model(self) -> None:
        profile = yaml.safe_load((EXAMPLES / "dbt/profiles.yml").read_text("utf-8"))["shop"]["outputs"]["dev"]
        (plugin,) = profile["plugins"]
        assert (EXAMPLES / "dbt" / f"{plugin['module']}.py").is_file()
        assert f"plugin='{plugin['alias']}'" in (EXAMPLES / "dbt/models/orders.sql").read_text("utf-8")


def test_cells_of_the_jupyter_notebook_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has no outputs: the last expression of each cell is evaluated here."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "validate_a_table.ipynb").read_text("utf-8"))
    cells = ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == "code"]
    values: dict[str, Any] = {}
    verdicts = []
    for cell in cells:
        exec(compile(cell, "cell", "exec"), values)
        if "report" in values:
            verdicts.append(values["report"].verdict)
    assert verdicts[0] == "conforms"
    assert verdicts[-1] == "violations"
    assert values["findings"]["rule"].to_list() == ["DAT002", "PQT001"]
    assert capsys.readouterr().out.startswith("DAT002 ")
    assert [each for each in notebook["cells"] if each.get("outputs", []) != []] == []
