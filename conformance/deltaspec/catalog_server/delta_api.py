"""Operations of the Delta API (`openapi/delta.json`). Each takes path and query parameters, and a valid body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from deltaspec.catalog_server.errors import ApiError
from deltaspec.catalog_server.tables import Catalog, StagedCommitInfo, Table
from deltaspec.catalog_server.vending import StorageAccess
from deltaspec.protocol.property_names import CHECKPOINT_POLICY, DELETION_VECTORS, IN_COMMIT_TIMESTAMPS

Parameters = Mapping[str, str]
Answer = dict[str, Any] | None
"""JSON document, or None for an answer without content."""
_PROTOCOL_VERSION = "1.0"
_MANAGED_PROTOCOL = {
    "min-reader-version": 3,
    "min-writer-version": 7,
    "reader-features": ["catalogManaged", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"],
    "writer-features": [
        *("catalogManaged", "deletionVectors", "inCommitTimestamp", "v2Checkpoint", "vacuumProtocolCheck"),
    ],
}
_MANAGED_PROPERTIES = {
    CHECKPOINT_POLICY: "v2",
    DELETION_VECTORS: "true",
    IN_COMMIT_TIMESTAMPS: "true",
}


class DeltaApi:
    """The operations by their `operationId`, as methods in snake case."""

    def __init__(self, catalog: Catalog, access: StorageAccess, endpoints: list[str]) -> None:
        self._catalog, self._access, self._endpoints = catalog, access, endpoints

    def get_config(self, parameters: Parameters, body: Any) -> Answer:
        if parameters["catalog"] not in self._catalog.schemas:
            raise ApiError("NoSuchCatalogException", f"no catalog {parameters['catalog']}")
        versions = parameters["protocol-versions"].split(",")
        if not any(each.strip().partition(".")[0] == "1" for each in versions):
            raise ApiError("InvalidParameterValueException", f"the server supports version {_PROTOCOL_VERSION}")
        return {"endpoints": self._endpoints, "protocol-version": _PROTOCOL_VERSION}

    def create_staging_table(self, parameters: Parameters, body: Any) -> Answer:
        table = self._catalog.create_staging_table(parameters["catalog"], parameters["schema"], body["name"])
        return {
            "table-id": table.id,
            "table-type": "MANAGED",
            "location": table.location,
            "storage-credentials": self._access.vend(table.location, "READ_WRITE"),
            "required-protocol": _MANAGED_PROTOCOL,
            "required-properties": {**_MANAGED_PROPERTIES, "io.unitycatalog.tableId": table.id},
        }

    def get_staging_table_credentials(self, parameters: Parameters, body: Any) -> Answer:
        table = self._catalog.find_staging_table(parameters["table_id"])
        return {"storage-credentials": self._access.vend(table.location, "READ_WRITE")}

    def create_table(self, parameters: Parameters, body: Any) -> Answer:
        return _describe(self._catalog.create_table(parameters["catalog"], parameters["schema"], body))

    def load_table(self, parameters: Parameters, body: Any) -> Answer:
        return _describe(self._find(parameters))

    def table_exists(self, parameters: Parameters, body: Any) -> Answer:
        self._find(parameters)
        return None

    def delete_table(self, parameters: Parameters, body: Any) -> Answer:
        self._catalog.delete_table(parameters["catalog"], parameters["schema"], parameters["table"])
        return None

    def get_table_credentials(self, parameters: Parameters, body: Any) -> Answer:
        table = self._find(parameters)
        return {"storage-credentials": self._access.vend(table.location, parameters["operation"])}

    def report_metrics(self, parameters: Parameters, body: Any) -> Answer:
        if self._find(parameters).id != body["table-id"]:
            raise ApiError("InvalidParameterValueException", "table-id is the id of another table")
        return None

    def update_table(self, parameters: Parameters, body: Any) -> Answer:
        """Check the requirements, and apply all updates or none."""
        _check_unique("requirement", [each["type"] for each in body["requirements"]])
        _check_unique("update", [each["action"] for each in body["updates"]])
        requirements = {each["type"]: each for each in body["requirements"]}
        updates = {each["action"]: each for each in body["updates"]}
        if "assert-table-uuid" not in requirements:
            raise ApiError("BadRequestException", "the requirement assert-table-uuid is missing")
        if unknown := [
            *(requirements.keys() - {"assert-table-uuid", "assert-etag"}),
            *(updates.keys() - _ORDER.keys()),
        ]:
            raise ApiError("BadRequestException", f"unknown: {', '.join(sorted(unknown))}")
        _check_disjoint(updates)

        def change(table: Table) -> bool:
            if requirements["assert-table-uuid"]["uuid"] != table.id:
                raise ApiError("UpdateRequirementConflictException", "the table has another id")
            if (commit := _read_commit(updates)) is not None and _is_replayed(table, commit):
                return False
            if "assert-etag" in requirements and requirements["assert-etag"]["etag"] != _tag(table):
                raise ApiError("UpdateRequirementConflictException", "the table has another etag")
            for action in _ORDER:
                if action in updates:
                    _ORDER[action](self._catalog, table, updates[action])
            if commit is not None and updates.keys() & _OF_METADATA:
                table.last_commit_version, table.last_commit_ms = commit.version, commit.timestamp
            return True

        return _describe(self._catalog.change_table(*_split(parameters), change))

    def _find(self, parameters: Parameters) -> Table:
        return self._catalog.find_table(*_split(parameters))


def _split(parameters: Parameters) -> tuple[str, str, str]:
    return parameters["catalog"], parameters["schema"], parameters["table"]


def _tag(table: Table) -> str:
    return f"{table.id}-{table.changes}"


def _describe(table: Table) -> dict[str, Any]:
    """Return a `DeltaLoadTableResponse`."""
    metadata = {
        "etag": _tag(table),
        "table-type": table.type,
        "table-uuid": table.id,
        "location": table.location,
        "created-time": table.created_ms,
        "updated-time": table.updated_ms,
        "columns": table.columns,
        "partition-columns": table.partition_columns,
        "properties": table.properties,
        "last-commit-version": table.last_commit_version,
        "last-commit-timestamp-ms": table.last_commit_ms,
    }
    if table.latest is None:
        return {"metadata": metadata}
    commits = [msgspec.to_builtins(commit) for _, commit in sorted(table.commits.items(), reverse=True)]
    return {"metadata": metadata, "commits": commits, "latest-table-version": table.latest}


def _check_unique(kind: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ApiError("BadRequestException", f"the {kind} {name} is repeated")


def _check_disjoint(updates: Mapping[str, Any]) -> None:
    """Raise `ApiError` if a request sets and removes the same property or domain."""
    properties = updates.get("set-properties", {}).get("updates", {}).keys()
    domains = updates.get("set-domain-metadata", {}).get("updates", {}).keys()
    both = properties & set(updates.get("remove-properties", {}).get("removals", []))
    both |= domains & set(updates.get("remove-domain-metadata", {}).get("domains", []))
    if both:
        raise ApiError("BadRequestException", f"set and removed: {', '.join(sorted(both))}")


def _read_commit(updates: Mapping[str, Any]) -> StagedCommitInfo | None:
    added = updates.get("add-commit")
    return None if added is None else msgspec.convert(added["commit"], StagedCommitInfo)


def _is_replayed(table: Table, commit: StagedCommitInfo) -> bool:
    return table.accepted.get(commit.version) == commit.file_name


def _add_commit(catalog: Catalog, table: Table, update: Any) -> None:
    catalog.ratify(table, msgspec.convert(update["commit"], StagedCommitInfo))


def _set_published(catalog: Catalog, table: Table, update: Any) -> None:
    catalog.set_published(table, update["latest-published-version"])


def _set_snapshot_version(catalog: Catalog, table: Table, update: Any) -> None:
    if table.latest is not None:
        raise ApiError("InvalidParameterValueException", "only for external tables")
    table.last_commit_version, table.last_commit_ms = update["last-commit-version"], update["last-commit-timestamp-ms"]


def _set_properties(catalog: Catalog, table: Table, update: Any) -> None:
    table.properties |= update["updates"]


def _remove_properties(catalog: Catalog, table: Table, update: Any) -> None:
    table.properties = {key: value for key, value in table.properties.items() if key not in update["removals"]}


def _set_domains(catalog: Catalog, table: Table, update: Any) -> None:
    table.domains |= update["updates"]


def _remove_domains(catalog: Catalog, table: Table, update: Any) -> None:
    table.domains = {key: value for key, value in table.domains.items() if key not in update["domains"]}


def _set_field(field: str, key: str) -> Callable[[Catalog, Table, Any], None]:
    return lambda catalog, table, update: setattr(table, field, update[key])


_ORDER: dict[str, Callable[[Catalog, Table, Any], None]] = {
    "set-latest-backfilled-version": _set_published,  # makes room for the commit
    "add-commit": _add_commit,
    "set-properties": _set_properties,
    "remove-properties": _remove_properties,
    "set-columns": _set_field("columns", "columns"),
    "set-table-comment": _set_field("comment", "comment"),
    "set-protocol": _set_field("protocol", "protocol"),
    "set-domain-metadata": _set_domains,
    "remove-domain-metadata": _remove_domains,
    "set-partition-columns": _set_field("partition_columns", "partition-columns"),
    "update-metadata-snapshot-version": _set_snapshot_version,
}
"""Updates by their action, in the order in which they are applied."""
_OF_METADATA = _ORDER.keys() - {"set-latest-backfilled-version", "add-commit", "update-metadata-snapshot-version"}
