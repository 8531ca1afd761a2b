"""View over the staged commits of a catalog-managed table."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from deltaspec.views.base import Column, View
from deltaspec.views.log.staged_copies import CommitContent, is_illegal_copy
from deltaspec.wire.log.line_decoder import LogFile

staged_commits = View(
    name="staged_commits",
    grain="file in `_staged_commits` of a catalog-managed table",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the file name, which the commit was proposed for"),
        "file": Column(pl.String, "file name, relative to the table root"),
        "line": Column(pl.Int64, "line number of `fault`, starting at 1"),
        "fault": Column(
            pl.String,
            "why a line is not valid in a commit; null if all lines are, or if only the last line is truncated",
        ),
        "versions_of_uuid": Column(pl.List(pl.Int64), "versions of all staged commits with the same UUID"),
        "differs_from_published": Column(
            pl.Boolean,
            "whether it has different actions than the published commit of its version, and the same txnId, unless the "
            "catalog ratified it; null if no commit of the version is published",
        ),
    },
)

_CHECKPOINT_ACTIONS = ("checkpointMetadata", "sidecar")


def find_staged_commit_fault(log: LogFile, *, is_terminated: bool) -> tuple[int, str] | None:
    """Return the number of the first invalid line of a staged commit and the reason.

    Args:
        log: the decoded file.
        is_terminated: the file ends with a line break; otherwise an unfinished write may have truncated the last line.
    """
    for number, (kind, fault) in enumerate(log.lines, 1):
        if kind in _CHECKPOINT_ACTIONS:
            return number, f"a commit has a {kind} action, which only checkpoints may have"
        if fault is None:
            continue
        if fault.json_error is not None and (is_terminated or number < len(log.lines)):
            return number, f"the line is not JSON: {fault.json_error}"
        if fault.schema_error is not None:
            return number, fault.schema_error
        if fault.known_actions > 1:
            return number, f"expected one action in the line, found {fault.known_actions}"
    return None


def differs(published: bytes, staged: bytes) -> bool:
    """Return whether a staged commit has the txnId of the published one but different actions.

    Raises:
        RecursionError: a line is nested too deeply.
    """
    return is_illegal_copy(_content(published), _content(staged))


def is_other_copy(published: bytes, ratified: bytes) -> bool:
    """Return whether a published commit has other actions than the ratified one: publishing copies it.

    Raises:
        RecursionError: a line is nested too deeply.
    """
    return _list_actions(published) != _list_actions(ratified)


def _list_actions(data: bytes) -> list[str]:
    return sorted(json.dumps(_drop_nulls(each), sort_keys=True) for each in iter_documents(data))


def _content(data: bytes) -> CommitContent:
    documents = list(iter_documents(data))
    infos = [each["commitInfo"] for each in documents if isinstance(each.get("commitInfo"), dict)]
    transaction = next((info["txnId"] for info in infos if isinstance(info.get("txnId"), str)), None)
    other_actions = [json.dumps(_drop_nulls(each), sort_keys=True) for each in documents if "commitInfo" not in each]
    return CommitContent(transaction, other_actions)


def iter_documents(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of the lines; other lines are skipped because another rule reports them.

    Raises:
        RecursionError: a line is nested too deeply.
    """
    for line in data.split(b"\n"):
        try:
            document = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError):
            continue
        if isinstance(document, dict):
            yield document


def _drop_nulls(value: Any) -> Any:
    """Remove null members recursively: null and absent mean the same."""
    if isinstance(value, dict):
        return {key: _drop_nulls(member) for key, member in value.items() if member is not None}
    return [_drop_nulls(each) for each in value] if isinstance(value, list) else value
