"""Judge a table after a fault: validate it, read its rows with the reference reader, and list orphaned files."""

import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import msgspec

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec.errors import DeltaspecError
from deltaspec.faults.workload import COLUMNS, Row
from deltaspec.protocol.log.file_names import OtherFile, parse_log_file_name
from deltaspec.suites.write_judging import (
    LOG,
    compare_digests,
    compute_digests,
    describe_files,
    describe_violations,
    validate_history,
)

_SHOWN_VIOLATIONS = 3


class Unreadable(Exception):
    """The reference reader refuses the table; the text is the reason."""


class Judgement(msgspec.Struct, frozen=True):
    """Results of validating a table after a fault."""

    violations: tuple[str, ...]
    """Codes of the violated rules."""
    details: tuple[str, ...]
    """One line for each of the first violated rules."""
    orphans: tuple[str, ...]
    """Files that no action of the log names."""
    orphaned_bytes: int
    log_leftovers: tuple[str, ...]
    """Files in the log directory that readers ignore, such as temporary files of an interrupted commit."""
    counts: dict[str, int]
    """Findings that are not violations, and rules that could not be decided."""


def judge_table(table: Path, accepted: Collection[str] = ()) -> Judgement:
    """Validate the newest version of a table with all its history at level rows.

    Args:
        table: directory of the table.
        accepted: codes of rules that are not reported.

    Raises:
        Unreadable: there is no table.
    """
    try:
        report = validate_history(table, accepted)
    except DeltaspecError as fault:
        raise Unreadable(str(fault)) from fault
    violations = describe_violations(report)
    counts = {f"findings of severity {name}": number for name, number in report.counts.items() if name != "violation"}
    undecided = len(report.checked.undecided_rules)
    names = [each.name for each in (table / LOG).iterdir() if each.is_file()]
    inventory = report.inventory
    return Judgement(
        violations=tuple(violations),
        details=tuple(violations.values())[:_SHOWN_VIOLATIONS],
        orphans=tuple(inventory.unreferenced) if inventory else (),
        orphaned_bytes=inventory.unreferenced_bytes if inventory else 0,
        log_leftovers=tuple(sorted(each for each in names if _is_leftover(each))),
        counts={**counts, **({"rules not decided": undecided} if undecided else {})},
    )


def _is_leftover(name: str) -> bool:
    """Return whether readers ignore a file of the log; checksum files of Hadoop belong to the others."""
    is_hadoop_checksum = name.startswith(".") and name.endswith(".crc")
    return not is_hadoop_checksum and isinstance(parse_log_file_name(name), OtherFile)


def read_rows(table: Path) -> Counter[Row]:
    """Read the newest version with the reference reader.

    Raises:
        Unreadable: it cannot be read.
    """
    try:
        answer = Engine().scan(
            str(table), at=None, columns=[[name] for name in COLUMNS], predicate=None, predicate_tree=None,
            row_ids=False,
        )  # fmt: skip
    except (EngineError, DeltaspecError) as fault:
        raise Unreadable(str(fault)) from fault
    return Counter(zip(*(answer["rows"].column(name).to_pylist() for name in COLUMNS), strict=True))


def list_files(table: Path) -> dict[str, int]:
    """Return the sizes of all files below a directory, by relative path. Files that vanish meanwhile are left out."""
    found = {}
    for folder, _, names in os.walk(table):
        for name in names:
            path = os.path.join(folder, name)
            try:
                found[os.path.relpath(path, table)] = os.lstat(path).st_size
            except OSError:
                continue
    return found


def describe_changed_files(before: dict[str, bytes], table: Path) -> str:
    """Return which files were modified or deleted since `before`; empty if none was."""
    found = compare_digests(before, compute_digests(table))
    parts = [("modified", found.changed), ("deleted", found.removed)]
    return "; ".join(f"{describe_files(paths)} {what}" for what, paths in parts if paths)
