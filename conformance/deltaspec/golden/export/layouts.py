"""Layouts of exported cases: the path of each file of a case.

`dat`         Delta acceptance tests 0.0.3: <case>/{test_case_info.json, delta/, expected/{latest,v<N>}/}
`acceptance`  acceptance workloads: <case>/{delta/, specs/<spec>.json, expected/<spec>/expected_data/*.parquet}
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from deltaspec.errors import InvalidUsage
from deltaspec.golden.corpus import CaseFiles
from deltaspec.golden.export.dat_versions import iter_dat_versions
from deltaspec.output_files import fill_directory
from deltaspec_generators.table_uris import get_elsewhere, replace_table_uri

Layout: TypeAlias = Literal["dat", "acceptance"]


@contextmanager
def fill_new_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory; when the block ends, move its content to a new or empty directory.

    Raises:
        InvalidUsage: it exists and is not empty, or cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InvalidUsage(f"{directory} exists and is not empty")
    with fill_directory(directory) as content:
        yield content


def write_layout(cases: Sequence[CaseFiles], layout: Layout, directory: Path) -> tuple[list[str], dict[str, str]]:
    """Write cases into a new or empty directory.

    Returns:
        The ids of the written cases, and by id the reasons why the layout cannot express the others.

    Raises:
        InvalidUsage: the directory exists and is not empty, or cannot be written.
    """
    obstacles = {case.id: find_obstacle(case, layout) for case in cases}
    with fill_new_directory(directory) as content:
        for case in cases:
            if not obstacles[case.id]:
                write_case(case, layout, content, directory)
    written = [identity for identity, reason in obstacles.items() if not reason]
    return written, {identity: reason for identity, reason in obstacles.items() if reason}


def write_case(case: CaseFiles, layout: Layout, content: Path, directory: Path) -> None:
    """Write a case into the directory `content`, which will be moved to `directory`, as absolute paths say."""
    uri = f"{(directory / case.id / 'delta').absolute().as_uri()}/"
    for path, data in iter_files(case, layout):
        if path.startswith("delta/") and path.endswith(".json"):
            data = replace_table_uri(data, uri)
        target = content / case.id / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def find_obstacle(case: CaseFiles, layout: Layout) -> str:
    """Return why a layout cannot express a case; empty if it can."""
    if "absolute-paths" in case.description.portability and any(map(_is_parquet_checkpoint, case.listed.sha256)):
        return "absolute paths in a checkpoint cannot be replaced"
    if layout == "dat":
        return "" if case.description.expect.kind == "rows" else "DAT has no tables that a reader refuses"
    return "" if any(path.startswith("specs/") for path in case.listed.sha256) else "no question for a reader"


def _is_parquet_checkpoint(path: str) -> bool:
    return path.startswith("delta/_delta_log/") and path.endswith(".parquet")


def iter_files(case: CaseFiles, layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files of a case in a layout."""
    for path, data in case.iter_files():
        if _belongs(path, layout):
            yield path, data
    if layout == "dat":
        yield from iter_dat_versions(case)


def _belongs(path: str, layout: Layout) -> bool:
    match path.split("/"):
        case [directory, *_] if directory in ("delta", get_elsewhere(Path("delta")).name):
            return True
        case ["test_case_info.json"] | ["expected", _, "table_content" | "table_version_metadata.json", *_]:
            return layout == "dat"
        case ["specs", _] | ["expected", _, "expected_data" | "expected_metadata", *_]:
            return layout == "acceptance"
    return False
