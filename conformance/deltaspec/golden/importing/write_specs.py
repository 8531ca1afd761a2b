"""Read what a case for writers asks to perform, and translate its commits into operations of the candidate protocol."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.errors import InvalidUsage
from deltaspec.golden.importing.folder import ImportFolder
from deltaspec.golden.importing.questions import CannotAsk, PerformOperations
from deltaspec.golden.importing.sql_predicates import NotTranslatable, build_literal, build_predicate_tree
from deltaspec.golden.writers.form import (
    Commit,
    CreateTable,
    Delete,
    EvolveSchema,
    Insert,
    LowLevelCommit,
    ReplaceTable,
    Update,
    UpdateProperties,
)
from deltaspec.protocol.schema.data_types import Array, Map, Struct, get_type_name
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.histories.drawing import Step
from deltaspec_generators.values.arrow_values import to_plain_values

OPERATIONS = "specs-x/operations.json"


class CannotPerform(ValueError):
    """The candidate protocol has no operation for a commit; the text says why."""


def read_commits(
    folder: ImportFolder, directory: Path, name: str, documents: Sequence[Mapping[str, Any]]
) -> tuple[tuple[Commit, ...], dict[str, Path]] | CannotAsk:
    """Decode the commits of a write spec and find their data files. Raises `InvalidUsage` if a file is missing."""
    try:
        commits = tuple(msgspec.convert(each, Commit) for each in documents)
    except msgspec.ValidationError as error:
        return CannotAsk(name, f"a commit of the spec is not known: {error}")
    files = {path: _find_file(folder, directory, path) for each in commits for path in _list_data_files(each)}
    return commits, files


def _list_data_files(commit: Commit) -> tuple[str, ...]:
    match commit:
        case Insert() | ReplaceTable():
            return commit.data_files
        case LowLevelCommit():
            return tuple(each.data_file for each in commit.add_files)
    return ()


def _find_file(folder: ImportFolder, directory: Path, path: str) -> Path:
    """Return a file of the case. Raises `InvalidUsage` if the listing has no such file."""
    target = directory / path
    if target.name not in folder.list_names(target.parent):
        raise InvalidUsage(f"{directory}: the data file {path} is missing")
    return target


def read_operations(folder: ImportFolder, directory: Path) -> PerformOperations:
    """Read a history of deltaspec. Raises `InvalidUsage`."""
    document = folder.read_document(directory / OPERATIONS, _Operations)
    steps = []
    for each in document.operations:
        operation = dict(each.operation)
        if isinstance(operation.get("rows"), str):
            operation["rows"] = _read_plain_rows(_find_file(folder, directory, operation["rows"]))
        steps.append(Step(operation, each.commit))
    return PerformOperations("operations", tuple(steps))


def _read_plain_rows(path: Path) -> list[dict[str, Any]]:
    """Read rows as values of a plain table: decimals are text."""
    try:
        rows = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        raise InvalidUsage(f"{path}: {error}") from None
    columns = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        values = to_plain_values(column)
        is_decimal = pa.types.is_decimal(column.type)
        columns[name] = [None if each is None else str(each) for each in values] if is_decimal else values
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


class _Operation(msgspec.Struct, frozen=True):
    operation: dict[str, Any]
    commit: dict[str, Any] = {}


class _Operations(msgspec.Struct, frozen=True):
    operations: tuple[_Operation, ...]


class Performable(msgspec.Struct, frozen=True):
    """A commit as a request `apply`."""

    operation: dict[str, Any]
    data_files: tuple[str, ...] = ()
    """Files with the rows of the operation, by path in the case."""
    commit: dict[str, Any] = {}


def translate_commit(commit: Commit, schema: Struct, live: tuple[int, ...] | None) -> Performable:
    """Return a commit as an operation of the candidate protocol, without its rows.

    Args:
        commit: the commit.
        schema: schema of the table before it; empty if there is no table.
        live: earlier commits whose files are the live files, if they still are complete; None if that is not known.

    Raises:
        CannotPerform: the protocol has no such operation.
    """
    match commit:
        case CreateTable() | ReplaceTable():
            kind = "create" if isinstance(commit, CreateTable) else "replace"
            fields = {"schema": json.dumps(commit.schema), "partition_by": commit.partition_columns}
            files = commit.data_files if isinstance(commit, ReplaceTable) else ()
            return Performable({"kind": kind, **fields, "properties": commit.properties}, files)
        case Insert():
            return Performable({"kind": "append"}, commit.data_files)
        case Delete():
            return Performable({"kind": "delete", "where": _translate_predicate(commit.predicate, schema)})
        case Update():
            values = {name: _translate_value(name, text, schema) for name, text in commit.set.items()}
            return Performable(
                {"kind": "update", "set": values, "where": _translate_predicate(commit.predicate, schema)}
            )
        case UpdateProperties():
            return Performable({"kind": "set-properties", "properties": {**commit.set, **dict.fromkeys(commit.remove)}})
        case EvolveSchema():
            return Performable(_translate_evolution(commit))
    return _translate_low_level(commit, live)


def _translate_predicate(sql: str, schema: Struct) -> dict[str, Any] | None:
    if sql.strip().lower() == "true":
        return None
    try:
        return {"sql": sql, "tree": build_predicate_tree(sql, schema)}
    except NotTranslatable as reason:
        raise CannotPerform(f"the predicate {reason}: {sql}") from None


def _translate_value(name: str, sql: str, schema: Struct) -> list[Any]:
    field = next((each for each in schema.fields if each.name.lower() == name.lower()), None)
    if field is None:
        raise CannotPerform(f"the table has no column {name}")
    try:
        return ["lit", get_type_name(field.type), build_literal(sql, field.type)]
    except NotTranslatable as reason:
        raise CannotPerform(f"the new value of {name} {reason}: {sql}") from None


def _translate_evolution(commit: EvolveSchema) -> dict[str, Any]:
    added = () if commit.add_columns is None else parse_schema(json.dumps(commit.add_columns)).fields
    if len(added) + len(commit.rename_columns) + len(commit.drop_columns) != 1:
        raise CannotPerform("a commit changes several columns at once")
    for old, new in commit.rename_columns.items():
        return {"kind": "rename-column", "from": [old], "to": [new]}
    for field in added:
        if isinstance(field.type, Struct | Array | Map):
            raise CannotPerform(f"the type of a new column is nested ({get_type_name(field.type)})")
        kind = get_type_name(field.type)
        return {"kind": "add-column", "name": [field.name], "type": kind, "nullable": field.nullable}
    return {"kind": "drop-column", "name": list(commit.drop_columns)}


def _translate_low_level(commit: LowLevelCommit, live: tuple[int, ...] | None) -> Performable:
    if commit.schema is not None or commit.table_properties:
        raise CannotPerform("a commit writes metadata next to files")
    if not commit.add_files:
        raise CannotPerform("a commit adds no file")
    removed = sorted(each.added_at_commit for each in commit.remove_files)
    if removed and (live is None or removed != sorted(live)):
        raise CannotPerform("a commit removes some files, and no operation removes files by name")
    domains: dict[str, str | None] = {each.domain: each.configuration for each in commit.add_domain_metadata}
    domains |= dict.fromkeys(commit.remove_domain_metadata)
    options: dict[str, Any] = {"domains": domains} if domains else {}
    if commit.txn is not None:
        options["txn"] = {"app_id": commit.txn.app_id, "version": commit.txn.version}
    files = tuple(each.data_file for each in commit.add_files)
    return Performable({"kind": "overwrite" if removed else "append"}, files, options)


def follow_live_commits(commit: Commit, number: int, live: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the commits whose files are the live files after a commit; None if that is no longer known."""
    match commit:
        case CreateTable() | ReplaceTable(data_files=()):
            return ()
        case Insert() | LowLevelCommit(remove_files=()):
            return None if live is None else (*live, number)
        case ReplaceTable() | LowLevelCommit():
            return (number,)
        case EvolveSchema() | UpdateProperties():
            return live
    return None
