"""Malformed content causes findings, never a traceback, a hang or unbounded memory use."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.raw_logs import (
    PLAIN_CHECKPOINT_ROWS,
    RICH_CHECKPOINT_ROWS,
    RawLog,
    count_findings_by_rule,
    validate_unchanged,
)

import deltaspec
from deltaspec.validation import embedded

COMMIT_2 = "00000000000000000002.json"

# lines


def count_findings_in(line: str | bytes, tmp_path: Path, **options: Any) -> dict[str, int]:
    """Return the number of findings by rule in `plain` with one more line in its last commit."""
    log = RawLog("plain")
    log.files[COMMIT_2] += (line if isinstance(line, bytes) else line.encode()) + b"\n"
    started = time.monotonic()
    report = validate_unchanged(log.write(tmp_path), **options)
    assert time.monotonic() - started < 20
    return count_findings_by_rule(report)


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        DEEP + "]" * 100_000,
        '{"add":' * 100_000,
        '{"commitInfo":{"operation":"x"},"add":' + DEEP,
        '{"txn":{"appId":"' + '\\"' * 200_000,
        b'{"txn":{"appId":"\xff\xfe","version":1}}',
        b"\x00" * 4096,
        b"\x1f\x8b\x08\x00" + b"\x01" * 100,
        "NaN",
        '"text"',
        "1" * 5000,
        '{"txn":{"appId":"a","version":NaN}}',
        '{"txn":{"appId":"a","version":1}',
        '{"txn":{"appId":"a","version":1}}}',
        '{"txn":{"appId":"\t","version":1}}',
    ],
    ids=lambda line: repr(line[:28]),
)
def test_line_without_a_json_object_is_one_finding(line: str | bytes, tmp_path: Path) -> None:
    assert count_findings_in(line, tmp_path) == {"LIN001": 1}


@pytest.mark.parametrize(
    "number", ["9223372036854775808", "-9223372036854775809", "1" + "0" * 5000, "-" + "9" * 5000, "1.0", "1e3", "1e999"]
)
def test_invalid_long_is_a_finding(number: str, tmp_path: Path) -> None:
    assert count_findings_in(f'{{"txn":{{"appId":"a","version":{number}}}}}', tmp_path) == {"LIN015": 1}


@pytest.mark.parametrize("number", ["9223372036854775807", "-9223372036854775808"])
def test_smallest_and_largest_long_are_valid(number: str, tmp_path: Path) -> None:
    assert count_findings_in(f'{{"txn":{{"appId":"a","version":{number}}}}}', tmp_path) == {}


def test_number_of_5000_digits_in_an_unknown_field_is_valid(tmp_path: Path) -> None:
    assert count_findings_in(f'{{"txn":{{"appId":"a","version":1,"x":{"7" * 5000}}}}}', tmp_path) == {}


def test_repeated_keys_of_every_depth_are_one_finding(tmp_path: Path) -> None:
    line = '{"txn":{"appId":"a","appId":"b","version":1,"x":{"y":[{"z":1,"z":2}]}}}'
    assert count_findings_in(line, tmp_path) == {"LIN004": 1}


def test_schema_nested_10000_deep_is_not_checked(tmp_path: Path) -> None:
    """The protocol does not limit the depth of a schema, so a schema beyond our limit is not a violation."""
    text = '{"type":"struct","fields":['
    text += '{"name":"a","nullable":true,"metadata":{},"type":{"type":"struct","fields":[' * 10_000
    log = RawLog("plain")
    line = log.rows((0, '{"metaData"'))[0]
    line["metaData"] |= {"schemaString": text + "]}}" * 10_000 + "]}", "partitionColumns": []}
    log.drop_line(0, '{"metaData"')
    log.append(0, json.dumps(line))
    report = validate_unchanged(log.write(tmp_path))
    assert count_findings_by_rule(report) == {}
    assert report.verdict == "incomplete"
    assert "MET002" in {each.rule for each in report.checked.not_checked}


def test_deeply_nested_statistics_are_no_finding(tmp_path: Path) -> None:
    line = json.dumps(
        {
            "add": {
                "path": "deep.parquet",
                "partitionValues": {"day": None},
                "size": 1,
                "modificationTime": 0,
                "dataChange": True,
                "stats": '{"numRecords":1,"minValues":' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}",
            }
        }
    )
    assert count_findings_in(line, tmp_path) == {}  # they may be valid
    unchecked = deltaspec.validate(str(tmp_path), level="log").checked.not_checked
    assert [each.rule for each in unchecked if "levels deep" in each.reason] == ["FIL016"]


@pytest.mark.parametrize("name", ["_last_checkpoint", "00000000000000000002.crc"])
@pytest.mark.parametrize("content", [b"", b"\xff" * 100, DEEP.encode(), b'{"version":' + b"9" * 5000 + b"}", b"null"])
def test_garbage_in_hint_or_checksum_is_a_finding(name: str, content: bytes, tmp_path: Path) -> None:
    log = RawLog("plain")
    log.put(name, content)
    found = count_findings_by_rule(validate_unchanged(log.write(tmp_path)))
    empty_hint = content == b"" and name == "_last_checkpoint"
    assert found == ({"LCP014": 1} if empty_hint else {"LCP001" if name == "_last_checkpoint" else "CRC001": 1})


def test_lone_surrogate_as_octets_is_a_divergence(tmp_path: Path) -> None:
    assert count_findings_in(b'{"txn":{"appId":"\xed\xa0\x80","version":1}}', tmp_path) == {"LIN006": 1}


@pytest.mark.parametrize("at", [1, 3])
def test_lone_surrogate_does_not_reach_the_report(at: int, tmp_path: Path) -> None:
    """A domain's configuration is JSON inside JSON, so its escapes are first decoded when it is parsed."""
    log = RawLog("rich")
    rows = log.rows(*RICH_CHECKPOINT_ROWS)
    mark = {1: "delta.rowTracking", 3: "app.owner"}[at]
    (row,) = (each for each in rows if each.get("domainMetadata", {}).get("domain") == mark)
    row["domainMetadata"]["configuration"] = r'{"rowIdHighWaterMark":4,"owner":"\ud800"}'
    log.checkpoint(3, rows)
    report = validate_unchanged(log.write(tmp_path))
    assert count_findings_by_rule(report) == {"CKP038": 1}
    assert msgspec.json.encode(report)


# deletion vectors and Parquet


@pytest.mark.parametrize("cardinality", [2**60, 2**63 - 1])
def test_vector_with_a_huge_cardinality_is_a_finding(cardinality: int, tmp_path: Path) -> None:
    log = RawLog("rich")
    log.edit(3, '"sizeInBytes":36,"cardinality":2', f'"sizeInBytes":2147483647,"cardinality":{cardinality}')
    assert count_findings_by_rule(validate_unchanged(log.write(tmp_path))) == {"DVX008": 1}


def test_inline_vector_with_a_huge_bucket_count_is_a_finding(tmp_path: Path) -> None:
    log = RawLog("rich")
    good = "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg0rr91"
    # the same bytes, except for the number of buckets: 2^60 in little-endian order
    for version in (2, 3):
        log.edit(version, good, "^Bg9^000005bp:bk000000rr9" + good[25:])
    found = count_findings_by_rule(validate_unchanged(log.write(tmp_path)))
    assert found == {"DVX009": 2}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("size", pa.array([True, False])),
        ("size", pa.array([1, 2], pa.timestamp("us"))),
        ("size", pa.array([90.0, 200.0])),
        ("path", pa.array([1, 2])),
        ("dataChange", pa.array([1, 0])),
        ("partitionValues", pa.array([[(1, "x")], []], pa.map_(pa.int64(), pa.string()))),
        ("deletionVector", pa.array(["u", "i"])),
        ("deletionVector", pa.array([[1], [2]])),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.type),
)
@pytest.mark.parametrize("commits_are_missing", [False, True])
def test_checkpoint_column_of_wrong_type_is_a_finding(
    name: str, values: Any, commits_are_missing: bool, tmp_path: Path
) -> None:
    """Engines read columns with the specified types, so values that Arrow would cast are invalid."""
    log = RawLog("plain")
    (file,) = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    table = pq.read_table(io.BytesIO(log.files[file]))
    adds = table.column("add").combine_chunks()
    kinds = [adds.type.field(index) for index in range(adds.type.num_fields)]
    value_indices = [None if row is None else int("c.parquet" in row["path"]) for row in adds.to_pylist()]
    fields = [values.take(pa.array(value_indices)) if kind.name == name else adds.field(kind.name) for kind in kinds]
    broken = pa.StructArray.from_arrays(fields, names=[kind.name for kind in kinds], mask=adds.is_null())
    sink = io.BytesIO()
    pq.write_table(table.set_column(table.schema.names.index("add"), "add", broken), sink)
    log.put(file, sink.getvalue())
    if commits_are_missing:
        log.drop(0, 1, 2)
    expected = {"CKP001": 1} | ({"LOG024": 1} if commits_are_missing else {})
    assert count_findings_by_rule(validate_unchanged(log.write(tmp_path))) == expected


def test_checkpoint_that_is_not_parquet_is_one_finding(tmp_path: Path) -> None:
    for index, content in enumerate(
        (b"", b"PAR1", b"PAR1" * 2, b"PAR1\xff\xff\xff\xffPAR1", b"{}\n" * 1000, b"\0" * 99)
    ):
        log = RawLog("plain")
        log.put("00000000000000000001.checkpoint.parquet", content)
        assert count_findings_by_rule(validate_unchanged(log.write(tmp_path / str(index)))) == {"CKP001": 1}


# lines that are too long


def test_line_above_the_limit_makes_the_run_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "MAX_LINE_BYTES", 2000)
    monkeypatch.setattr(embedded, "MAX_BUFFERED_BYTES", 100)
    log = RawLog("plain")
    log.append(2, json.dumps({"txn": {"appId": "a" * 2000, "version": 1}}))
    report = validate_unchanged(log.write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    (reason,) = {each.reason for each in report.checked.not_checked if each.rule == "LIN010"}
    assert reason == "line 4 is longer than the limit of 268435456 bytes"


def test_deeply_nested_valid_line_makes_the_run_incomplete(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.append(2, '{"commitInfo":{"x":' + "[" * 5000 + "]" * 5000 + "}}")
    report = validate_unchanged(log.write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})


@pytest.mark.slow("conformance/deltaspec/wire/log")
def test_commit_with_one_line_of_300_mib_needs_bounded_memory(tmp_path: Path) -> None:
    root = RawLog("plain").write(tmp_path)
    commit = root / "_delta_log" / "00000000000000000003.json"
    with commit.open("wb") as file:
        file.write(b'{"txn":{"appId":"')
        file.truncate(300 << 20)
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        "import deltaspec\n"
        "report = deltaspec.validate(sys.argv[1], level='log')\n"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(report.verdict, int(peak.split()[1]) >> 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    verdict, peak_mib = done.stdout.split()
    assert verdict == "incomplete"
    assert int(peak_mib) < 700
