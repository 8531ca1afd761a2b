"""Find the cases of a directory, whatever their format."""

from pathlib import Path

from deltaspec.errors import InvalidUsage
from deltaspec.golden.importing import acceptance, dat, tables
from deltaspec.golden.importing.folder import ImportFolder, build_name
from deltaspec.golden.importing.questions import ImportedCase

FORMATS = (acceptance, dat, tables)
"""A case that has two formats is read in the first one."""


def read_cases(directory: Path) -> list[ImportedCase]:
    """Read all cases in a directory, at any depth, in the order of their paths.

    Raises:
        InvalidUsage: The directory has no case, a file is broken or too large, or a symbolic link leaves it.
    """
    folder = ImportFolder(directory)
    found: list[ImportedCase] = []
    inside: Path | None = None
    for here in folder.directories:
        if inside is not None and here.is_relative_to(inside):
            continue
        reader = next((each for each in FORMATS if each.is_case(folder, here)), None)
        if reader is not None:
            identity = here.relative_to(folder.root).as_posix()
            name = build_name(folder.root.name if identity == "." else identity)
            found.append(reader.read_case(folder, here, name))
            inside = here
    if not found:
        formats = "DAT cases, acceptance workloads, or tables"
        raise InvalidUsage(f"{directory}: no case found; expected {formats} (folders with `specs` or `_delta_log`)")
    return sorted(found, key=lambda case: case.id)
