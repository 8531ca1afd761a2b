"""Restate tables of the current revision in the form of an earlier one."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from deltaspec_generators.table_files import CheckpointFiles, Line, TableFiles
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.features import ROW_TRACKING
from deltaspec_generators.tables.readable import ReadableTable

_MARK = "rowIdHighWaterMark"


def restate_row_tracking(table: ReadableTable) -> ReadableTable:
    """Return the table with the largest row id as an action `rowIdHighWaterMark`, as in r2, instead of a domain.

    Rows, row ids and the places of both do not differ between the revisions.
    """
    versions = tuple(replace(each, state=_restate_state(each.state)) for each in table.versions)
    return replace(table, files=_restate_files(table.files), versions=versions)


def _restate_files(files: TableFiles) -> TableFiles:
    return replace(
        files,
        commits={version: list(_restate_lines(lines)) for version, lines in files.commits.items()},
        compactions={versions: list(_restate_lines(lines)) for versions, lines in files.compactions.items()},
        checkpoints=[_restate_checkpoint(each) for each in files.checkpoints],
        checksums={version: _restate_checksum(each) for version, each in files.checksums.items()},
    )


def _restate_checkpoint(checkpoint: CheckpointFiles) -> CheckpointFiles:
    return replace(checkpoint, rows=list(_restate_lines(checkpoint.rows)))


def _restate_lines(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        action: Any = line if isinstance(line, dict) else json.loads(line)
        domain = action.get("domainMetadata") if isinstance(action, dict) else None
        if domain is None or domain["domain"] != ROW_TRACKING:
            yield line
        elif not domain["removed"]:
            yield {_MARK: _build_mark(domain)}


def _restate_checksum(checksum: Any) -> Any:
    if not isinstance(checksum, dict) or "domainMetadata" not in checksum:
        return checksum
    domains = [each for each in checksum["domainMetadata"] if each["domain"] != ROW_TRACKING]
    return {**checksum, "domainMetadata": domains}


def _restate_state(state: WrittenState) -> WrittenState:
    domains = dict(state.domains)
    domain = domains.pop(ROW_TRACKING, None)
    return state if domain is None else replace(state, domains=domains, row_id_action=_build_mark(domain))


def _build_mark(domain: dict[str, Any]) -> dict[str, Any]:
    """Return the body of the action for a body of `domainMetadata`."""
    (mark,) = json.loads(domain["configuration"]).values()
    return {"highWaterMark": mark}
