"""Unity Catalog: tables, their ratified commits, and credentials for their storage.

Source: api/delta.yaml (the Delta API) and api/all.yaml (the general API) of unitycatalog/unitycatalog. The Delta API
gives location, latest version and commits in one answer. A server without it is asked through the general API.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from deltaspec.errors import TableUnreadable
from deltaspec.wire.catalog.http import Connection, Refused, UnusableAnswer
from deltaspec.wire.catalog.listed import ListedTable
from deltaspec.wire.catalog.names import CatalogName

MAX_TABLES = 100_000
"""Largest number of tables of a schema that are listed."""
_MAX_REQUESTS = 10_000
"""Largest number of requests for one list."""
_PAGE_SIZE = "50"
_NOT_FOUND_KINDS = ("NoSuchCatalogException", "NoSuchSchemaException", "NoSuchTableException")
_MISSING_API_STATUSES = (404, 405, 501)
_T = TypeVar("_T")


class UnityCommit(msgspec.Struct, frozen=True):
    """A ratified commit that is not published."""

    version: int
    file_name: str


class UnityTable(msgspec.Struct, frozen=True):
    """What the catalog says about a table."""

    id: str
    location: str
    latest: int | None
    """Latest ratified version; None if the catalog does not manage the commits of the table."""
    commits: tuple[UnityCommit, ...] = ()
    """Ratified commits, ascending."""
    has_delta_api: bool = True


class Credential(msgspec.Struct, frozen=True):
    """Temporary credentials for the storage below a prefix."""

    prefix: str
    config: dict[str, str]
    """Secrets by their name in the Delta API, such as `s3.access-key-id`."""


class _Commit(msgspec.Struct, rename="kebab"):
    version: int
    file_name: str


class _Metadata(msgspec.Struct, rename="kebab"):
    location: str
    table_type: str
    table_uuid: str


class _LoadedTable(msgspec.Struct, rename="kebab"):
    metadata: _Metadata
    commits: list[_Commit] | None = None
    latest_table_version: int | None = None


class _StorageCredential(msgspec.Struct, rename="kebab"):
    prefix: str
    config: dict[str, str | None] = {}


class _Credentials(msgspec.Struct, rename="kebab"):
    storage_credentials: list[_StorageCredential]


class _TableInfo(msgspec.Struct):
    name: str
    table_type: str | None = None
    data_source_format: str | None = None
    storage_location: str | None = None
    table_id: str | None = None
    owner: str | None = None
    properties: dict[str, str] | None = None


class _TableList(msgspec.Struct):
    tables: list[_TableInfo] | None = None
    next_page_token: str | None = None


class _GeneralCommit(msgspec.Struct):
    version: int
    file_name: str


class _GeneralCommits(msgspec.Struct):
    latest_table_version: int
    commits: list[_GeneralCommit] | None = None


class _GeneralCredentials(msgspec.Struct):
    aws_temp_credentials: dict[str, str | None] | None = None
    azure_user_delegation_sas: dict[str, str | None] | None = None
    gcp_oauth_token: dict[str, str | None] | None = None
    url: str | None = None


class UnityClient:
    """Questions to a Unity Catalog. Every method raises the errors of `Connection.request`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def load_table(self, name: CatalogName) -> UnityTable:
        """Return a table with its location, its latest version and the commits that are not published.

        Raises:
            TableUnreadable: there is no such table, or it has no location.
        """
        try:
            answer = self._get(_build_path(name), _LoadedTable)
        except Refused as fault:
            is_missing_api = fault.status in _MISSING_API_STATUSES and fault.kind not in _NOT_FOUND_KINDS
            if is_missing_api or fault.kind == "UnsupportedTableFormatException":
                return self._load_general_table(name)
            raise
        metadata = answer.metadata
        commits = sorted((UnityCommit(each.version, each.file_name) for each in answer.commits or ()), key=_get_version)
        return UnityTable(metadata.table_uuid, metadata.location, answer.latest_table_version, tuple(commits))

    def find_credentials(self, name: CatalogName, table: UnityTable) -> list[Credential]:
        """Return credentials to read the storage of a table; none if the catalog vends none."""
        if table.has_delta_api:
            answer = self._get(f"{_build_path(name)}/credentials", _Credentials, {"operation": "READ"})
            return [Credential(each.prefix, _drop_nulls(each.config)) for each in answer.storage_credentials]
        body = {"table_id": table.id, "operation": "READ"}
        found = self._convert(
            self._connection.request("POST", "/temporary-table-credentials", body=body), _GeneralCredentials
        )
        keys = _drop_nulls(found.aws_temp_credentials or {})
        config = {f"s3.{key.replace('_', '-')}": value for key, value in keys.items()}
        azure, google = found.azure_user_delegation_sas or {}, found.gcp_oauth_token or {}
        config |= _drop_nulls({"azure.sas-token": azure.get("sas_token"), "gcs.oauth-token": google.get("oauth_token")})
        return [Credential(found.url or table.location, config)] if config else []

    def list_tables(self, pattern: CatalogName) -> Iterator[ListedTable]:
        """Yield the Delta tables of a schema whose names match, in the order of the catalog, by full name.

        Raises:
            UnusableAnswer: the list has too many tables, or does not end.
        """
        query = {"catalog_name": pattern.catalog, "schema_name": pattern.schema, "max_results": _PAGE_SIZE}
        tokens: set[str] = set()
        number = 0
        while True:
            page = self._get("/tables", _TableList, query)
            for table in page.tables or ():
                number += 1
                if (table.data_source_format or "DELTA").upper() == "DELTA" and fnmatchcase(table.name, pattern.table):
                    name = CatalogName(pattern.catalog, pattern.schema, table.name).full_name
                    properties = table.properties or {}
                    yield ListedTable(name, table.storage_location or "", table.owner or "", properties)
            token = page.next_page_token
            if not token:
                return
            if token in tokens or number > MAX_TABLES or len(tokens) > _MAX_REQUESTS:
                raise UnusableAnswer(f"{pattern}: the list of tables does not end after {number:,} tables")
            tokens.add(token)
            query["page_token"] = token

    def _load_general_table(self, name: CatalogName) -> UnityTable:
        found = self._get(f"/tables/{quote(name.full_name, safe='')}", _TableInfo)
        if found.storage_location is None or found.table_id is None:
            raise TableUnreadable(f"{name}: the catalog gives no location, as for a view")
        table = UnityTable(found.table_id, found.storage_location, None, has_delta_api=False)
        if found.table_type != "MANAGED":
            return table
        try:
            return self._load_general_commits(table)
        except Refused as fault:
            if fault.status in (400, *_MISSING_API_STATUSES):  # a managed table whose commits no catalog ratifies
                return table
            raise

    def _load_general_commits(self, table: UnityTable) -> UnityTable:
        """Return the table with its commits, which may need several requests."""
        commits: dict[int, UnityCommit] = {}
        start = 0
        for _ in range(_MAX_REQUESTS):
            body = {"table_id": table.id, "table_uri": table.location, "start_version": start}
            answer = self._convert(
                self._connection.request("GET", "/delta/preview/commits", body=body), _GeneralCommits
            )
            commits |= {each.version: UnityCommit(each.version, each.file_name) for each in answer.commits or ()}
            newest = max((each.version for each in answer.commits or ()), default=None)
            if newest is None or newest < start or newest >= answer.latest_table_version:
                found = tuple(commits[version] for version in sorted(commits))
                return msgspec.structs.replace(table, latest=answer.latest_table_version, commits=found)
            start = newest + 1
        raise UnusableAnswer("the list of commits does not end")

    def _get(self, path: str, shape: type[_T], query: dict[str, str] | None = None) -> _T:
        return self._convert(self._connection.request("GET", path, query=query), shape)

    def _convert(self, answer: Any, shape: type[_T]) -> _T:
        try:
            return msgspec.convert(answer, shape)
        except msgspec.ValidationError as fault:
            raise UnusableAnswer(
                f"the answer of the catalog {self._connection.host} is not as its API defines: {fault}"
            ) from fault


def _build_path(name: CatalogName) -> str:
    catalog, schema, table = (quote(each, safe="") for each in (name.catalog, name.schema, name.table))
    return f"/delta/v1/catalogs/{catalog}/schemas/{schema}/tables/{table}"


def _get_version(commit: UnityCommit) -> int:
    return commit.version


def _drop_nulls(values: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
