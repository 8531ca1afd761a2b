"""`deltaspec doctor` reports on the environment; a run on Spark that cannot start reports why."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli import run, single_error_line

from deltaspec import __version__
from deltaspec.installation import build_install_command, build_nox_command
from deltaspec.validation.spark import environment
from deltaspec.validation.spark.session import find_cause_line
from deltaspec_generators.table_files import write_table
from planted_tables.bases import log_only

INSTALL = build_install_command("spark")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_table(log_only.build_table(), tmp_path / "t")
    return tmp_path / "t"


def forget_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo the imports of other tests in this process."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_pyspark(monkeypatch)
    monkeypatch.setitem(sys.modules, "pyspark", None)


def join_lines(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.split())


def without_java(*args: object) -> "subprocess.CompletedProcess[str]":
    """Run the command without Java on the PATH."""
    variables = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH", "COLUMNS")}
    return subprocess.run(
        [sys.executable, "-m", "deltaspec", *map(str, args)],
        capture_output=True, text=True, env=variables | {"PATH": "/nowhere"}, timeout=120, check=False,
    )  # fmt: skip


def create_java(folder: Path, version_line: str) -> Path:
    """Create a JAVA_HOME whose `java` prints this version line."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    program.chmod(0o755)
    return folder


class TestPackages:
    def test_installed_packages_are_listed(self) -> None:
        result = run("doctor")
        lines = result.stdout.splitlines()
        assert result.exit_code == 0
        assert lines[0] == f"ok       deltaspec: {__version__}"
        assert {"polars", "pyarrow", "click"} <= {line.split()[1].rstrip(":") for line in lines if line[:2] == "ok"}

    def test_json(self, table: Path) -> None:
        found = json.loads(run("doctor", table, "--format", "json").stdout)
        assert found["doctor_version"] == 2
        (last,) = found["checks"][-1:]
        assert last == {
            "status": "ok",
            "name": "table",
            "message": "this process can read it; its log has 3 files",
            "fix": None,
        }

    def test_candidates_are_listed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("DELTASPEC_HARNESSES", str(tmp_path))
        text = join_lines(run("doctor").stdout)
        assert "ok candidate deltalake: delta-rs can be tested" in text
        missing = f"delta-kernel-rs cannot be tested: program not found: {tmp_path / 'kernel_rust'}"
        assert f"note candidate kernel_rust: {missing} fix: {build_nox_command('harness_rust')}" in text

    def test_missing_table_is_a_problem(self, tmp_path: Path) -> None:
        result = run("doctor", tmp_path / "none")
        assert result.exit_code == 2
        assert f"problem table: {tmp_path / 'none'}: no such file or directory" in join_lines(result.stdout)


@pytest.mark.before_spark
class TestMissingSpark:
    def test_no_java(self, table: Path) -> None:
        problem = "no Java found on the PATH: install Java 17 or 21"
        result = without_java("validate", table, "--backend", "spark=local[2]")
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"deltaspec: Spark cannot be started: {problem}")
        assert len(result.stderr.splitlines()) == 1
        result = without_java("doctor", "--spark")
        assert (result.returncode, result.stderr) == (2, "")
        assert f"problem Java: {problem}" in join_lines(result.stdout)

    def test_java_home_without_java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        result = run("doctor", "--spark")
        assert result.exit_code == 2
        assert f"problem Java: JAVA_HOME is {tmp_path}, which has no bin/java" in join_lines(result.stdout)

    @pytest.mark.parametrize(
        ("version_line", "expected"),
        [
            ('openjdk version "11.0.2" 2019-01-15', "Java 11 is too old for Spark"),
            ('java version "1.8.0_292"', "Java 8 is too old for Spark"),
            ("nothing", "bin/java -version` prints no version"),
        ],
    )
    def test_unsuitable_java_is_a_problem(
        self, version_line: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(create_java(tmp_path, version_line)))
        result = run("doctor", "--spark")
        assert result.exit_code == 2
        assert expected in join_lines(result.stdout)
        assert "install Java 17 or 21" in join_lines(result.stdout)

    def test_java_17_or_later_is_accepted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for release in (17, 21, 99):
            monkeypatch.setenv(
                "JAVA_HOME", str(create_java(tmp_path / str(release), f'openjdk version "{release}.0.1"'))
            )
            assert environment.find_missing_requirement() is None, f"{release=}"

    @pytest.mark.usefixtures("no_pyspark")
    def test_no_pyspark(self, table: Path) -> None:
        result = run("validate", table, "--backend", "spark")
        assert result.exit_code == 2
        assert single_error_line(result) == f"deltaspec: Spark cannot be started: pyspark is not installed: {INSTALL}"
        result = run("doctor", "--spark=yarn")
        assert result.exit_code == 2
        assert result.stdout.splitlines()[0] == f"problem  pyspark: pyspark is not installed: {INSTALL}"
        assert result.stdout.count(INSTALL) == 1, "one cause has one fix"

    @pytest.mark.usefixtures("no_pyspark")
    def test_invalid_options_are_reported_before_spark_is_checked(self, table: Path) -> None:
        result = run("validate", table, "--backend", "spark", "--history", "none")
        assert (result.exit_code, single_error_line(result)) == (
            2,
            "deltaspec: invalid history 'none'; choose latest, all, or a number of versions from 1",
        )

    def test_old_pyspark(self, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        package = tmp_path / "packages" / "pyspark"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "version.py").write_text('__version__ = "3.4.1"\n')
        forget_pyspark(monkeypatch)
        monkeypatch.syspath_prepend(package.parent)
        problem = f"pyspark 3.4.1 is too old; version 3.5 or later is required: {INSTALL}"
        assert (
            single_error_line(run("validate", table, "--backend", "spark"))
            == f"deltaspec: Spark cannot be started: {problem}"
        )

    def test_missing_connect_packages_are_reported_without_requiring_java(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "grpc", None)
        monkeypatch.setenv("JAVA_HOME", "/nowhere")
        problem = environment.find_missing_requirement("sc://host")
        assert problem is not None
        assert problem.startswith("Spark Connect needs the packages grpcio")
        assert "pip install 'pyspark[connect]==" in problem

    def test_connect_server_not_running(self, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "find_client_problem", lambda: None)
        result = run("validate", table, "--backend", "spark=sc://user:secret@127.0.0.1:1/;token=secret")
        assert result.exit_code == 2
        assert (
            single_error_line(result)
            == "deltaspec: cannot connect to sc://127.0.0.1:1/: Connection refused; is the server running?"
        )

    def test_no_pandas(self, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pandas", None)
        problem = f"pandas is not installed: {INSTALL}"
        assert (
            single_error_line(run("validate", table, "--backend", "spark"))
            == f"deltaspec: Spark cannot be started: {problem}"
        )
        result = run("doctor", "--spark")
        assert (result.exit_code, result.stdout.splitlines()[1]) == (2, f"problem  pandas: {problem}")

    def test_yarn_without_configuration(self, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "find_java_problem", lambda: None)
        for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
            monkeypatch.delenv(name, raising=False)
        problem = "set YARN_CONF_DIR or HADOOP_CONF_DIR to the directory of the YARN configuration"
        result = run("validate", table, "--backend", "spark=yarn")
        assert (result.exit_code, single_error_line(result)) == (2, f"deltaspec: Spark cannot be started: {problem}")
        result = run("doctor", "--spark=yarn")
        assert (result.exit_code, f"problem cluster: {problem}" in join_lines(result.stdout)) == (2, True)
        monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
        assert environment.find_missing_requirement("yarn") is None

    @pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2"])
    def test_standalone_master_not_running(self, master: str, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "find_java_problem", lambda: None)
        result = run("validate", table, "--backend", f"spark={master}")
        assert result.exit_code == 2
        assert (
            single_error_line(result)
            == f"deltaspec: cannot connect to {master}: Connection refused; is the master running?"
        )

    def test_spark_home_without_spark(self, table: Path, tmp_path: Path) -> None:
        home = create_java(tmp_path / "java", 'openjdk version "17.0.1"')
        environ = {**os.environ, "JAVA_HOME": str(home), "SPARK_HOME": str(tmp_path)}
        result = subprocess.run(
            [sys.executable, "-m", "deltaspec", "validate", str(table), "--backend", "spark"],
            capture_output=True, text=True, env=environ, timeout=120, check=False,
        )  # fmt: skip
        problem = f"Spark cannot be started: SPARK_HOME is {tmp_path}, which has no bin/spark-submit"
        assert (result.returncode, result.stderr) == (2, f"deltaspec: {problem}\n")

    @pytest.mark.spark
    def test_unknown_spark_submit_options(self, table: Path) -> None:
        environ = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--bogus pyspark-shell"}
        result = subprocess.run(
            [sys.executable, "-m", "deltaspec", "validate", str(table), "--backend", "spark"],
            capture_output=True, text=True, env=environ, timeout=120, check=False,
        )  # fmt: skip
        assert result.returncode == 2
        assert result.stderr == "deltaspec: Spark cannot be started: Error: Unrecognized option: --bogus\n"


def test_invalid_master_is_rejected() -> None:
    result = run("doctor", "/some/table", "--spark=somewhere")
    assert result.exit_code == 2
    assert single_error_line(result).startswith("deltaspec: invalid Spark master 'somewhere'; examples are local[*], ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("one\ntwo", "one"),
        ("called o1.\n: java.lang.RuntimeException: java.io.IOException: no  disk\n\tat x", "no disk"),
        ("Usage\nError: Unrecognized option: --x\nmore", "Error: Unrecognized option: --x"),
    ],
)
def test_cause_is_taken_from_the_first_line_with_an_error(text: str, line: str) -> None:
    assert find_cause_line(text) == line
