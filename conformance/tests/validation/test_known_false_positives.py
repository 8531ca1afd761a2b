"""Legal constructs that validators often report as errors must produce no findings."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.raw_logs import (
    PLAIN_CHECKPOINT_ROWS,
    PLAIN_CHECKSUM,
    RICH_CHECKPOINT_ROWS,
    RawLog,
    count_findings_by_rule,
    validate_unchanged,
)

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def assert_no_findings(log: RawLog, root: Path, **divergences: int) -> None:
    """Assert that, with any history, only the given divergences are found and everything is checked."""
    log.write(root)
    for history in ("latest", "1", "all"):
        report = validate_unchanged(root, history=history)
        assert count_findings_by_rule(report, "violation", "warning") == {}, f"{history=}"
        assert (report.verdict, report.checked.not_checked) == ("conforms", []), f"{history=}"
        assert count_findings_by_rule(report).items() <= divergences.items(), f"{history=}"
    assert count_findings_by_rule(report) == divergences


@pytest.mark.parametrize("name", ["plain", "rich"])
def test_valid_log_has_no_findings(name: str, tmp_path: Path) -> None:
    assert_no_findings(RawLog(name), tmp_path)


# files in and next to the log


@pytest.mark.parametrize(
    "name",
    [
        f"_staged_commits/00000000000000000003.{UUID}.json",
        f"_commits/00000000000000000003.{UUID}.json",
        "metadata/00000.metadata.json",
        "_sidecars/nobody-names-this.parquet",
        "archive/00000000000000000000.json",
        ".00000000000000000001.json.crc",
        "._00000000000000000001.json",
        ".DS_Store",
        "_last_vacuum_info",
        "__tmp_path_dir/x",
        "00000000000000000003.json.tmp",
        "_delta_log_$folder$",
        ".s3-optimization-0",
    ],
)
def test_unrelated_files_and_directories_in_the_log_are_ignored(name: str, tmp_path: Path) -> None:
    log = RawLog("plain")
    log.put(name, "no part of this table")
    assert_no_findings(log, tmp_path)


def test_staged_commit_of_a_published_version_is_not_checked(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.put(f"_staged_commits/00000000000000000002.{UUID}.json", '{"add":{}}\n')
    assert_no_findings(log, tmp_path)


def test_log_without_its_data_files_conforms(tmp_path: Path) -> None:
    """Level `log` reads only the log, so a log that was copied without its data files is valid."""
    assert_no_findings(RawLog("rich"), tmp_path)


def test_changed_file_times_are_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.checkpoint(1, log.rows((0, '{"protocol"'), (0, '{"metaData"'), (1, '{"txn"'), (1, "/a.parq"), (1, "/b.parq")))
    log.write(tmp_path)
    for number, file in enumerate(sorted((tmp_path / "_delta_log").iterdir(), reverse=True)):
        os.utime(file, (number * 1000, number * 1000))
    assert_no_findings(log, tmp_path)


# lines


def test_blank_lines_are_a_divergence(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(1, '}}\n{"txn"', '}}\n\n{"txn"')
    log.append(2, "", "")
    assert_no_findings(log, tmp_path, LIN005=3)


def test_last_line_may_have_no_line_feed(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.put("00000000000000000002.json", log.files["00000000000000000002.json"].rstrip(b"\n"))
    assert_no_findings(log, tmp_path)


def test_carriage_returns_are_a_divergence(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.put("00000000000000000001.json", log.files["00000000000000000001.json"].replace(b"\n", b"\r\n"))
    assert_no_findings(log, tmp_path, LIN005=4)


def test_explicit_nulls_are_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(0, '"createdTime":1700000000000', '"createdTime":null,"name":null,"description":null')
    log.edit(0, '"minWriterVersion":2', '"minWriterVersion":2,"readerFeatures":null,"writerFeatures":null')
    log.edit(1, '"lastUpdated":1700000001000', '"lastUpdated":null')
    log.edit(2, '"size":90', '"size":90,"deletionVector":null,"tags":null,"baseRowId":null,"clusteringProvider":null')
    log.edit(2, '"size":100', '"size":100,"stats":null,"tags":null,"deletionVector":null,"baseRowId":null')
    assert_no_findings(log, tmp_path)


def test_other_actions_of_a_line_may_be_null(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(2, '{"remove":', '{"add":null,"cdc":null,"protocol":null,"remove":')
    assert_no_findings(log, tmp_path)


def test_unknown_fields_and_actions_are_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(2, '"size":90', '"size":90,"stats_parsed":{"numRecords":1},"weight":1e3')
    log.edit(0, '"configuration":{}', '"configuration":{"delta.futureProperty":"7","my.Key":"x"},"owner":[1]')
    log.append(2, '{"checkSum":{"value":1}}')
    assert_no_findings(log, tmp_path)


def test_whitespace_between_tokens_is_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    lines = log.files["00000000000000000001.json"].decode().splitlines()
    log.drop(1)
    log.append(1, *(json.dumps(json.loads(line), separators=(" , ", " : ")) for line in lines))
    assert_no_findings(log, tmp_path)


def test_metadata_may_precede_protocol_and_commit_info(tmp_path: Path) -> None:
    log = RawLog("plain")
    lines = log.files["00000000000000000000.json"].decode().splitlines()
    log.drop(0)
    log.append(0, *reversed(lines))
    assert_no_findings(log, tmp_path)


def test_first_commit_may_have_read_version_minus_1(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(0, '"operation":"CREATE TABLE"', '"operation":"CREATE TABLE","readVersion":-1,"isBlindAppend":true')
    assert_no_findings(log, tmp_path)


def test_commits_without_commit_info_are_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    for version in range(3):
        log.drop_line(version, '{"commitInfo"')
    assert_no_findings(log, tmp_path)


# protocol


def build_log_with_feature(feature: str) -> RawLog:
    log = RawLog("rich")
    for kind in ("readerFeatures", "writerFeatures"):
        log.edit(0, f'"{kind}":[', f'"{kind}":["{feature}",')
    return log


@pytest.mark.parametrize("feature", ["variantType-preview", "typeWidening-preview"])
def test_features_of_previews_are_known(feature: str, tmp_path: Path) -> None:
    assert_no_findings(build_log_with_feature(feature), tmp_path)


@pytest.mark.parametrize("feature", ["catalogOwned-preview", "redirectReaderWriter-preview"])
def test_other_features_leave_only_themselves_unchecked(feature: str, tmp_path: Path) -> None:
    report = validate_unchanged(build_log_with_feature(feature).write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    assert [each.rule for each in report.checked.not_checked] == [f"feature:{feature}"]


def test_unknown_feature_has_no_finding_but_leaves_the_run_incomplete(tmp_path: Path) -> None:
    """The feature may change replay, so no rule that depends on replay is decided."""
    report = validate_unchanged(build_log_with_feature("fromTomorrow").write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
    assert [each for each in report.checked.not_checked if "fromTomorrow" not in each.reason] == []


def test_column_mapping_at_reader_version_2_is_only_a_writer_feature(tmp_path: Path) -> None:
    log = RawLog("rich")
    log.edit(0, '"minReaderVersion":3', '"minReaderVersion":2')
    log.edit(0, '"readerFeatures":["columnMapping","deletionVectors","v2Checkpoint"],', "")
    log.edit(0, '"deletionVectors","domainMetadata"', '"domainMetadata"')
    log.edit(0, ',"v2Checkpoint"]', "]")
    log.edit(0, '"delta.enableDeletionVectors":"true",', "")
    log.drop(2, 3)
    assert_no_findings(log, tmp_path)


# file actions


def test_statistics_may_be_absent(tmp_path: Path) -> None:
    log = RawLog("plain")
    text = log.files["00000000000000000001.json"].decode()
    for line in text.splitlines():
        if '"stats"' in line:
            text = text.replace(line[line.index(',"stats"') : -2], "")
    log.put("00000000000000000001.json", text)
    log.edit(
        2,
        r'"stats":"{\"numRecords\":1,\"minValues\":{\"id\":3},\"maxValues\":{\"id\":3},\"nullCount\":{\"id\":0}}"',
        '"stats":"{}"',
    )
    assert_no_findings(log, tmp_path)


def test_remove_may_have_required_fields_only(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(2, ',"extendedFileMetadata":true,"partitionValues":{"day":"2024-01-01"},"size":100', "")
    assert_no_findings(log, tmp_path)


def test_absolute_paths_of_a_shallow_clone_are_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(1, '"path":"day=2024-01-01/a', '"path":"file:///data/source/day=2024-01-01/a')
    log.edit(2, '"path":"day=2024-01-01/a', '"path":"file:///data/source/day=2024-01-01/a')
    assert_no_findings(log, tmp_path)


@pytest.mark.parametrize("removed_as", ["/data/source/a.parquet", "file:/data/source/a.parquet"])
def test_path_and_uri_of_one_file_are_equal(removed_as: str, tmp_path: Path) -> None:
    log = RawLog("plain")
    log.edit(1, '"path":"day=2024-01-01/a.parquet"', '"path":"file:///data/source/a.parquet"')
    log.edit(2, '"path":"day=2024-01-01/a.parquet"', f'"path":"{removed_as}"')
    log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    assert_no_findings(log, tmp_path, FIL035=1)  # the remove in the commit


def test_feature_drop_may_remove_vector_files(tmp_path: Path) -> None:
    log = RawLog("rich")
    log.append(
        4,
        '{"commitInfo":{"inCommitTimestamp":1700000004000,"operation":"REORG",'
        '"tags":{"delta.rowTracking.preserved":"true"}}}',
        '{"remove":{"path":"deletion_vector_fa9e5a1c-6f0c-4a7a-9b49-0f1f8f0f6d11.bin",'
        '"deletionTimestamp":1700000004000,"dataChange":false}}',
    )
    assert_no_findings(log, tmp_path)


def test_files_of_the_former_partitioning_may_be_removed(tmp_path: Path) -> None:
    log = RawLog("plain")
    metadata = log.rows((0, '{"metaData"'))[0]
    metadata["metaData"]["partitionColumns"] = ["id"]
    log.append(
        3,
        '{"commitInfo":{"operation":"REPLACE TABLE"}}',
        json.dumps(metadata),
        '{"remove":{"path":"day=2024-01-01/c.parquet","deletionTimestamp":1700000003000,"dataChange":true,'
        '"extendedFileMetadata":true,"partitionValues":{"day":"2024-01-01"},"size":90}}',
        '{"remove":{"path":"day=__HIVE_DEFAULT_PARTITION__/b.parquet","deletionTimestamp":1700000003000,'
        '"dataChange":true,"extendedFileMetadata":true,"partitionValues":{"day":null},"size":200}}',
        '{"add":{"path":"id=1/d.parquet","partitionValues":{"id":"1"},"size":10,"modificationTime":1,"dataChange":true}}',
    )
    rows = log.rows((0, '{"protocol"'), (3, '{"metaData"'), (1, '{"txn"'), (3, '{"add"'))
    log.checkpoint(3, rows + log.rows((2, '{"remove"'), (3, "/c.parquet"), (3, "/b.parquet")))
    assert_no_findings(log, tmp_path)


# checkpoints, hint, checksums


def test_checkpoint_of_delta_rs_is_valid(tmp_path: Path) -> None:
    log = RawLog("plain")
    rows = log.rows(*PLAIN_CHECKPOINT_ROWS)
    for row in rows:
        if "add" in row:
            number = json.loads(row["add"]["stats"])["numRecords"]
            row["add"] |= {"dataChange": True, "stats_parsed": {"numRecords": number}}
        if "remove" in row:
            row["remove"] |= {"stats": None, "tags": None}
    parsed = {"stats_parsed": pa.struct([("numRecords", pa.int64())])}
    log.checkpoint(2, rows, parsed=parsed)
    assert_no_findings(log, tmp_path)


def test_checkpoint_may_set_data_change_to_false(tmp_path: Path) -> None:
    log = RawLog("plain")
    rows = log.rows(*PLAIN_CHECKPOINT_ROWS)
    for row in rows:
        for kind in ("add", "remove"):
            if kind in row:
                row[kind]["dataChange"] = False
    log.checkpoint(2, rows)
    assert_no_findings(log, tmp_path)


def test_checkpoint_may_omit_expired_tombstones(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.checkpoint(2, [row for row in log.rows(*PLAIN_CHECKPOINT_ROWS) if "remove" not in row])
    assert_no_findings(log, tmp_path)


def test_commits_before_a_checkpoint_may_have_gaps(tmp_path: Path) -> None:
    log = RawLog("rich")
    log.checkpoint(
        2,
        log.rows((0, '{"protocol"'), (0, '{"metaData"'), (1, '{"domain'), (1, "b.parq"), (2, '{"remove'), (2, '{"add')),
    )
    log.drop(1)
    assert_no_findings(log, tmp_path, LOG010=1)


def test_commits_before_a_checkpoint_may_be_cleaned_up(tmp_path: Path) -> None:
    log = RawLog("rich")
    log.checkpoint(3, log.rows(*RICH_CHECKPOINT_ROWS))
    log.drop(0, 1, 2)
    assert_no_findings(log, tmp_path)


def test_commits_before_the_first_checkpoint_may_remain(tmp_path: Path) -> None:
    """Older cleanups delete by file age only. Later versions remain valid."""
    log = RawLog("plain")
    log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    log.drop(0)
    assert_no_findings(log, tmp_path)


def test_incomplete_multipart_checkpoint_is_ignored(tmp_path: Path) -> None:
    log = RawLog("plain")
    names = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS), naming="multipart", parts=3)
    del log.files[names[1]]
    assert_no_findings(log, tmp_path)


def test_parts_of_an_abandoned_attempt_are_ignored(tmp_path: Path) -> None:
    log = RawLog("plain")
    stale = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS), naming="multipart", parts=3)
    log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS), naming="multipart", parts=2)
    del log.files[stale[2]]
    report = validate_unchanged(log.write(tmp_path))
    assert count_findings_by_rule(report) == {
        "CKP070": 1
    }  # multi-part checkpoints are deprecated, and no other rule applies
    assert (report.verdict, report.checked.not_checked) == ("conforms", [])


def test_empty_hint_is_no_violation(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.hint("")
    report = validate_unchanged(log.write(tmp_path))
    assert (report.verdict, count_findings_by_rule(report)) == ("conforms", {"LCP014": 1})


def test_hint_may_be_older_than_the_newest_checkpoint(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.checkpoint(0, log.rows((0, '{"protocol"'), (0, '{"metaData"')))
    log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    log.hint('{"version":0,"size":2}')
    assert_no_findings(log, tmp_path)


def test_some_versions_may_have_no_checksum(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.append(3, '{"commitInfo":{"operation":"RESTORE"}}')
    log.checksum(2, PLAIN_CHECKSUM)
    assert_no_findings(log, tmp_path)


def test_checksum_may_outlive_its_commit(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    log.drop(0, 1)
    log.checksum(0, PLAIN_CHECKSUM.replace('"tableSizeBytes":290,"numFiles":2', '"tableSizeBytes":0,"numFiles":0'))
    log.checksum(2, PLAIN_CHECKSUM)
    assert_no_findings(log, tmp_path)


def test_checksum_and_domains_may_have_unknown_fields(tmp_path: Path) -> None:
    log = RawLog("plain")
    log.checksum(
        2,
        PLAIN_CHECKSUM.replace(
            '"numFiles":2', '"numFiles":2,"txnId":"t","mood":{"good":true},"fileSizeHistogram":null'
        ),
    )
    assert_no_findings(log, tmp_path / "checksum")
    log = RawLog("rich")
    log.edit(3, '"removed":false}', '"removed":false,"owner":"me"}')
    assert_no_findings(log, tmp_path / "domains")


def test_rows_of_a_checkpoint_have_no_order(tmp_path: Path) -> None:
    log = RawLog("rich")
    rows: list[dict[str, Any]] = log.rows(*RICH_CHECKPOINT_ROWS)
    log.checkpoint(3, rows[::-1])
    assert_no_findings(log, tmp_path)
