"""Operations of the general API of Unity Catalog (`openapi/all.json`). Each takes parameters and a valid body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from deltaspec.catalog_server.errors import ApiError
from deltaspec.catalog_server.tables import Catalog, StagedCommitInfo, Table
from deltaspec.catalog_server.vending import StorageAccess

MAX_PAGE = 50


class UnityApi:
    """The operations by their `operationId`, as methods in snake case."""

    def __init__(self, catalog: Catalog, access: StorageAccess) -> None:
        self._catalog, self._access = catalog, access

    def list_tables(self, parameters: Mapping[str, str], body: Any) -> dict[str, Any]:
        """Return a page of tables, ordered by name. The token is the last name of the page before."""
        tables = self._catalog.list_tables(parameters["catalog_name"], parameters["schema_name"])
        after, size = parameters.get("page_token", ""), int(parameters.get("max_results", 0))
        if size < 0:
            raise ApiError("InvalidParameterValueException", "max_results must not be negative")
        following = [table for table in tables if table.name > after]
        page = following[: min(size or MAX_PAGE, MAX_PAGE)]
        answer: dict[str, Any] = {"tables": [_describe(table) for table in page]}
        return {**answer, "next_page_token": page[-1].name} if len(page) < len(following) else answer

    def get_table(self, parameters: Mapping[str, str], body: Any) -> dict[str, Any]:
        names = parameters["full_name"].split(".")
        if len(names) != 3:
            raise ApiError("InvalidParameterValueException", "full_name needs three parts")
        return _describe(self._catalog.find_table(*names))

    def generate_temporary_table_credentials(self, parameters: Mapping[str, str], body: Any) -> dict[str, Any]:
        if body["operation"] not in ("READ", "READ_WRITE"):
            raise ApiError("InvalidParameterValueException", "operation must be READ or READ_WRITE")
        table = self._catalog.find_table_by_id(body["table_id"])
        for each in self._access.vend(table.location, body["operation"]):
            config = each["config"]
            keys = {name.removeprefix("s3.").replace("-", "_"): value for name, value in config.items()}
            return {"aws_temp_credentials": keys, "expiration_time": each["expiration-time-ms"], "url": table.location}
        return {"url": table.location}

    def get_commits(self, parameters: Mapping[str, str], body: Any) -> dict[str, Any]:
        table = self._find(body)
        last = table.latest if body.get("end_version") is None else body["end_version"]
        versions = sorted(each for each in table.commits if body["start_version"] <= each <= (last or 0))
        commits = [_to_snake(table.commits[each]) for each in versions]
        return {"commits": commits, "latest_table_version": table.latest or 0}

    def commit(self, parameters: Mapping[str, str], body: Any) -> dict[str, Any]:
        """Ratify a commit, record what is published, or both."""
        found = self._find(body)
        info, published = body.get("commit_info"), body.get("latest_backfilled_version")
        if info is None and published is None:
            raise ApiError("BadRequestException", "commit_info and latest_backfilled_version are missing")

        def change(table: Table) -> bool:
            if published is not None:
                self._catalog.set_published(table, published)
            commit = None if info is None else {key.replace("_", "-"): value for key, value in info.items()}
            is_new = commit is not None and self._catalog.ratify(table, msgspec.convert(commit, StagedCommitInfo))
            return published is not None or is_new

        self._catalog.change_table(found.catalog, found.schema, found.name, change)
        return {}

    def _find(self, body: Any) -> Table:
        table = self._catalog.find_table_by_id(body["table_id"])
        if table.location != body["table_uri"].rstrip("/"):
            raise ApiError("InvalidParameterValueException", "table_uri is not the location of the table")
        if table.latest is None:
            raise ApiError("InvalidParameterValueException", "the catalog does not manage the commits of this table")
        return table


def _describe(table: Table) -> dict[str, Any]:
    """Return a `TableInfo`."""
    return {
        "name": table.name,
        "catalog_name": table.catalog,
        "schema_name": table.schema,
        "table_type": table.type,
        "data_source_format": "DELTA",
        "columns": [],
        "storage_location": table.location,
        "properties": table.properties,
        "owner": table.owner,
        "created_at": table.created_ms,
        "updated_at": table.updated_ms,
        "table_id": table.id,
    }


def _to_snake(commit: StagedCommitInfo) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in msgspec.to_builtins(commit).items()}
