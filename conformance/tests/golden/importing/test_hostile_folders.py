"""A directory that cannot be imported gives one clear error, and nothing outside of it is read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from golden.importing.imported_folders import ROWS, write_dat_case, write_workload
from helpers.cli import run

from deltaspec.golden.importing import folder as folders

SPEC = "basic/specs/all.json"


def write_spec(root: Path, content: str) -> None:
    write_workload(root, {"all": {"type": "read", "expected": {"rowCount": 1}}}, {"all": ROWS[3]})
    (root / SPEC).write_text(content)


def write_bytes(root: Path) -> None:
    write_spec(root, "")
    (root / SPEC).write_bytes(b'{"type": "\xff"}')


def write_metadata(root: Path, content: object) -> None:
    case = write_dat_case(root)
    (case / "expected/latest/table_version_metadata.json").write_text(json.dumps(content))


def link_outside(root: Path) -> None:
    case = write_dat_case(root)
    (case / "delta/_delta_log/00000000000000000004.json").symlink_to("/etc/hostname")


def link_directory_outside(root: Path) -> None:
    write_dat_case(root)
    (root / "more").symlink_to("/")


def link_nowhere(root: Path) -> None:
    write_dat_case(root)
    (root / "gone").symlink_to(root / "nothing")


def link_to_itself(root: Path) -> None:
    (root / "loop").symlink_to(root / "loop")


def make_huge_document(root: Path) -> None:
    write_spec(root, "{}")
    with (root / SPEC).open("r+b") as file:
        file.truncate(folders.MAX_DOCUMENT_BYTES + 1)


def make_huge_rows(root: Path) -> None:
    case = write_dat_case(root)
    with (case / "expected/latest/table_content/huge.parquet").open("wb") as file:
        file.truncate(folders.MAX_ROWS_BYTES + 1)


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (lambda root: None, "no case found; expected DAT cases, acceptance workloads, or tables"),
    "json that ends": (lambda root: write_spec(root, '{"type": "read"'), "all.json: Input data was truncated"),
    "no object": (lambda root: write_spec(root, "[]"), "all.json: Expected `object`, got `array`"),
    "no type": (lambda root: write_spec(root, "{}"), "all.json: Object missing required field `type`"),
    "type is a number": (lambda root: write_spec(root, '{"type": 5}'), "all.json: Expected `str`, got `int`"),
    "columns are text": (
        lambda root: write_spec(root, '{"type": "read", "columns": "id"}'),
        "all.json: Expected `array | null`, got `str` - at `$.columns`",
    ),
    "deep json": (lambda root: write_spec(root, '{"type":"read","a":' + "[" * 200_000), "all.json: "),
    "not utf-8": (write_bytes, "all.json: "),
    "version is text": (
        lambda root: write_metadata(root, {"version": "1", "properties": {}}),
        "table_version_metadata.json: Expected `int`, got `str` - at `$.version`",
    ),
    "huge document": (make_huge_document, "all.json: larger than 16,777,216 bytes"),
    "huge rows": (make_huge_rows, "bytes of expected rows; at most 268,435,456 are read"),
    "link to a file outside": (link_outside, "the symbolic link leaves the imported directory"),
    "link to a directory outside": (link_directory_outside, "the symbolic link leaves the imported directory"),
    "link to nothing": (link_nowhere, "the symbolic link leads nowhere"),
    "link to itself": (link_to_itself, "the symbolic link leads nowhere"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_directory_gives_one_error(name: str, tmp_path: Path) -> None:
    build, message = HOSTILE[name]
    build(tmp_path)
    result = run("test", "reference", "--import", str(tmp_path))
    assert result.exit_code == 2
    assert result.output.startswith("deltaspec: ")
    assert message in result.output
    assert len(result.output.splitlines()) == 1
