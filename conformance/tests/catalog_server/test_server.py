"""The catalog for tests: what it ratifies, and how it fails on request."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from helpers.catalog_client import SCHEMA, CatalogClient, staged_name

from deltaspec.catalog_server import KINDS, Catalog, CatalogServer, Failure, serve
from deltaspec.catalog_server.vending import StorageAccess


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    access = StorageAccess("id", "key", "token")
    with serve(Catalog(tmp_path.as_uri(), max_unpublished=3), access=access) as server:
        yield server


@pytest.fixture
def client(server: CatalogServer) -> CatalogClient:
    """Return a client whose table has version 0."""
    client = CatalogClient(server.url)
    client.create()
    return client


def error_type(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["type"]


def test_commits_follow_each_other(client: CatalogClient) -> None:
    assert [client.ratify(version).status_code for version in (1, 2)] == [200, 200]
    assert client.ratify(2).status_code == 200, "a repeated request has the same answer"
    assert error_type(client.ratify(2, "other.json")) == (409, "CommitVersionConflictException")
    assert error_type(client.ratify(4)) == (400, "InvalidParameterValueException")
    loaded = client.load()
    assert loaded["latest-table-version"] == 2
    assert [each["file-name"] for each in loaded["commits"]] == [staged_name(2), staged_name(1)]


def test_unpublished_commits_are_limited(client: CatalogClient) -> None:
    assert [client.ratify(version).status_code for version in (1, 2, 3)] == [200, 200, 200]
    assert error_type(client.ratify(4)) == (429, "ResourceExhaustedException")
    assert error_type(client.set_published(4)) == (400, "InvalidParameterValueException")
    assert client.set_published(2).status_code == 200
    assert client.ratify(4).status_code == 200
    assert [each["version"] for each in client.load()["commits"]] == [4, 3]
    assert error_type(client.ratify(1, "other.json")) == (409, "CommitVersionConflictException")


def test_updates_are_atomic(client: CatalogClient) -> None:
    published = {"action": "set-latest-backfilled-version", "latest-published-version": 9}
    properties = {"action": "set-properties", "updates": {"a": "1"}}
    assert client.update(properties, published).status_code == 400
    assert client.load()["metadata"]["properties"] == {}
    client.id = "00000000-0000-0000-0000-000000000000"
    assert error_type(client.update(properties)) == (409, "UpdateRequirementConflictException")


def test_general_api_sees_the_same_table(client: CatalogClient, server: CatalogServer) -> None:
    client.ratify(1)
    table = client.get("/tables/main.default.orders").json()
    query = {"table_id": table["table_id"], "table_uri": table["storage_location"], "start_version": 0}
    answer = client.get("/delta/preview/commits", json=query).json()
    assert (answer["latest_table_version"], [each["version"] for each in answer["commits"]]) == (1, [1])
    for number in range(60):
        CatalogClient(server.url, f"t{number:02}").create()
    page = {"catalog_name": "main", "schema_name": "default"}
    first = client.get("/tables", params=page).json()
    second = client.get("/tables", params={**page, "page_token": first["next_page_token"]}).json()
    assert (len(first["tables"]), len(second["tables"]), "next_page_token" in second) == (50, 11, False)


def test_credentials_are_vended_for_object_stores(tmp_path: Path) -> None:
    with serve(Catalog("s3://bucket/lake"), access=StorageAccess("id", "key", "token")) as server:
        staging = httpx.post(f"{server.url}/api/2.1/unity-catalog{SCHEMA}/staging-tables", json={"name": "t"}).json()
    (credential,) = staging["storage-credentials"]
    assert staging["location"].startswith("s3://bucket/lake/")
    assert credential["prefix"] == staging["location"] + "/"
    assert credential["config"]["s3.secret-access-key"] == "key"


def test_token(tmp_path: Path) -> None:
    with serve(Catalog(tmp_path.as_uri()), token="secret") as server:
        assert error_type(CatalogClient(server.url).get("/tables/a.b.c")) == (401, "NotAuthorizedException")
        assert CatalogClient(server.url, token="secret").get("/tables/main.default.c").status_code == 404


def test_tables_survive_a_restart(tmp_path: Path) -> None:
    state = str(tmp_path / "state.json")
    with serve(Catalog(tmp_path.as_uri(), state_file=state)) as server:
        client = CatalogClient(server.url)
        client.create()
        client.ratify(1)
    with serve(Catalog(tmp_path.as_uri(), state_file=state)) as server:
        assert CatalogClient(server.url).load()["latest-table-version"] == 1


@pytest.mark.parametrize("kind", ["lost-answer", "state-unknown", "duplicate", "unavailable"])
def test_failures_of_commits(client: CatalogClient, server: CatalogServer, kind: str) -> None:
    server.failures.plan([Failure(kind, "updateTable")])
    try:
        status: int | None = client.ratify(1).status_code
    except httpx.RemoteProtocolError:
        status = None
    assert status == {"lost-answer": None, "state-unknown": 500, "duplicate": 200, "unavailable": 503}[kind]
    assert client.load()["latest-table-version"] == (0 if kind == "unavailable" else 1)
    assert client.ratify(1).status_code == 200, "the request can be repeated"
    assert server.events[-3].failure == kind


def test_failures_are_planned_over_http(client: CatalogClient, server: CatalogServer) -> None:
    plan = [{"kind": "denied", "count": 2}]
    assert httpx.post(f"{server.url}/control/failures", json=plan).status_code == 204
    assert [client.get(client.path).status_code for _ in range(3)] == [403, 403, 200]
    assert httpx.post(f"{server.url}/control/failures", json=[{"kind": "no such"}]).status_code == 400
    events = httpx.get(f"{server.url}/control/events").json()
    assert [each["status"] for each in events][-3:] == [403, 403, 200]


def test_command_starts_the_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deltaspec.catalog_server", "--warehouse", str(tmp_path), "--port", "0"]
    with subprocess.Popen([*command, "--failure", "unavailable:loadTable:1"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            client = CatalogClient(process.stdout.readline().decode().strip())
            client.create()
            assert [client.get(client.path).status_code for _ in range(2)] == [503, 200]
        finally:
            process.terminate()
    shown = subprocess.run([*command[:3], "--help"], capture_output=True, check=True).stdout.decode()
    assert [kind for kind in KINDS if kind not in "".join(shown.split())] == []


def test_unknown_failure_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'no such'; choose from late, "):
        Failure("no such")
