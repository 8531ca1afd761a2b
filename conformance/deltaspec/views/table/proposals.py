"""Views over the requirements of proposals. The protocol does not contain them, so findings are divergences (S44)."""

from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.views.base import LOCATION_COLUMNS, STATE_COLUMNS, STATE_KINDS, Column, View
from deltaspec.views.files.proposed_files import FileFields, ProposedFiles, find_file_checks
from deltaspec.views.table.proposal_checks import ProposalCheck, ProposedState, find_state_checks

Row = dict[str, Any]
_CHECK_COLUMNS = {
    "requirement": Column(pl.String, "id of the requirement of the proposal", shown=True),
    "subject": Column(pl.String, "column, property, feature or field that it concerns", shown=True),
    "fault": Column(pl.String, "how the subject violates the requirement; null if it does not"),
}

proposals = View(
    name="proposals",
    decided_by=STATE_KINDS,
    grain="requirement of a proposal and its subject, at each version in which the row changed",
    key=(),
    columns={**STATE_COLUMNS, **_CHECK_COLUMNS},
)

proposed_files = View(
    name="proposed_files",
    decided_by=STATE_KINDS,
    grain="add or remove action of a version that uses a proposal, and each requirement that it violates or fulfils",
    key=(),
    columns={**LOCATION_COLUMNS, "path": Column(pl.String, "path, as written"), **_CHECK_COLUMNS},
)


def build_proposal_rows(state: ProposedState) -> list[tuple[tuple[str, str], Row]]:
    """Return the rows of `proposals` without location, each with its key."""
    return [((each.requirement, each.subject), _describe(each)) for each in find_state_checks(state)]


def build_proposed_file_rows(
    table: pa.Table, file: str | list[str], version: int | list[int], files: ProposedFiles
) -> list[Row]:
    """Return the rows of `proposed_files` for file actions.

    Args:
        table: file actions with the columns of `FILE_ACTION_SCHEMA`.
        file: log file of all actions, or of each.
        version: version of all actions, or of each.
        files: requirements that they are compared with.
    """
    rows = []
    for index, action in enumerate(table.to_pylist()):
        if action["kind"] not in ("add", "remove"):
            continue
        fields = FileFields(
            action["kind"],
            action["stats"],
            dict(action["partition_values"] or ()),
            action["deletion_timestamp"],
            action["extended_file_metadata"],
            action["dv_storage_type"],
        )
        location = {
            "version": version if isinstance(version, int) else version[index],
            "file": file if isinstance(file, str) else file[index],
            "line": action["line"],
            "path": action["path"],
        }
        found = [_describe(each) for each in find_file_checks(fields, files)]
        rows += [location | row for row in found or [{}]]
    return rows


def _describe(check: ProposalCheck) -> Row:
    return {"requirement": check.requirement, "subject": check.subject, "fault": check.fault}
