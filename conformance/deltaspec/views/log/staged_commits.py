"""The view over staged commits, attempts at versions of a catalog-managed table."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from deltaspec.model.commit.catalog_managed import CommitContent, is_illegal_copy
from deltaspec.views.base import Column, View
from deltaspec.wire.log.line_decoder import LogFile

staged_commits = View(
    name="staged_commits",
    grain="file in `_staged_commits` of a catalog-managed table",
    key=(),
    columns={
        "version": Column(pl.Int64, "version in the name, that the commit was to be"),
        "file": Column(pl.String, "name, relative to the table"),
        "line": Column(pl.Int64, "the line of `fault`, counted from 1"),
        "fault": Column(
            pl.String,
            "what makes a line no line of a commit; null where nothing does, or where the last line is cut short",
        ),
        "versions_of_uuid": Column(pl.List(pl.Int64), "versions of the staged commits that have its UUID"),
        "differs_from_published": Column(
            pl.Boolean,
            "it is of the transaction of the published commit of its version, and holds other actions; null where no "
            "commit of the version is published",
        ),
    },
)

_OF_CHECKPOINTS = ("checkpointMetadata", "sidecar")


def find_staged_commit_fault(log: LogFile) -> tuple[int, str] | None:
    """The first line of a staged commit that no commit could hold, and why; the last one may be cut short."""
    for number, (kind, fault) in enumerate(log.lines, 1):
        if kind in _OF_CHECKPOINTS:
            return number, f"{kind} stands in checkpoints only"
        if fault is None:
            continue
        if fault.json_error is not None and number < len(log.lines):
            return number, f"is no JSON: {fault.json_error}"
        if fault.schema_error is not None:
            return number, fault.schema_error
        if fault.actions > 1:
            return number, f"holds {fault.actions} actions"
    return None


def differs(published: bytes, staged: bytes) -> bool:
    """Whether a staged commit is of the transaction of the published one, and holds other actions."""
    return is_illegal_copy(_content(published), _content(staged))


def _content(data: bytes) -> CommitContent:
    documents = list(_documents(data))
    infos = [each["commitInfo"] for each in documents if isinstance(each.get("commitInfo"), dict)]
    transaction = next((info["txnId"] for info in infos if isinstance(info.get("txnId"), str)), None)
    others = [json.dumps(_present(each), sort_keys=True) for each in documents if "commitInfo" not in each]
    return CommitContent(transaction, others)


def _documents(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of the lines; what is none says nothing here."""
    for line in data.split(b"\n"):
        try:
            document = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, ValueError):
            continue
        if isinstance(document, dict):
            yield document


def _present(value: Any) -> Any:
    """A value without members that are null: they say what absent ones do."""
    if isinstance(value, dict):
        return {key: _present(member) for key, member in value.items() if member is not None}
    return [_present(each) for each in value] if isinstance(value, list) else value
