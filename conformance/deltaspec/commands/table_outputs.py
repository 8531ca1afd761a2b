"""Files and directories that the runs of tables write: `{table}` in paths, and checks before the first run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from deltaspec.commands.table_names import PLACEHOLDER, build_table_name, expand_path, expand_report
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import require_writable, translate_write_errors

if TYPE_CHECKING:
    from deltaspec.commands.configuration import TableOptions

PLACES = {
    "findings_out": "--findings-out",
    "state": "--state",
    "since": "--since",
    "catalog_commits": "--catalog-commits",
}
"""Options that must name another place for each of several tables, by parameter."""


def expand_places(values: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the options of `PLACES` for each table.

    Args:
        values: values of options, by parameter.
        names: names of the tables.

    Raises:
        InvalidUsage: an option names one place for several tables.
    """
    places: list[dict[str, Any]] = [{} for _ in names]
    for parameter, option in PLACES.items():
        if isinstance(path := values.get(parameter), str):
            for table, each in zip(places, expand_path(option, path, names), strict=True):
                # a new table has no earlier report, and only catalog-managed tables have an answer of a catalog
                may_be_absent = parameter in ("since", "catalog_commits")
                table[parameter] = None if may_be_absent and not os.path.lexists(each) else each
    return places


def expand_options(resolved: TableOptions) -> TableOptions:
    """Return the options of a run over one table with its name for `{table}`, and create directories of such paths.

    Raises:
        InvalidUsage: a path with `{table}` cannot be written to.
    """
    name, values = build_table_name(resolved.table), resolved.values
    named = {parameter: values[parameter] for parameter in PLACES if PLACEHOLDER in (values[parameter] or "")}
    (changed,) = expand_places(named, [name])
    output = values["output"]
    if output is not None and PLACEHOLDER in output:
        (changed["output"],) = expand_path("--output", output, [name])
    reports = values["reports"]
    expanded = {each: expand_report(each, [name])[0] for each in reports if PLACEHOLDER in each}
    if expanded:
        changed["reports"] = tuple(expanded.get(each, each) for each in reports)
    files = [*(each.partition(":")[2] for each in expanded.values()), *_keep_given([changed.get("output")])]
    prepare_outputs(files, [changed], values["backend"])
    return replace(resolved, values={**values, **changed})


def prepare_outputs(files: Sequence[str], places: Iterable[Mapping[str, Any]], backend: str) -> None:
    """Create the directories of reports and other outputs, and check that each output can be written.

    Args:
        files: reports.
        places: values of `PLACES`, for each table.
        backend: value of `--backend`. Spark writes to places that this machine may not have.

    Raises:
        InvalidUsage: two reports are the same file, an output is in a table or cannot be written.
    """
    from deltaspec.validation.output_location import require_outside_table

    is_local = not backend.startswith("spark")
    tables = list(places)
    findings = _keep_given(each.get("findings_out") for each in tables)
    states = _keep_given(each.get("state") for each in tables)
    seen = set()
    for file in files:
        if (path := os.path.realpath(file)) in seen:
            raise InvalidUsage(f"two reports go to {file}; name another file for one")
        seen.add(path)
    for each in [*files, *findings, *states]:
        require_outside_table(each, None)
    for file in [*files, *(findings if is_local else [])]:
        _create_parent(file)
        require_writable(file)
    for directory in states if is_local else []:
        _create_parent(directory)
        _require_directory(directory)


def _keep_given(paths: Iterable[str | None]) -> list[str]:
    """Return the paths that are given and are not URIs."""
    return [each for each in paths if each is not None and not urlsplit(each).netloc]


def _create_parent(path: str) -> None:
    parent = os.path.dirname(os.path.realpath(path))
    with translate_write_errors(path):
        try:
            os.makedirs(parent, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as fault:
            raise InvalidUsage(f"{path}: cannot be written: {fault.filename} is not a directory") from fault


def _require_directory(path: str) -> None:
    """Raise `InvalidUsage` if a path is neither a directory nor one that can be created."""
    if os.path.isdir(path):
        return
    if os.path.lexists(path):
        raise InvalidUsage(f"{path}: is not a directory")
    require_writable(path)
