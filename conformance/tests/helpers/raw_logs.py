"""Two good logs as text, and what edits them: every line of a table is under the hand of the test."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltaspec.report.report_types import Report
from deltaspec.validation import validate_table
from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.table_files import CheckpointFiles, SidecarFile

VALID_LOGS = Path(__file__).parent / "valid_logs"
"""`plain`: (1, 2), partitioned by a date, commits 0 to 2. `rich`: (3, 7) with column mapping, deletion vectors, row
tracking, in-commit timestamps and V2 checkpoints allowed, commits 0 to 3."""

Action = dict[str, Any]


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


class RawLog:
    """The files of a `_delta_log`, by name."""

    def __init__(self, good: str | None = None) -> None:
        self.files: dict[str, bytes] = {}
        if good is not None:
            self.files = {path.name: path.read_bytes() for path in (VALID_LOGS / good).iterdir()}

    def edit(self, version: int, old: str, new: str) -> None:
        """Replace a text that stands exactly once in a commit."""
        text = self.files[commit_name(version)].decode()
        assert text.count(old) == 1, f"{text.count(old)} times {old!r} in version {version}"
        self.files[commit_name(version)] = text.replace(old, new).encode()

    def edit_all(self, version: int, old: str, new: str) -> None:
        """Replace a text everywhere in a commit, where it stands more than once."""
        text = self.files[commit_name(version)].decode()
        assert text.count(old) > 1
        self.files[commit_name(version)] = text.replace(old, new).encode()

    def append(self, version: int, *lines: str) -> None:
        """Add lines to a commit, which is made if it is not there."""
        before = self.files.get(commit_name(version), b"")
        self.files[commit_name(version)] = before + "".join(line + "\n" for line in lines).encode()

    def drop(self, *versions: int) -> None:
        """Take commits away."""
        for version in versions:
            del self.files[commit_name(version)]

    def drop_line(self, version: int, beginning: str) -> None:
        """Take the one line away that begins so."""
        lines = self.files[commit_name(version)].decode().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(beginning)]
        assert len(kept) == len(lines) - 1
        self.files[commit_name(version)] = "".join(kept).encode()

    def put(self, name: str, content: str | bytes) -> None:
        self.files[name] = content.encode() if isinstance(content, str) else content

    def checksum(self, version: int, content: str) -> None:
        self.put(f"{version:020d}.crc", content)

    def compaction(self, start: int, end: int, content: str) -> None:
        self.put(f"{start:020d}.{end:020d}.compacted.json", content)

    def hint(self, content: str) -> None:
        self.put("_last_checkpoint", content)

    def rows(self, *lines: tuple[int, str]) -> list[Action]:
        """Actions of commits, each named by its version and a text that it alone has there."""
        found = []
        for version, mark in lines:
            fitting = [line for line in self.files[commit_name(version)].decode().splitlines() if mark in line]
            assert len(fitting) == 1, f"{len(fitting)} lines of version {version} have {mark!r}"
            found.append(json.loads(fitting[0]))
        return found

    def checkpoint(self, version: int, rows: list[Action], **more: Any) -> list[str]:
        """Write a checkpoint; gives the names of its files."""
        written = encode_checkpoint(CheckpointFiles(version=version, rows=list(rows), **more))
        self.files.update(written)
        return sorted(written)

    def write(self, root: Path) -> Path:
        for name, data in self.files.items():
            target = root / "_delta_log" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return root


PLAIN_CHECKPOINT_ROWS = (
    (0, '{"protocol"'),
    (0, '{"metaData"'),
    (1, '{"txn"'),
    (1, '{"add":{"path":"day=__'),
    (2, '{"remove"'),
    (2, '{"add"'),
)
"""What a checkpoint of `plain` at version 2 holds."""

RICH_CHECKPOINT_ROWS = (
    (0, '{"protocol"'),
    (0, '{"metaData"'),
    (1, '{"domainMetadata"'),
    (3, '{"domainMetadata"'),
    (3, '{"txn"'),
    (1, '{"add":{"path":"b'),
    (2, '{"remove"'),
    (3, '{"remove"'),
    (3, '{"add"'),
)
"""What a checkpoint of `rich` at version 3 holds, but for its checkpointMetadata."""

RICH_CHECKPOINT_FILE_ROWS = RICH_CHECKPOINT_ROWS[5:]
RICH_CHECKPOINT_TABLE_ROWS = RICH_CHECKPOINT_ROWS[:5]


def write_sidecar_checkpoint(log: RawLog, edit: Callable[[CheckpointFiles], None] = lambda _: None) -> list[str]:
    """Write a JSON checkpoint of `rich` at version 3 whose files stand in one sidecar."""
    checkpoint = CheckpointFiles(
        version=3,
        naming="uuid-json",
        v2=True,
        uuid="80a083e8-7026-4e79-81be-64bd76c43a11",
        rows=[{"checkpointMetadata": {"version": 3}}, *log.rows(*RICH_CHECKPOINT_TABLE_ROWS)],
        sidecars=[
            SidecarFile("016ae953-37a9-438e-8683-9a9a4a79a395.parquet", list(log.rows(*RICH_CHECKPOINT_FILE_ROWS)))
        ],
    )
    edit(checkpoint)
    written = encode_checkpoint(checkpoint)
    log.files.update(written)
    return sorted(written)


def validate_unchanged(root: Path, **options: Any) -> Report:
    """Validate a table; it is not changed by that, not even in its times of change."""
    before = compute_fingerprint(root)
    options.setdefault("history", "all")
    options.setdefault("level", "log")
    try:
        return validate_table(str(root), **options)
    finally:
        assert compute_fingerprint(root) == before


def count_findings_by_rule(report: Report, *severities: str) -> dict[str, int]:
    """Number of findings by rule, of some severities or of all."""
    return {
        code: sum(finding.rule == code for finding in report.findings)
        for code in sorted({each.rule for each in report.findings if not severities or each.severity in severities})
    }


def compute_fingerprint(root: Path) -> dict[str, tuple[str, int]]:
    """Content and time of change of everything in a directory; what cannot be read goes by its kind."""
    found: dict[str, tuple[str, int]] = {}
    if not root.is_dir():
        return found
    for path in sorted(root.rglob("*")):
        facts = path.lstat()
        content = "" if path.is_symlink() or not path.is_file() else _digest(path)
        found[str(path.relative_to(root))] = (content, facts.st_mtime_ns)
    found["."] = ("", root.stat().st_mtime_ns)
    return found


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
