"""`deltaspec discover`: the tables below a location."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line
from helpers.restricted_runs import run_with_permissions


def make_table(place: Path) -> None:
    (place / "_delta_log").mkdir(parents=True)


def discover(*arguments: object) -> list[str]:
    result = run("discover", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_tables_are_listed_in_order_and_not_searched(tmp_path: Path) -> None:
    for name in ("b", "a/y", "a/x/deep", "b/in a table", "_hidden/t", ".hidden/t", "a/_t"):
        make_table(tmp_path / name)
    (tmp_path / "c").mkdir()
    (tmp_path / "file").touch()
    assert discover(tmp_path) == [f"{tmp_path}/a/x/deep", f"{tmp_path}/a/y", f"{tmp_path}/b"]
    assert discover(tmp_path / "b") == [f"{tmp_path}/b"]
    assert discover(f"file://{tmp_path}/a") == [f"{tmp_path}/a/x/deep", f"{tmp_path}/a/y"]
    assert [each.removeprefix(f"{tmp_path}/") for each in discover(tmp_path, "--hidden")] == [
        *(".hidden/t", "_hidden/t", "a/_t", "a/x/deep", "a/y", "b")
    ]


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    make_table(outside / "t")
    lake = tmp_path / "lake"
    make_table(lake / "z")
    for name in ("a", "b", "c"):
        (lake / name).mkdir()
        for other in ("a", "b", "c"):
            (lake / name / f"to_{other}").symlink_to(lake / other)
    (lake / "a" / "up").symlink_to(lake)
    (lake / "a" / "self").symlink_to("self")
    (lake / "a" / "nothing").symlink_to("missing")
    (lake / "first").symlink_to(lake / "z")
    (lake / "out").symlink_to(outside)
    assert discover(lake) == [f"{lake}/z", f"{lake}/out/t"]


def test_json_lists_tables_and_folders_that_were_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_table(tmp_path / "t")
    (tmp_path / "secret").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = run("discover", tmp_path, "--format", "json")
    found = json.loads(result.stdout)
    assert (found["discovery_version"], found["tables"]) == (1, [f"{tmp_path}/t"])
    assert found["not_searched"] == [{"location": f"{tmp_path}/secret", "reason": "no permission to read"}]
    assert result.exit_code == 3
    assert result.stderr == f"deltaspec: {tmp_path}/secret: not searched: no permission to read\n"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("empty", "empty: no Delta table at or below this location"),
        ("file", "file: is a file; name a directory"),
        ("gone", "gone: no such file or directory"),
        ("", "no table is named; name the directory that contains _delta_log"),
        ("xx://lake", "xx://lake: no storage for scheme 'xx'"),
    ],
)
def test_location_without_tables(location: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    result = run("discover", location)
    assert result.exit_code == 2
    assert single_error_line(result).startswith(f"deltaspec: {message}")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("secret/*", "secret"),
        ("secret/inner/*", "secret/inner/*: secret/inner"),
        ("*/orders", "secret/orders"),
        ("link*/orders", "./link/orders"),
        ("s*", "./secret"),
        ("s*/**", "./secret"),
    ],
)
def test_folder_without_permission_is_named(pattern: str, named: str, tmp_path: Path) -> None:
    make_table(tmp_path / "secret" / "orders")
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / "secret").chmod(0)
    done = run_with_permissions(tmp_path, "validate", pattern)
    if pattern == "*/orders":  # the link leads there, too
        assert "link/orders\n    no permission to read\n" in done.stdout
        assert "secret/orders\n    no permission to read\n" in done.stdout
        assert done.returncode == 2
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"deltaspec: {named}: no permission to read\n"


def test_searched_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    make_table(tmp_path / "open")
    make_table(tmp_path / "secret" / "t")
    (tmp_path / "secret").chmod(0o311)
    done = run_with_permissions(tmp_path, "discover", ".")
    assert (done.returncode, done.stdout) == (3, "./open\n")
    assert done.stderr == "deltaspec: ./secret: not searched: no permission to read\n"
