"""State of the catalog: its tables, and the commits that it ratified. Every change is atomic."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from deltaspec.catalog_server.errors import ApiError
from deltaspec.output_files import write_file

MAX_UNPUBLISHED = 50
"""Default limit of ratified commits of a table that are not published."""


class StagedCommitInfo(msgspec.Struct, rename="kebab"):
    """A commit that a client asks the catalog to ratify (`DeltaCommit`)."""

    version: int
    timestamp: int
    file_name: str
    file_size: int
    file_modification_timestamp: int


class Table(msgspec.Struct):
    """A table of the catalog."""

    id: str
    catalog: str
    schema: str
    name: str
    location: str
    type: str
    columns: dict[str, Any]
    properties: dict[str, str]
    created_ms: int
    updated_ms: int
    partition_columns: list[str] = []
    comment: str | None = None
    owner: str = ""
    protocol: dict[str, Any] = {}
    domains: dict[str, Any] = {}
    last_commit_version: int = 0
    """Version of the last commit that changed metadata."""
    last_commit_ms: int = 0
    latest: int | None = None
    """Latest ratified version; None if the catalog does not manage the commits of the table."""
    published: int = 0
    """Latest version that a client reported as published."""
    commits: dict[int, StagedCommitInfo] = {}
    """Ratified commits that are not reported as published, by version."""
    accepted: dict[int, str] = {}
    """File name of every commit that was ratified, by version."""
    changes: int = 0
    """Number of changes; the entity tag."""

    @property
    def full_name(self) -> str:
        """`catalog.schema.table`."""
        return f"{self.catalog}.{self.schema}.{self.name}"


class StagingTable(msgspec.Struct):
    """A table whose version 0 is being written."""

    id: str
    catalog: str
    schema: str
    name: str
    location: str


class State(msgspec.Struct):
    """Everything that the catalog knows."""

    tables: dict[str, Table] = {}
    """By full name."""
    staging: dict[str, StagingTable] = {}
    """By id."""


class Catalog:
    """Tables of one catalog server."""

    def __init__(
        self,
        warehouse: str,
        *,
        schemas: Mapping[str, list[str]] | None = None,
        max_unpublished: int = MAX_UNPUBLISHED,
        state_file: str | None = None,
    ) -> None:
        """Begin without tables, or with the tables of a file.

        Args:
            warehouse: URI of the directory for managed tables.
            schemas: names of the schemas of each catalog.
            max_unpublished: limit of ratified commits of a table that are not published.
            state_file: JSON file that keeps the state when the server ends; None to keep none.
        """
        self.warehouse = warehouse.rstrip("/")
        self.schemas = {"main": ["default"]} if schemas is None else dict(schemas)
        self.max_unpublished = max_unpublished
        self._lock = threading.RLock()
        self._file = None if state_file is None else Path(state_file)
        self._state = State()
        if self._file is not None and self._file.exists():
            self._state = msgspec.json.decode(self._file.read_bytes(), type=State)

    def create_staging_table(self, catalog: str, schema: str, name: str) -> StagingTable:
        """Allocate the id and the location of a table."""
        self._check_name(catalog, schema, name)
        with self._lock:
            if f"{catalog}.{schema}.{name}" in self._state.tables:
                raise ApiError("AlreadyExistsException", f"table {catalog}.{schema}.{name} exists")
            table_id = str(uuid.uuid4())
            table = StagingTable(table_id, catalog, schema, name, f"{self.warehouse}/{table_id}")
            self._state.staging[table_id] = table
            self._save()
            return table

    def create_table(self, catalog: str, schema: str, request: Mapping[str, Any]) -> Table:
        """Create a table from a `DeltaCreateTableRequest`. A managed table needs its staging table."""
        name = request["name"]
        self._check_name(catalog, schema, name)
        with self._lock:
            if f"{catalog}.{schema}.{name}" in self._state.tables:
                raise ApiError("AlreadyExistsException", f"table {catalog}.{schema}.{name} exists")
            is_managed = request["table-type"] == "MANAGED"
            location = request["location"].rstrip("/")
            table_id = self._find_staging(catalog, schema, name, location) if is_managed else str(uuid.uuid4())
            now = _now_ms()
            table = Table(
                *(table_id, catalog, schema, name, location, request["table-type"]),
                columns=request["columns"],
                properties=dict(request["properties"]),
                created_ms=now,
                updated_ms=now,
                partition_columns=request.get("partition-columns", []),
                comment=request.get("comment"),
                protocol=request["protocol"],
                domains=request.get("domain-metadata", {}),
                last_commit_ms=request["last-commit-timestamp-ms"],
                latest=0 if is_managed else None,
            )
            self._state.staging.pop(table_id, None)
            self._state.tables[table.full_name] = table
            self._save()
            return table

    def add_table(self, table: Table) -> None:
        """Register a table that exists, without its staging table."""
        with self._lock:
            self._state.tables[table.full_name] = table
            self._save()

    def find_table(self, catalog: str, schema: str, name: str) -> Table:
        """Return a copy of a table."""
        self._check_schema(catalog, schema)
        with self._lock:
            table = self._state.tables.get(f"{catalog}.{schema}.{name}")
            if table is None:
                raise ApiError("NoSuchTableException", f"no table {catalog}.{schema}.{name}")
            return _copy(table)

    def find_table_by_id(self, table_id: str) -> Table:
        """Return a copy of the table with an id."""
        with self._lock:
            for table in self._state.tables.values():
                if table.id == table_id:
                    return _copy(table)
        raise ApiError("NoSuchTableException", f"no table with id {table_id}")

    def find_staging_table(self, table_id: str) -> StagingTable:
        """Return the staging table with an id."""
        with self._lock:
            found = self._state.staging.get(table_id)
        if found is None:
            raise ApiError("NoSuchTableException", f"no staging table with id {table_id}")
        return found

    def list_tables(self, catalog: str, schema: str) -> list[Table]:
        """Return copies of the tables of a schema, by name."""
        self._check_schema(catalog, schema)
        with self._lock:
            tables = sorted(self._state.tables.items())
            return [_copy(table) for _, table in tables if (table.catalog, table.schema) == (catalog, schema)]

    def delete_table(self, catalog: str, schema: str, name: str) -> None:
        """Forget a table; its files remain."""
        with self._lock:
            del self._state.tables[self.find_table(catalog, schema, name).full_name]
            self._save()

    def change_table(self, catalog: str, schema: str, name: str, change: Callable[[Table], bool]) -> Table:
        """Change a table atomically: nothing is changed if `change` raises or returns False. Return a copy."""
        with self._lock:
            table = self.find_table(catalog, schema, name)
            if change(table):
                table.changes += 1
                table.updated_ms = _now_ms()
                self._state.tables[table.full_name] = table
                self._save()
            return _copy(table)

    def ratify(self, table: Table, commit: StagedCommitInfo) -> bool:
        """Ratify a commit of a table that is being changed; return False if it is ratified already."""
        if table.latest is None:
            raise ApiError("InvalidParameterValueException", "the catalog does not manage the commits of this table")
        if table.accepted.get(commit.version) == commit.file_name:
            return False
        if commit.version <= table.latest:
            raise ApiError("CommitVersionConflictException", f"version {commit.version} is already ratified")
        if commit.version != table.latest + 1:
            message = f"version {commit.version} does not follow the latest version {table.latest}"
            raise ApiError("InvalidParameterValueException", message)
        if not commit.file_name or "/" in commit.file_name:
            raise ApiError("InvalidParameterValueException", f"{commit.file_name!r} is no file name")
        if commit.file_size <= 0:
            raise ApiError("InvalidParameterValueException", "file-size must be positive")
        if len(table.commits) >= self.max_unpublished:
            message = f"{len(table.commits)} commits are not published; publish them before further commits"
            raise ApiError("ResourceExhaustedException", message)
        table.commits[commit.version] = commit
        table.accepted[commit.version] = commit.file_name
        table.latest = commit.version
        return True

    @staticmethod
    def set_published(table: Table, version: int) -> None:
        """Record that the commits up to a version are published."""
        if table.latest is None or not 0 <= version <= table.latest:
            message = f"version {version} cannot be published; the latest version is {table.latest}"
            raise ApiError("InvalidParameterValueException", message)
        table.published = max(table.published, version)
        table.commits = {each: commit for each, commit in table.commits.items() if each > table.published}

    def _check_schema(self, catalog: str, schema: str) -> None:
        if catalog not in self.schemas:
            raise ApiError("NoSuchCatalogException", f"no catalog {catalog}")
        if schema not in self.schemas[catalog]:
            raise ApiError("NoSuchSchemaException", f"no schema {catalog}.{schema}")

    def _check_name(self, catalog: str, schema: str, name: str) -> None:
        self._check_schema(catalog, schema)
        if not name or len(name) > 255 or any(each in "./ " or not each.isprintable() for each in name):
            raise ApiError("InvalidParameterValueException", f"{name!r} is no name of a table")

    def _find_staging(self, catalog: str, schema: str, name: str, location: str) -> str:
        for each in self._state.staging.values():
            if (each.catalog, each.schema, each.name, each.location) == (catalog, schema, name, location):
                return each.id
        raise ApiError("NoSuchTableException", f"no staging table of {catalog}.{schema}.{name} with this location")

    def _save(self) -> None:
        if self._file is not None:
            write_file(str(self._file), msgspec.json.encode(self._state))


def _copy(table: Table) -> Table:
    return msgspec.convert(msgspec.to_builtins(table), Table)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
