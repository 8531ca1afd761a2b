"""A defect of a checkpoint that hides actions gives one finding; what depends on the actions is undecided."""

import pytest
from validation.test_edges_of_the_log import build_table_with_base, validate

from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.table_files import LOG, TableFiles, encode_table
from planted_tables.bases import log_only

HISTORIES = ("latest", "1", "all")
ACTIONS = {
    "garbage": "garbage\n",
    "two actions": '{"txn":{"appId":"a","version":1},"add":{}}\n',
    "add": '{"add":{"path":7}}\n',
    "remove": '{"remove":{"path":7}}\n',
    "sidecar": '{"sidecar":{"path":"x.parquet"}}\n',
}
RULES = {"garbage": "LIN001", "two actions": "LIN002", "add": "LIN010", "remove": "LIN011", "sidecar": "LIN019"}


def build_json_checkpoint(*, is_base: bool) -> TableFiles:
    """Build a V2 table with a JSON checkpoint of version 1; as base, the commits before it are missing."""
    files = log_only.build_v2_checkpointed_table("uuid-json", sidecars=False)
    if is_base:
        del files.commits[0]
    return files


def replace_checkpoint(files: TableFiles, data: bytes | None = None, line: str = "") -> str:
    """Replace the content of the checkpoint, or its two adds by a line; return its path."""
    (path,) = (path for path in encode_table(files) if ".checkpoint." in path)
    lines = encode_table(files)[path].splitlines(keepends=True)
    changed = b"".join([*lines[:-2], line.encode()])
    files.extra[path] = changed if data is None else data
    return path


def get_reasons(report: Report, rule: str) -> set[str]:
    return {each.reason for each in report.checked.not_checked if each.rule == rule}


@pytest.mark.parametrize("is_base", [False, True])
@pytest.mark.parametrize("kind", ACTIONS)
def test_undecodable_line_is_the_only_finding(kind: str, is_base: bool) -> None:
    files = build_json_checkpoint(is_base=is_base)
    replace_checkpoint(files, line=ACTIONS[kind])
    for history in HISTORIES:
        report = validate(files, history)
        assert report.totals.keys() - {"LOG020"} == {RULES[kind]}, f"{history=}"
        assert get_reasons(report, "CKP030"), f"{history=}"
        assert bool(get_reasons(report, "CKP002")) is (kind in ("garbage", "two actions")), f"{history=}"


@pytest.mark.parametrize("is_base", [False, True])
@pytest.mark.parametrize("data", [b"garbage\n" * 3, b"\xff\xfe", b"null\n"])
def test_checkpoint_of_undecodable_lines_has_one_cause(data: bytes, is_base: bool) -> None:
    files = build_json_checkpoint(is_base=is_base)
    replace_checkpoint(files, data)
    for history in HISTORIES:
        report = validate(files, history)
        assert report.totals.keys() - {"LOG020"} == {"LIN001"}, f"{history=}"
        (reason,) = get_reasons(report, "CKP030") | get_reasons(report, "CKP003")
        assert reason == "a line of the checkpoint cannot be decoded", f"{history=}"


@pytest.mark.parametrize("is_base", [False, True])
@pytest.mark.parametrize("data", [b"", b'{"unknown":{}}\n'])
def test_checkpoint_without_any_action_is_unreadable(data: bytes, is_base: bool) -> None:
    files = build_json_checkpoint(is_base=is_base)
    path = replace_checkpoint(files, data)
    for history in HISTORIES:
        report = validate(files, history)
        assert report.totals.keys() - {"LOG020"} == {"CKP001"}, f"{history=}"
        assert get_reasons(report, "CKP030") == {f"{path.removeprefix(LOG)}: it has no action"}, f"{history=}"
        assert not get_reasons(report, "CKP001"), f"{history=}"


def test_parquet_checkpoint_without_rows_is_unreadable() -> None:
    files = log_only.build_checkpointed_table()
    files.checkpoints = [CheckpointFiles(1, rows=[])]
    for history in HISTORIES:
        assert validate(files, history).totals == {"CKP001": 1}


# the hint


def add_hint(files: TableFiles, version: int, **fields: int) -> Row:
    files.last_checkpoint = {"version": version, "size": 1, **fields}
    return files.last_checkpoint


def list_uncompared(report: Report) -> dict[str, str]:
    return {each.file: each.reason for each in report.checked.derived_files_not_compared}


def test_hint_of_an_undecoded_checkpoint_is_undecided() -> None:
    files = build_json_checkpoint(is_base=False)
    add_hint(files, 1)
    replace_checkpoint(files, b"garbage\n")
    report = validate(files)
    assert "LCP013" not in report.totals
    assert get_reasons(report, "LCP013") == {"a line of the checkpoint cannot be decoded"}
    assert not get_reasons(report, "LCP004")


def test_hint_whose_checkpoint_was_not_read_is_named() -> None:
    files = log_only.build_table(last_remove=False)
    state = log_only.build_state_rows(files)
    files.checkpoints = [CheckpointFiles(version, rows=state[: version + 3]) for version in (0, 1)]
    files.checkpoints[0].rows = state[:2]
    files.checkpoints.append(CheckpointFiles(2, rows=[*state, files.commits[2][1]]))
    add_hint(files, 0)
    hint = f"{LOG}_last_checkpoint"
    assert list_uncompared(validate(files, "latest"))[hint] == "its checkpoint was not read: history is latest"
    report = validate(files, "all")
    assert (report.totals, list_uncompared(report)) == ({"LCP013": 1}, {})
    add_hint(files, 2)
    assert list_uncompared(validate(files, at=1))[hint] == "its checkpoint is later than version 1"


def test_hint_of_a_deleted_checkpoint_is_named() -> None:
    files = build_table_with_base()
    add_hint(files, 1)
    for history in HISTORIES:
        report = validate(files, history)
        reason = list_uncompared(report)[f"{LOG}_last_checkpoint"]
        assert (report.verdict, reason) == ("conforms", "no complete checkpoint of version 1 is listed"), f"{history=}"


def test_hint_of_a_checkpoint_before_a_gap_is_compared() -> None:
    files = log_only.build_table(last_remove=False)
    state = log_only.build_state_rows(files)
    files.checkpoints = [CheckpointFiles(0, rows=state[:2]), CheckpointFiles(2, rows=[*state, files.commits[2][1]])]
    del files.commits[1]
    add_hint(files, 0)
    report = validate(files, "all")
    assert "LCP013" in report.totals
    assert f"{LOG}_last_checkpoint" not in list_uncompared(report)


def test_hint_with_a_negative_version_is_malformed() -> None:
    files = log_only.build_checkpointed_table()
    add_hint(files, -1)
    assert validate(files).totals == {"LCP001": 1}
