"""The composite action for GitHub: its step runs as a runner would run it, and the tables decide the exit code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.selection import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / ".github/actions/validate/action.yml").read_text("utf-8"))
TABLES = {"sound": "log/log.append-remove", "faulty": "partition-values/partition-values.key-missing"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, case in TABLES.items():
        shutil.copytree(ROOT / "golden-tables" / case / "delta", tmp_path / "tables" / name)
    return tmp_path


def run_step(workspace: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Run the step that validates. Return its exit code, its output, and its outputs for other steps."""
    (step,) = (each for each in ACTION["runs"]["steps"] if each.get("id") == "validate")
    values = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | inputs
    expression = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")
    variables = {name: expression.sub(lambda found: values[found[1]], text) for name, text in step["env"].items()}
    files = {name: str(workspace / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]  # as runners do
    environment = {**os.environ, **variables, **files, "PATH": path}
    done = subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    outputs = dict(line.split("=", 1) for line in Path(files["GITHUB_OUTPUT"]).read_text("utf-8").splitlines())
    return done.returncode, done.stdout, outputs


def test_findings_are_annotations_a_summary_and_sarif(workspace: Path) -> None:
    code, output, outputs = run_step(workspace, tables="tables/*")
    assert (code, outputs) == (1, {"exit-code": "1"})
    (annotation,) = (line for line in output.splitlines() if line.startswith("::error "))
    assert "FIL007" in annotation
    assert "FIL007" in (workspace / "github_step_summary").read_text("utf-8")
    runs = json.loads((workspace / "deltaspec.sarif").read_text("utf-8"))["runs"]
    assert [[each["ruleId"] for each in run["results"]] for run in runs] == [["FIL007"], []]


def test_sound_tables_pass(workspace: Path) -> None:
    code, output, outputs = run_step(workspace, tables="tables/sound", level="rows", options="--history all --quiet")
    assert (code, outputs) == (0, {"exit-code": "0"})
    assert "::error" not in output


def test_missing_table_is_an_error(workspace: Path) -> None:
    code, _, outputs = run_step(workspace, tables="tables/gone")
    assert (code, outputs) == (2, {"exit-code": "2"})


def test_steps_read_only_declared_inputs() -> None:
    text = (ROOT / ".github/actions/validate/action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])
