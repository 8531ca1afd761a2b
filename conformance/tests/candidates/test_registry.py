"""Candidates are found by name, command and class; errors say what to do."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from deltaspec.candidates import registry
from deltaspec.candidates.messages import Scan
from deltaspec.candidates.registry import ADAPTERS, find_launch, find_missing_requirement, list_adapters, open_candidate
from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command

NAMES = {
    "deltalake",
    "delta_spark",
    "kernel_java",
    "delta_standalone",
    "kernel_rust",
    "sail",
    "duckdb",
    "chdb",
    "polars",
    "daft",
    "reference",
}


def write_program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_every_adapter_is_listed_with_what_it_needs() -> None:
    assert set(ADAPTERS) >= NAMES | {"daft"}
    assert [adapter.name for adapter, _ in list_adapters()] == list(ADAPTERS)
    assert find_missing_requirement(ADAPTERS["deltalake"]) is None


@pytest.mark.parametrize("name", [each.name for each in ADAPTERS.values() if not each.is_program])
def test_every_adapter_in_python_has_a_module(name: str) -> None:
    assert find_spec(f"deltaspec.candidates.adapters.{name}") is not None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("delalake", r"unknown candidate 'delalake' \(did you mean deltalake\?, or use cmd:COMMAND"),
        ("zzz", r"unknown candidate 'zzz' \(choose from reference, .*polars"),
        ("", "unknown candidate ''"),
        ("cmd:", "cmd: expected a command"),
        ("cmd:'x", "cannot be split into words"),
        ("cmd:no-such-program --x", "program not found: no-such-program"),
        ("py:", "py:: expected py:MODULE:CLASS"),
        ("py:module", "py:module: expected py:MODULE:CLASS"),
        ("py:a b:Engine", "expected py:MODULE:CLASS"),
        ("py:no_such_module.x:Engine", "module not found: no_such_module.x"),
    ],
)
def test_wrong_candidate_is_invalid_usage(spec: str, message: str) -> None:
    with pytest.raises(InvalidUsage, match=message):
        open_candidate(spec)


def test_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    with pytest.raises(InvalidUsage) as caught:
        find_launch("deltalake")
    command = build_install_command("deltalake")
    assert str(caught.value) == f"candidate deltalake cannot run: deltalake is not installed; to get it: {command}"


def test_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidUsage, match=r"delta_spark cannot run: Java not found \(set JAVA_HOME or PATH\)"):
        find_launch("delta-spark")


def test_program_is_found_in_the_directory_of_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DELTASPEC_HARNESSES", str(tmp_path))
    with pytest.raises(InvalidUsage, match=r"not found: .*kernel_rust; to get it: cd .* && nox -s harness_rust"):
        find_launch("kernel_rust")
    program = write_program(tmp_path / "kernel_rust")
    assert find_launch("kernel_rust").command == (str(program),)
    program.chmod(0o644)
    with pytest.raises(InvalidUsage, match="program not found"):
        find_launch("kernel_rust")


def test_jar_is_started_with_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    java = write_program(tmp_path / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("DELTASPEC_HARNESSES", str(tmp_path))
    (tmp_path / "kernel_java.jar").write_bytes(b"")
    launch = find_launch("kernel-java")
    assert launch.command == (str(java), "-jar", str(tmp_path / "kernel_java.jar"))
    assert launch.hello_seconds == 180.0


def test_python_of_another_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_PYTHON_DELTALAKE", sys.executable)
    launch = find_launch("deltalake")
    name = "deltaspec.candidates.adapters.deltalake:Engine"
    assert launch.command == (sys.executable, "-m", "deltaspec.candidates.serve", name)
    assert launch.environment == {}
    monkeypatch.setenv("DELTASPEC_PYTHON_DELTALAKE", "/nowhere/python")
    with pytest.raises(InvalidUsage, match="DELTASPEC_PYTHON_DELTALAKE=/nowhere/python is not a program"):
        find_launch("deltalake")


def test_old_release_of_another_environment_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = write_program(tmp_path / "python", "#!/bin/sh\necho 0.25.5\n")
    monkeypatch.setenv("DELTASPEC_PYTHON_DELTALAKE", str(python))
    with pytest.raises(InvalidUsage, match=r"deltalake 0\.25\.5 is installed; it needs 1\.0 or later"):
        find_launch("deltalake")
    write_program(python, "#!/bin/sh\nexit 1\n")
    with pytest.raises(InvalidUsage, match="deltalake is not installed for "):
        find_launch("deltalake")


def test_files_in_a_command_are_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write_program(tmp_path / "harness")
    (tmp_path / "my harness.jar").write_bytes(b"")
    launch = find_launch("cmd:./harness -jar 'my harness.jar' --name value")
    expected = (str(tmp_path / "harness"), "-jar", str(tmp_path / "my harness.jar"), "--name", "value")
    assert launch.command == expected
    assert launch.hello_seconds == 60.0


def test_java_command_has_the_deadline_of_a_jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_program(tmp_path / "java")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert find_launch("cmd:java -jar harness.jar").hello_seconds == 180.0


def test_class_of_the_current_directory_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copyfile(Path(__file__).with_name("engines.py"), tmp_path / "engines_of_the_directory.py")
    monkeypatch.chdir(tmp_path)
    with open_candidate("py:engines_of_the_directory:Engine") as candidate:
        assert candidate.capabilities.name == "test"
        assert candidate.scan(Scan(table="/t", out="")).num_rows == 3


def test_class_is_imported_with_the_path_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    launch = find_launch("py:engines:OnlyHello")
    assert launch.environment["PYTHONPATH"].split(os.pathsep)[0] == str(Path(__file__).parent)
    assert launch.command[-1] == "engines:OnlyHello"


def test_engine_that_is_too_old_names_the_release_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaspec.candidates.registry.version", lambda _: "0.25.5")
    with pytest.raises(InvalidUsage, match=r"deltalake 0\.25\.5 is installed; it needs 1\.0 or later"):
        find_launch("deltalake")
