"""`plan.json`: what a repair would do to a table, and what the table would be afterwards.

A plan is a folder: `plan.json`, the content of each new file of the log in `files/`, and `README.md` for the person who
reviews it. `deltaspec repair apply` compares all of it with the table, because a plan is not trusted.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec

from deltaspec.json_schemas import describe_type
from deltaspec.protocol.log.file_names import MAX_VERSION
from deltaspec.report.report_types import Verdict

PLAN_FORMAT: Literal[1] = 1
"""Increases when a field is removed or changes its meaning. A new field keeps it."""

RepairKind = Literal[
    "remove-file",
    "remove-vector",
    "set-aside-derived-file",
    "write-checkpoint",
    "correct-statistics",
    "remove-duplicate",
    "raise-mark",
    "list-feature",
    "set-partition-value",
    "set-aside-history",
    "return-to-version",
]
RowEffect = Literal["none", "lost", "returned", "duplicates-end"]
"""What happens to rows: nothing, rows are lost, deleted rows come back, or rows that were read twice are read once."""

_Size = Annotated[int, msgspec.Meta(ge=0)]
_Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_VERSION)]
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class LogFileDigest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the log, and its content."""

    name: str
    """Relative to `_delta_log`, such as `_last_checkpoint`."""
    size_bytes: _Size
    sha256: _Digest


class PartitionRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many rows of one partition a repair concerns."""

    partition_values: dict[str, str | None]
    """As the log writes them. Empty for a table without partitions."""
    files: _Size
    rows: _Size | None
    """None if neither statistics nor a footer says how many."""


class Repair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One repair: what it does, and to which files."""

    kind: RepairKind
    rules: list[str]
    """Codes of the rules whose findings it ends."""
    summary: str
    """One sentence: what is written, or set aside, and why."""
    files: list[str]
    """Paths as written in the log, or names relative to `_delta_log` for files of the log."""
    effect: RowEffect
    rows: list[PartitionRows] = []
    """The rows that are lost, come back, or end as duplicates."""
    list_rows: str | None = None
    """Command that lists these rows; None if they cannot be listed, because the file cannot be read."""
    found_elsewhere: list[str] = []
    """Where a missing file may be: other spellings, folders of trash, copies of the table, versions of the object."""
    not_searched: list[str] = []
    """Where the search for a missing file is not complete, and why."""


class NotRepaired(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finding that the plan does not end, and the reason."""

    rule: str
    location: str
    reason: str
    choices: list[str] = []
    """Values of `--choose` that would repair it. Nothing is chosen without them."""
    found_elsewhere: list[str] = []
    """Where a file that is missing or damaged may be, as in `Repair`."""


class VerdictSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a validation of the table said, before the repair or of the overlay."""

    level: str
    verdict: Verdict
    violations: dict[str, int]
    """Number of violations by code of the rule, without accepted ones."""
    not_checked: int
    """Entries of the ledger that are not accepted."""


class RowComparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows before and after, by file: all live files if the plan writes a checkpoint, else files in the commit."""

    equal_files: _Size
    """Compared files with the same rows before and after."""
    different_files: list[str]
    """Files whose rows differ, are new or are gone. The repairs declare each of them."""
    not_compared: list[str] = []
    """Files that could not be read before or after, which the repairs declare too."""


class RepairPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A repair of one table at one version."""

    plan_format: Literal[1] = PLAN_FORMAT
    deltaspec: str
    """Release that made the plan."""
    table: str
    """URI or absolute path, without secrets."""
    table_id: str
    version: _Version
    """Latest version of the table when the plan was made."""
    listing: _Digest
    """SHA-256 of the names and sizes of all files of the log when the plan was made; see `digest_listing`."""
    created_ms: int
    allow_outside: bool = False
    """Whether the plan was made with `--allow-outside`. A plan cannot allow it: `apply` needs the option again."""
    writer_time_zone: str | None = None
    """Value of `--writer-time-zone` with which the plan was made; `apply` uses it again."""
    commit: LogFileDigest | None
    """The commit that the plan adds, with the version after `version`; None if no commit is needed."""
    writes: list[LogFileDigest] = []
    """Further new files of the log, in the order in which they are written. They replace files of `set_aside` only."""
    set_aside: list[LogFileDigest] = []
    """Files of the log that are copied out of the table and deleted, in this order, before `writes`."""
    set_aside_after: list[LogFileDigest] = []
    """Files that are set aside in the same way, but after `writes`, because a file of `writes` replaces them."""
    repairs: list[Repair]
    not_repaired: list[NotRepaired] = []
    before: VerdictSummary
    after: VerdictSummary
    after_cleanup: VerdictSummary | None = None
    """What a validation will say when log cleanup has deleted the commits up to `version`; None if the repairs need no
    cleanup to end their findings."""
    rows: RowComparison


def build_plan_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `RepairPlan`."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "deltaspec repair plan"}
    return {**head, **describe_type(RepairPlan)}


def render_plan_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_plan_schema(), indent=2) + "\n"
