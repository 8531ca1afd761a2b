"""Write an extracted table as a golden case. `golden-tables/README.md` explains the format."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from deltaspec.errors import InvalidUsage
from deltaspec.extraction.draft import Files
from deltaspec.extraction.reduction import parse_object
from deltaspec.golden.case_format import Anchor, CaseDocument, Expect, Features, Origin, Spec, encode_document
from deltaspec.output_files import fill_directory
from deltaspec.report.report_types import Finding
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES
from deltaspec.validation.output_location import require_outside_table
from deltaspec.wire.storage.interface import LOG_DIRECTORY


def require_new_directory(output: str, table_root: str | None) -> None:
    """Check that a case can be written to a directory.

    Raises:
        InvalidUsage: it is in a table, cannot be created, or exists and is not an empty directory.
    """
    require_outside_table(output, table_root)
    path = Path(output)
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InvalidUsage(f"{output}: exists; name a new or empty directory")
        parent = next(each for each in path.absolute().parents if each.exists())
        if not os.access(parent, os.W_OK):
            raise InvalidUsage(f"{output}: cannot be written: {os.strerror(errno.EACCES)}")
    except OSError as fault:
        raise InvalidUsage(f"{output}: {fault.strerror}") from fault


def write_case(output: str, files: Files, finding: Finding, version: int, *, redacted: bool) -> None:
    """Write the files of a case: all of them, or none.

    Args:
        output: directory of the case, which is created.
        files: the table; all data files have been read.
        finding: what the table shows.
        version: newest version of the table.
        redacted: whether names and values were replaced.

    Raises:
        InvalidUsage: the directory cannot be written.
    """
    with fill_directory(output) as case:
        (case / "delta" / LOG_DIRECTORY).mkdir(parents=True)
        for path, data in {
            **{f"delta/{path}": data for path, data in files.items()},
            **_describe_case(files, finding, version, redacted=redacted),
        }.items():
            assert isinstance(data, bytes)
            place = case / path
            if not place.resolve().is_relative_to(case.resolve()):
                raise InvalidUsage(f"{path}: leads out of the case")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


def _describe_case(files: Files, finding: Finding, version: int, *, redacted: bool) -> dict[str, bytes]:
    """Return `case.json` and `test_case_info.json`."""
    rule, requirement = RULES[finding.rule], load_requirements()[finding.requirement]
    identity = f"extracted.{rule.name.replace('_', '-').lower()}"
    title = rule.message.split("\n")[0]
    reader, writer = _find_features(files)
    document = CaseDocument(
        id=identity,
        meaning=1,
        title=title,
        requirements=(finding.requirement,),
        spec=Spec(since=requirement.revisions[0]),  # type: ignore[arg-type]
        anchors=tuple(Anchor(section=each, revision="current") for each in requirement.section.split("; ")),
        authority="reading" if requirement.reading else "protocol",
        features=Features(reader=reader, writer=writer),
        ops=("snapshot", "scan"),
        expect=Expect(kind="violation", version=max(version, 0), requirement=finding.requirement),
        origin=Origin(
            writer="extracted from a table", command=f"deltaspec extract{' --redact' if redacted else ''} {rule.code}"
        ),
        portability=(),
    )
    info = {"name": identity, "description": title}
    return {"case.json": encode_document(document), "test_case_info.json": encode_document(info)}


def _find_features(files: Files) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return reader and writer features of the last protocol action in the commits."""
    found: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    for path, data in sorted(files.items()):
        for line in data.split(b"\n") if path.endswith(".json") and isinstance(data, bytes) else ():
            protocol = (parse_object(line) or {}).get("protocol")
            if isinstance(protocol, dict):
                reader, writer = (protocol.get(name) or [] for name in ("readerFeatures", "writerFeatures"))
                if all(isinstance(each, str) for each in (*reader, *writer)):
                    found = tuple(reader), tuple(writer)
    return found
