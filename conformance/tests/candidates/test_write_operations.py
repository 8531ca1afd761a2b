"""Operations of `apply` reach an engine as plain JSON objects."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Apply
from deltaspec.candidates.write_operations import (
    CommitOptions,
    Delete,
    Merge,
    RenameColumn,
    Transaction,
    Where,
    WriteOperation,
    parse_operation,
)

_TREE = ["=", ["col", "id"], ["lit", "long", "3"]]


class _RecordingEngine:
    """Keeps what it is asked to write."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any, Any]] = []

    def hello(self) -> dict[str, Any]:
        return {"name": "recorder", "version": "1"}

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        self.requests.append((table, operation, commit))
        return {"committed": True, "version": 1}


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        (Delete(), {"kind": "delete"}),
        (Delete(Where("id = 3", _TREE)), {"kind": "delete", "where": {"sql": "id = 3", "tree": _TREE}}),
        (Merge("/r", ("id",), matched="update"), {"kind": "merge", "rows": "/r", "on": ["id"], "matched": "update"}),
        (
            RenameColumn(from_=("a", "b"), to=("a", "c")),
            {"kind": "rename-column", "from": ["a", "b"], "to": ["a", "c"]},
        ),
    ],
)
def test_engine_gets_plain_objects(tmp_path: Path, operation: WriteOperation, fields: dict[str, Any]) -> None:
    engine = _RecordingEngine()
    commit = CommitOptions(txn=Transaction("app", 4), domains={"d": None}, hooks=False)
    answer = InProcess(engine).apply(Apply(str(tmp_path), operation, commit))
    options = {"txn": {"app_id": "app", "version": 4}, "domains": {"d": None}, "hooks": False}
    assert engine.requests == [(str(tmp_path), fields, options)]
    assert answer.version == 1
    assert parse_operation(fields) == operation


@pytest.mark.parametrize(
    "fields", [{"kind": "truncate"}, {"kind": "append"}, {"kind": "merge", "rows": "/r", "on": []}, {}]
)
def test_invalid_operation_is_an_error(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_operation(fields)
