"""Express the operations of a history as commits of a write spec, as far as the form allows it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from deltaspec.golden.writers.form import (
    AddedFile,
    Commit,
    CreateTable,
    Delete,
    Domain,
    EvolveSchema,
    Insert,
    LowLevelCommit,
    RemovedFiles,
    ReplaceTable,
    Transaction,
    Update,
    UpdateProperties,
)
from deltaspec.protocol.property_names import GENERATION_EXPRESSION, IDENTITY_START
from deltaspec.protocol.schema.data_types import INTEGER_BITS
from deltaspec_generators.histories.drawing import DRAWERS, Step
from deltaspec_generators.histories.plain_table import Effect

_ENGINE_KEYS = (GENERATION_EXPRESSION, IDENTITY_START)
"""Keys of column metadata that a replay of `create_table` loses, because it creates the table with SQL."""


class Inexpressible(ValueError):
    """The form has no commit for an operation; the text says why."""


class Expression:
    """Expresses one history. `live_commits` are the commits that added the live files; None if they are not known."""

    def __init__(self) -> None:
        self.live_commits: list[int] | None = []

    def express(self, step: Step, effect: Effect, number: int) -> Commit:
        """Return an operation as commit `number` of a write spec. Raises `Inexpressible`."""
        express = _EXPRESSED.get(step.kind)
        if express is None:
            raise Inexpressible(f"the form has no operation {step.kind}")
        if effect.may_be_refused:
            raise Inexpressible("a writer may also refuse the operation")
        commit = express(self, step.operation, effect, number)
        self._follow(step.kind, commit, number)
        if not step.commit:
            return commit
        return _add_options(step.commit, commit)

    def _follow(self, kind: str, commit: Commit, number: int) -> None:
        if kind == "append" and self.live_commits is not None:
            self.live_commits.append(number)
        elif kind == "overwrite":
            self.live_commits = [number]
        elif isinstance(commit, ReplaceTable):
            self.live_commits = [number] if commit.data_files else []
        elif kind in ("delete", "update"):
            self.live_commits = None

    def create(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        schema = json.loads(operation["schema"])
        lost = sorted({key for field in schema["fields"] for key in _ENGINE_KEYS if key in field["metadata"]})
        if lost:
            raise Inexpressible(f"the form creates tables with SQL, without {', '.join(lost)}")
        if operation.get("rows"):
            raise Inexpressible("the form creates tables without rows")
        properties = dict(operation.get("properties") or {})
        return CreateTable(schema, tuple(operation.get("partition_by") or ()), properties)

    def replace(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        created = self.create({**operation, "rows": None}, effect, number)
        assert isinstance(created, CreateTable)
        files = (name_data_file(number),) if operation.get("rows") else ()
        return ReplaceTable(created.schema, created.partition_columns, created.properties, files)

    def append(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        if any(each.default is not None and any(each.name not in row for row in operation["rows"])
               for each in effect.table.columns):  # fmt: skip
            raise Inexpressible("data files have all columns, so no default value is used")
        return Insert((name_data_file(number),))

    def overwrite(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        if operation.get("where") is not None or self.live_commits is None:
            raise Inexpressible("the form removes all files of a commit or none")
        removed = tuple(RemovedFiles(each) for each in self.live_commits)
        return LowLevelCommit(add_files=(AddedFile(name_data_file(number)),), remove_files=removed)

    def delete(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        _require_effect(effect)
        return Delete(_get_sql(operation))

    def update(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        _require_effect(effect)
        values = {name: _render_literal(kind, text) for name, (_, kind, text) in operation["set"].items()}
        return Update(_get_sql(operation), values)

    def set_properties(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        given = operation["properties"]
        removed = tuple(name for name, text in given.items() if text is None)
        if removed and len(removed) < len(given):
            raise Inexpressible("a commit of the form sets properties or removes some, not both")
        return UpdateProperties(remove=removed) if removed else UpdateProperties(set=dict(given))

    def add_column(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        added = effect.table.columns[-1]
        return EvolveSchema(add_columns={"type": "struct", "fields": [dict(added.to_json())]})

    def rename_column(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        (old,), (new,) = operation["from"], operation["to"]
        return EvolveSchema(rename_columns={old: new})

    def drop_column(self, operation: Mapping[str, Any], effect: Effect, number: int) -> Commit:
        return EvolveSchema(drop_columns=tuple(operation["name"]))


_EXPRESSED: dict[str, Callable[[Expression, Mapping[str, Any], Effect, int], Commit]] = {
    "create": Expression.create,
    "replace": Expression.replace,
    "append": Expression.append,
    "overwrite": Expression.overwrite,
    "delete": Expression.delete,
    "update": Expression.update,
    "set-properties": Expression.set_properties,
    "add-column": Expression.add_column,
    "rename-column": Expression.rename_column,
    "drop-column": Expression.drop_column,
}
"""How each kind of operation that the form has is expressed."""
EXPRESSIBLE_KINDS = tuple(kind for kind in (*_EXPRESSED, "checkpoint", "checksum") if kind in DRAWERS)
"""Kinds of drawn operations with a commit or a spec in the form."""
INEXPRESSIBLE_FEATURES = ("generatedColumns", "identityColumns")
"""Features whose columns `create_table` cannot create."""


def name_data_file(number: int) -> str:
    """Return the path of the rows of a commit in a case."""
    return f"data/commit_{number}/part-00000.parquet"


def _require_effect(effect: Effect) -> None:
    if not effect.removed:
        raise Inexpressible("no row matches, so a writer may make a version or none")


def _get_sql(operation: Mapping[str, Any]) -> str:
    return "true" if operation.get("where") is None else str(operation["where"]["sql"])


def _render_literal(kind: str, text: str | None) -> str:
    if text is None:
        return "NULL"
    if kind in INTEGER_BITS or kind == "boolean":
        return text
    if kind == "double":
        return f"{text}D"
    if kind == "string" and not {"'", "\\"} & {*text}:
        return f"'{text}'"
    raise Inexpressible(f"{text!r} as {kind} has no literal that every SQL dialect reads")


def _add_options(options: Mapping[str, Any], commit: Commit) -> Commit:
    """Return a commit with a transaction and domains; the form has them only next to added and removed files."""
    match commit:
        case Insert(data_files):
            low_level = LowLevelCommit(add_files=tuple(AddedFile(each) for each in data_files))
        case LowLevelCommit():
            low_level = commit
        case _:
            raise Inexpressible("the form has transactions and domains only next to files")
    txn, domains = options.get("txn"), options.get("domains") or {}
    if set(options) - {"txn", "domains"}:
        raise Inexpressible("the form has no other options of a commit")
    return LowLevelCommit(
        txn=None if txn is None else Transaction(txn["app_id"], txn["version"]),
        add_files=low_level.add_files,
        remove_files=low_level.remove_files,
        add_domain_metadata=tuple(Domain(name, text) for name, text in domains.items() if text is not None),
        remove_domain_metadata=tuple(name for name, text in domains.items() if text is None),
    )
