"""A plain client of the catalog for tests, which writes through its API as a connector does."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
from helpers.catalog_tables import BEGAN_MS, CatalogTable, uuid

from deltaspec.catalog_server.routes import PREFIX
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit
from deltaspec.protocol.log.file_names import commit_name

SCHEMA = "/delta/v1/catalogs/main/schemas/default"


class CatalogClient:
    """Requests of one table, `main.default.NAME`."""

    def __init__(self, url: str, name: str = "orders", token: str | None = None) -> None:
        self.url = url + PREFIX
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.name = name
        self.path = f"{SCHEMA}/tables/{name}"
        self.id = ""

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Send a GET request."""
        return httpx.request("GET", self.url + path, headers=self.headers, timeout=10, **options)

    def post(self, path: str, document: Any) -> httpx.Response:
        """Send a POST request."""
        return httpx.post(self.url + path, headers=self.headers, timeout=10, json=document)

    def create(self) -> CatalogTable:
        """Create the table with its published version 0."""
        staging = self.post(f"{SCHEMA}/staging-tables", {"name": self.name}).json()
        self.id = staging["table-id"]
        table = CatalogTable(Path(unquote(urlsplit(staging["location"]).path)))
        table.publish(0)
        request = {
            "name": self.name,
            "location": staging["location"],
            "table-type": "MANAGED",
            "columns": {"type": "struct", "fields": []},
            "protocol": staging["required-protocol"],
            "properties": {},
            "last-commit-timestamp-ms": BEGAN_MS,
        }
        self.post(f"{SCHEMA}/tables", request).raise_for_status()
        return table

    def update(self, *updates: Any) -> httpx.Response:
        """Send updates of the table."""
        requirements = [{"type": "assert-table-uuid", "uuid": self.id}]
        return self.post(self.path, {"requirements": requirements, "updates": list(updates)})

    def ratify(self, version: int, file_name: str | None = None) -> httpx.Response:
        """Ask the catalog to ratify a staged commit."""
        return self.update({"action": "add-commit", "commit": describe_commit(version, file_name)})

    def set_published(self, version: int) -> httpx.Response:
        """Report the latest published version."""
        return self.update({"action": "set-latest-backfilled-version", "latest-published-version": version})

    def append(self, table: CatalogTable, version: int) -> None:
        """Stage a commit and have it ratified."""
        name = table.stage(version)
        self.ratify(version, name).raise_for_status()

    def publish(self, table: CatalogTable, version: int) -> None:
        """Publish a ratified commit, and report it."""
        content = (table.log / "_staged_commits" / staged_name(version)).read_bytes()
        table.write(commit_name(version), content)
        self.set_published(version).raise_for_status()

    def load(self) -> dict[str, Any]:
        """Return what the catalog says about the table."""
        answer: dict[str, Any] = self.get(self.path).raise_for_status().json()
        return answer

    def ask(self) -> CatalogAnswer:
        """Return the latest version and the ratified commits."""
        loaded = self.load()
        found = sorted((each["version"], each["file-name"]) for each in loaded["commits"])
        return CatalogAnswer(loaded["latest-table-version"], tuple(RatifiedCommit(*each) for each in found))


def staged_name(version: int) -> str:
    """Return the file name of the staged commit that `CatalogTable.stage` writes for a version."""
    return f"{version:020d}.{uuid(version)}.json"


def describe_commit(version: int, file_name: str | None = None) -> dict[str, Any]:
    """Return the commit of a request."""
    return {
        "version": version,
        "timestamp": BEGAN_MS + 1000 * version,
        "file-name": file_name or staged_name(version),
        "file-size": 100,
        "file-modification-timestamp": BEGAN_MS,
    }
