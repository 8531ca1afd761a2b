"""Logs with many malformed lines: every line is counted, and both backends report the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from helpers.backends import compare_reports, embedded_backend, list_backend
from helpers.raw_logs import RawLog, validate_unchanged
from polars.testing import assert_frame_equal

import deltaspec
from deltaspec.views.log import log_file_rows
from deltaspec.views.log.log_file_rows import iter_line_frames
from deltaspec.views.log.log_files import lines
from deltaspec.wire.log.line_decoder import decode_line_stream

MALFORMED_LINES = [
    "",
    "{}",
    "x",
    "[]",
    '{"add":1}',
    '{"txn":{"appId":7}}',
    '{"future":1}',
    '{"txn":{},"add":{}}',
    '{"txn":{"appId":"m","version":1},"x":{}}',
    '{"a":1}\r',
]
REPETITIONS = 7
CHECKPOINT = "00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
FILE_KINDS = ["commit", "compaction", "checkpoint"]
BACKENDS = {
    "spilled": embedded_backend(0, 2),
    "lists": list_backend(2, 1),
    "bytes": list_backend(3, 2, executors_can_read=False),
}


def write_log_with_malformed_lines(root: Path, file_kind: str) -> Path:
    """Write a log with many malformed lines in one file; return the root of the table."""
    log = RawLog("rich")
    malformed = "".join(f"{line}\n" for _ in range(REPETITIONS) for line in MALFORMED_LINES) + "\n" * REPETITIONS
    if file_kind == "commit":
        log.files["00000000000000000003.json"] += malformed.encode()
    elif file_kind == "compaction":
        log.compaction(1, 2, malformed)
    else:
        rows = [log.files["00000000000000000000.json"].decode(), '{"checkpointMetadata":{"version":3}}\n']
        log.put(CHECKPOINT, "".join(rows) + malformed)
    return log.write(root)


@contextmanager
def use_short_frames(number: int) -> Iterator[None]:
    with patch.object(log_file_rows, "LINES_PER_FRAME", number):
        yield


@pytest.mark.parametrize("file_kind", FILE_KINDS)
@pytest.mark.parametrize("samples", [2, 1000])
def test_backends_report_malformed_lines_alike(file_kind: str, samples: int, tmp_path: Path) -> None:
    table = str(write_log_with_malformed_lines(tmp_path, file_kind))
    with use_short_frames(4):
        assert compare_reports(table, BACKENDS, history="all", samples=samples) == []


@pytest.mark.parametrize("file_kind", FILE_KINDS)
def test_every_malformed_line_is_counted_and_the_first_are_sampled(file_kind: str, tmp_path: Path) -> None:
    table = write_log_with_malformed_lines(tmp_path, file_kind)
    complete = validate_unchanged(table)
    with use_short_frames(5):
        report = validate_unchanged(table, samples=3)
    assert report.totals == complete.totals
    line_totals = {code: number for code, number in report.totals.items() if code.startswith("LIN")}
    per_repetition = {"LIN001": 2, "LIN002": 1, "LIN003": 1, "LIN005": 3, "LIN009": 1, "LIN010": 1, "LIN015": 1}
    assert line_totals == {code: number * REPETITIONS for code, number in per_repetition.items()}
    for code in line_totals:
        expected = [each for each in complete.findings if each.rule == code]
        assert [each for each in report.findings if each.rule == code] == expected[:3]
        assert len(expected) == line_totals[code]


def test_findings_file_has_every_malformed_line(tmp_path: Path) -> None:
    table = write_log_with_malformed_lines(tmp_path / "table", "commit")
    with use_short_frames(5):
        report = deltaspec.validate(str(table), samples=1, findings_out=str(tmp_path / "all.parquet"))
    found = pl.read_parquet(tmp_path / "all.parquet")
    assert dict(found["rule"].value_counts().iter_rows()) == report.totals


@pytest.mark.parametrize("few", [0, log_file_rows.FEW_LINES])
@pytest.mark.parametrize("number", [1, 2, 3, 1000])
def test_frames_have_a_row_for_each_decoded_line(number: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file_rows, "FEW_LINES", few)
    texts: list[list[bytes | None]] = [
        [b"", b"x", None, b'{"commitInfo":{}}', b"", b"{}", b'{"add":1}', b""],
        [b""],
        [b'{"future":1}', None, None, b"x"],
        [b"x", b'{"txn":{"appId":"a","version":1,"version":2}}'],
    ]
    logs = [(f"f{at}", at, decode_line_stream(iter(text))) for at, text in enumerate(texts)]
    rows: list[dict[str, Any]] = []
    for file, version, log in logs:
        faults = log.faults
        for line, kind in enumerate(log.kinds, 1):
            if line not in log.unread:
                row = {"file": file, "version": version, "line": line, "kind": kind, "actions": 1}
                row["known_actions"] = int(kind is not None)
                names = (
                    "json_error",
                    "actions",
                    "known_actions",
                    "unrecognized_key",
                    "schema_error",
                    "pointer",
                    "repeated_key",
                    "unexpected_whitespace",
                    "has_lone_surrogate",
                )
                rows.append(row | {name: getattr(faults[line], name) for name in names if line in faults})
    with use_short_frames(number):
        frames = list(iter_line_frames((file, version, log.lines) for file, version, log in logs))
    assert_frame_equal(pl.concat(frames), lines.frame(rows))
    assert len(rows) == 10


def test_frames_have_a_maximum_length() -> None:
    log = decode_line_stream(iter([b"x", b""] * 500))
    with use_short_frames(64):
        lengths = [len(frame) for frame in iter_line_frames([("a", 0, log.lines)])]
    assert (max(lengths), sum(lengths)) == (64, 999)
