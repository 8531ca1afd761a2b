"""Judge a table after a fault: validate it, read its rows with the reference reader, and list orphaned files."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError
from deltaspec.errors import DeltaspecError
from deltaspec.faults.workload import COLUMNS, Row
from deltaspec.model.log.file_names import CommitName, OtherFile, parse_log_file_name
from deltaspec.report.text import escape_text
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import ignore_progress
from deltaspec.validation.run import run_embedded

LOG = "_delta_log"
_MUTABLE = ("_last_checkpoint", "._last_checkpoint.crc")
_SHOWN_VIOLATIONS = 3


class Unreadable(Exception):
    """The reference reader refuses the table; the text is the reason."""


@dataclass(frozen=True)
class Judgement:
    """What validation found."""

    violations: tuple[str, ...]
    """Codes of the violated rules."""
    details: tuple[str, ...]
    """One line for each of the first violations."""
    orphans: tuple[str, ...]
    """Files that no action of the log names."""
    orphaned_bytes: int
    log_leftovers: tuple[str, ...]
    """Files in the log directory that readers ignore, such as temporary files of an interrupted commit."""
    counts: dict[str, int]
    """Findings that are no violations, and rules that could not be decided."""


def judge_table(table: Path, accepted: Collection[str] = ()) -> Judgement:
    """Validate the newest version of a table with all its history at level rows.

    Args:
        table: directory of the table.
        accepted: codes of rules that are not reported.

    Raises:
        Unreadable: there is no table.
    """
    options = Options.create(level="rows", history="all", ignore=sorted(accepted))
    try:
        report = run_embedded(str(table), options, RunSettings(ignore_progress, None, False, None))
    except DeltaspecError as fault:
        raise Unreadable(str(fault)) from fault
    bad = [each for each in report.findings if each.severity == "violation"]
    details = [f"{each.rule} {each.name} at {each.location}: {escape_text(each.message)}" for each in bad]
    counts = {f"findings of severity {name}": number for name, number in report.counts.items() if name != "violation"}
    undecided = len(report.checked.undecided_rules)
    names = [each.name for each in (table / LOG).iterdir() if each.is_file()]
    inventory = report.inventory
    return Judgement(
        violations=tuple(dict.fromkeys(each.rule for each in bad)),
        details=tuple(details[:_SHOWN_VIOLATIONS]),
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


def list_versions(table: Path) -> list[int]:
    """List the versions of the commits in the log directory."""
    names = [parse_log_file_name(each.name) for each in (table / LOG).iterdir()]
    return sorted(each.version for each in names if isinstance(each, CommitName))


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


def compute_digests(table: Path) -> dict[str, str]:
    """Return a digest of every file that a writer must not change."""
    return {
        path: hashlib.sha256((table / path).read_bytes()).hexdigest()
        for path in list_files(table)
        if os.path.basename(path) not in _MUTABLE
    }


def describe_changed_files(before: dict[str, str], table: Path) -> str:
    """Return which files were modified or deleted; empty if none was."""
    after = compute_digests(table)
    changed = [f"{path} was modified" for path, digest in before.items() if after.get(path, digest) != digest]
    gone = [f"{path} was deleted" for path in before if path not in after]
    return "; ".join([*changed, *gone][:5])
