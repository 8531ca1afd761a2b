"""Examples that run deltaspec on a schedule: container image, Kubernetes, systemd and Dagster.

Neither a container runtime nor a cluster is part of the tests, so the commands of the image, the job and the service
run here, with a local lake in place of theirs.
"""

import configparser
import json
import re
import shlex
import shutil
import tomllib
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import Result
from helpers.cli import run
from helpers.raw_logs import RawLog
from helpers.selection import ROOT
from integrations.test_examples import EXAMPLES, FAULTY, SOUND, load_example, stand_in


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with a sound and a faulty table; nobody is told of it."""
    RawLog("plain").write(tmp_path / "lake/sound")
    shutil.copytree(FAULTY, tmp_path / "lake/faulty")
    for name in ("SLACK_URL", "MAIL_URL"):
        monkeypatch.setenv(name, "dbus://")
    return tmp_path / "lake"


def run_here(arguments: list[str], lake: Path, reports: str) -> Result:
    """Run the arguments of an example with the lake and a folder of this machine, without its message."""
    at = arguments.index("--notify")
    left = arguments[:at] + arguments[at + 2 :]
    local = [each.replace("s3://lake/", f"{lake}/").replace(reports, f"{lake.parent}/") for each in left]
    return run(*local)


def assert_reports(folder: Path) -> None:
    assert json.loads((folder / "known.json").read_bytes())["nights"]
    assert "deltaspec_table_verdict" in (folder / "deltaspec.prom").read_text("utf-8")
    assert "2 tables" in (folder / "site/index.html").read_text("utf-8")


INSTRUCTIONS = [
    line.partition(" ")
    for line in (EXAMPLES / "Dockerfile").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


class TestContainer:
    def test_image_installs_extras_that_exist_and_has_the_command(self) -> None:
        assert [name for name, _, _ in INSTRUCTIONS] == [
            *("FROM", "COPY", "RUN", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD")
        ]
        installed = next(rest for name, _, rest in INSTRUCTIONS if name == "RUN")
        extras = re.search(r"\[([a-z,]+)\]", installed)
        assert extras is not None
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()
        assert json.loads(INSTRUCTIONS[-2][2]) == ["deltaspec"]
        assert "deltaspec" in project["scripts"]
        assert run(*json.loads(INSTRUCTIONS[-1][2])).exit_code == 0
        python = re.fullmatch(r"python:3\.(\d+)-slim", INSTRUCTIONS[0][2])
        assert python is not None
        assert f"Programming Language :: Python :: 3.{python[1]}" in project["classifiers"]

    def test_command_of_the_comment_runs(self, lake: Path) -> None:
        comment = (EXAMPLES / "Dockerfile").read_text("utf-8").splitlines()[1]
        arguments = shlex.split(comment.partition(" deltaspec validate ")[2])
        local = [each.replace("/lake/", f"{lake}/").replace("/out/", f"{lake.parent}/") for each in arguments]
        assert run("validate", *local, "--level", "log").exit_code == 1
        assert (lake.parent / "site/index.html").is_file()


class TestKubernetes:
    def test_job_runs_and_writes_what_it_says(self, lake: Path) -> None:
        job = yaml.safe_load((EXAMPLES / "kubernetes/cronjob.yaml").read_text("utf-8"))
        assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
        pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
        result = run_here([*container["args"], "--level", "log"], lake, "/reports/")
        assert result.exit_code == 0, result.stderr
        assert_reports(lake.parent)


class TestSystemd:
    def read_unit(self, name: str) -> configparser.ConfigParser:
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment, method-assign]
        unit.read_string((EXAMPLES / "systemd" / name).read_text("utf-8"))
        return unit

    def test_service_runs_and_writes_what_it_says(self, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(lake.parent)
        service = self.read_unit("deltaspec.service")["Service"]
        program, command, *arguments = shlex.split(service["ExecStart"].replace("$$", "$"))
        assert (program, command) == ("/usr/bin/env", "deltaspec")
        assert "${env:MAIL_URL}" in arguments
        result = run_here([*arguments, "--level", "log"], lake, "\0")
        assert result.exit_code == int(service["SuccessExitStatus"])
        assert_reports(lake.parent)

    def test_timer_starts_the_service_every_night(self) -> None:
        timer = self.read_unit("deltaspec.timer")
        assert timer["Timer"]["OnCalendar"] == "*-*-* 03:00:00"
        assert timer["Install"]["WantedBy"] == "timers.target"
        assert (EXAMPLES / "systemd/deltaspec.service").is_file()


class TestDagster:
    @pytest.fixture
    def example(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """The example, with stand-ins for what it uses; `nox -s dagster` runs it in the real Dagster."""

        class AssetCheckSeverity(Enum):
            WARN = "WARN"
            ERROR = "ERROR"

        def asset_check(**arguments: Any) -> Any:
            return lambda function: SimpleNamespace(run=function, **arguments)

        stand_in(
            monkeypatch, "dagster", AssetCheckResult=SimpleNamespace, AssetChecksDefinition=object,
            AssetCheckSeverity=AssetCheckSeverity, asset_check=asset_check,
        )  # fmt: skip
        return load_example("dagster_check.py")

    def test_sound_table_passes(self, example: Any) -> None:
        check = example.build_delta_check("orders", str(SOUND), level="rows")
        assert (check.asset, check.blocking) == ("orders", True)
        result = check.run()
        assert result.passed
        assert result.metadata["version"] == 3

    def test_violation_is_an_error_and_names_the_rule(self, example: Any) -> None:
        result = example.build_delta_check("orders", str(FAULTY)).run()
        assert (result.passed, result.severity.name) == (False, "ERROR")
        assert result.metadata["FIL007"].startswith("1 × Readers fail")

    def test_incomplete_run_is_a_warning(self, example: Any) -> None:
        result = example.build_delta_check("orders", str(SOUND), budget=1e-9).run()
        assert (result.passed, result.severity.name) == (False, "WARN")
