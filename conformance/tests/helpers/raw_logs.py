"""Two valid logs as text, and helpers that edit single lines of them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.table_files import CheckpointFiles, SidecarFile

VALID_LOGS = Path(__file__).parent / "valid_logs"
"""`plain`: protocol (1, 2), partitioned by a date, commits 0 to 2. `rich`: protocol (3, 7), commits 0 to 3, with column
mapping, deletion vectors, row tracking, in-commit timestamps and V2 checkpoints."""

_STATE = (
    '"metadata":{"id":"3c5e0b9c-2f4e-4d0f-8a55-6f0f6f4f7a01","format":{"provider":"parquet","options":{}},'
    r'"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,'
    r"\"metadata\":{}},{\"name\":\"price\",\"type\":\"decimal(10,2)\",\"nullable\":true,\"metadata\":{}},"
    r'{\"name\":\"day\",\"type\":\"date\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":["day"],'
    '"configuration":{},"createdTime":1700000000000},"protocol":{"minReaderVersion":1,"minWriterVersion":2}'
)
PLAIN_CHECKSUM = f'{{"tableSizeBytes":290,"numFiles":2,"numMetadata":1,"numProtocol":1,{_STATE}}}'
"""A valid version checksum of `plain` at version 2."""

Action = dict[str, Any]


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


class RawLog:
    """The files of a `_delta_log`, by name."""

    def __init__(self, valid_log: str | None = None) -> None:
        self.files: dict[str, bytes] = {}
        if valid_log is not None:
            self.files = {path.name: path.read_bytes() for path in (VALID_LOGS / valid_log).iterdir()}

    def edit(self, version: int, old: str, new: str) -> None:
        """Replace a string that occurs exactly once in a commit."""
        text = self.files[commit_name(version)].decode()
        assert text.count(old) == 1, f"{text.count(old)} times {old!r} in version {version}"
        self.files[commit_name(version)] = text.replace(old, new).encode()

    def append(self, version: int, *lines: str) -> None:
        """Append lines to a commit; create the commit if it does not exist."""
        before = self.files.get(commit_name(version), b"")
        self.files[commit_name(version)] = before + "".join(line + "\n" for line in lines).encode()

    def drop(self, *versions: int) -> None:
        """Delete commits."""
        for version in versions:
            del self.files[commit_name(version)]

    def drop_line(self, version: int, beginning: str) -> None:
        """Delete the only line of a commit that starts with a string."""
        lines = self.files[commit_name(version)].decode().splitlines(keepends=True)
        remaining = [line for line in lines if not line.startswith(beginning)]
        assert len(remaining) == len(lines) - 1
        self.files[commit_name(version)] = "".join(remaining).encode()

    def put(self, name: str, content: str | bytes) -> None:
        self.files[name] = content.encode() if isinstance(content, str) else content

    def checksum(self, version: int, content: str) -> None:
        self.put(f"{version:020d}.crc", content)

    def compaction(self, start: int, end: int, content: str) -> None:
        self.put(f"{start:020d}.{end:020d}.compacted.json", content)

    def hint(self, content: str) -> None:
        self.put("_last_checkpoint", content)

    def rows(self, *lines: tuple[int, str]) -> list[Action]:
        """Return actions, each identified by its version and a string that only its line contains."""
        found = []
        for version, mark in lines:
            matches = [line for line in self.files[commit_name(version)].decode().splitlines() if mark in line]
            assert len(matches) == 1, f"{len(matches)} lines of version {version} contain {mark!r}"
            found.append(json.loads(matches[0]))
        return found

    def checkpoint(self, version: int, rows: list[Action], **more: Any) -> list[str]:
        """Write a checkpoint; return the names of its files."""
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
"""Rows of a checkpoint of `plain` at version 2."""

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
"""Rows of a checkpoint of `rich` at version 3, without checkpointMetadata."""

RICH_CHECKPOINT_FILE_ROWS = RICH_CHECKPOINT_ROWS[5:]
RICH_CHECKPOINT_TABLE_ROWS = RICH_CHECKPOINT_ROWS[:5]


def write_sidecar_checkpoint(log: RawLog, edit: Callable[[CheckpointFiles], None] = lambda _: None) -> list[str]:
    """Write a JSON checkpoint of `rich` at version 3 with one sidecar for its file actions."""
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
    """Validate a table; assert that neither its content nor its modification times change."""
    before = compute_fingerprint(root)
    options.setdefault("history", "all")
    options.setdefault("level", "log")
    try:
        return deltaspec.validate(str(root), **options)
    finally:
        assert compute_fingerprint(root) == before


def count_findings_by_rule(report: Report, *severities: str) -> dict[str, int]:
    """Count findings by rule, of the given severities or of all."""
    return {
        code: sum(finding.rule == code for finding in report.findings)
        for code in sorted({each.rule for each in report.findings if not severities or each.severity in severities})
    }


def compute_fingerprint(root: Path) -> dict[str, tuple[str, int]]:
    """Return digest and modification time of each path in a directory; no digest for anything but regular files."""
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
