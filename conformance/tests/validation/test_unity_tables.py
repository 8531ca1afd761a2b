"""`uc://catalog.schema.table`: tables of a Unity Catalog, and catalogs that fail."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from helpers.catalog_client import CatalogClient, staged_name
from helpers.catalog_tables import CatalogTable, build_tail
from helpers.cli import run, single_error_line
from helpers.faulty_s3 import BUCKET, run_faulty_s3, set_environment
from msgspec.structs import replace

import deltaspec
from deltaspec.catalog_server import KINDS, Catalog, CatalogServer, Failure, StagedCommitInfo, Table, serve
from deltaspec.catalog_server.vending import StorageAccess
from deltaspec.errors import DeltaspecError, StorageUnavailable, TableUnreadable
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.report.report_types import CATALOG, Report
from deltaspec.validation.unity_tables import check_location, choose_credentials
from deltaspec.wire.catalog.http import TIMEOUT_VARIABLE, TOKEN_VARIABLE
from deltaspec.wire.catalog.unity import Credential

TABLE = "uc://main.default.orders"
TOKEN = "dapi-very-secret-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    monkeypatch.setenv(TIMEOUT_VARIABLE, "20")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    with serve(Catalog((tmp_path / "warehouse").as_uri()), token=TOKEN) as server:
        yield server


@pytest.fixture
def client(server: CatalogServer) -> CatalogClient:
    return CatalogClient(server.url, token=TOKEN)


@pytest.fixture
def table(client: CatalogClient) -> CatalogTable:
    """Return a table whose version 1 is published, and whose versions 2 and 3 are ratified."""
    table = client.create()
    for version in (1, 2, 3):
        client.append(table, version)
    client.publish(table, 1)
    return table


def validate(server: CatalogServer, **options: Any) -> Report:
    return deltaspec.validate(TABLE, catalog=server.url, history="all", **options)


def list_reasons(report: Report) -> list[str]:
    return [each.reason for each in report.checked.not_checked if each.rule == CATALOG]


def change(server: CatalogServer, **fields: Any) -> None:
    """Change what the catalog says about the table."""
    server.catalog.add_table(replace(server.catalog.find_table("main", "default", "orders"), **fields))


def test_ratified_tail_is_judged(table: CatalogTable, server: CatalogServer) -> None:
    table.stage(4)
    report = validate(server)
    assert (report.verdict, report.version, report.table, report.totals) == ("conforms", 3, TABLE, {})
    (leftovers,) = report.checked.files_not_read
    assert (leftovers.count, leftovers.reason.split(":")[0]) == (2, "leftovers")


def test_damaged_staged_commit_is_found(table: CatalogTable, server: CatalogServer) -> None:
    table.stage(3, actions=[{"add": {"path": "f3.parquet"}}])
    assert validate(server).verdict == "violations"


def test_command(table: CatalogTable, server: CatalogServer) -> None:
    result = run("validate", TABLE, "--catalog", server.url)
    assert result.exit_code == 0, result.output
    assert f"table  {TABLE} · version 3" in result.output


def test_show_and_discover(table: CatalogTable, server: CatalogServer) -> None:
    shown = json.loads(run("show", TABLE, "--catalog", server.url, "--format", "json").stdout)
    assert (shown["table"], shown["version"], shown["catalog"], shown["log"]["commits"]) == (
        TABLE,
        3,
        None,
        [0, 1, 2, 3],
    )
    files = json.loads(run("show", TABLE, "--files", "--catalog", server.url, "--format", "json").stdout)
    assert (files["table"], files["files"]) == (TABLE, 4)
    assert run("discover", "uc://main.default.*", "--catalog", server.url).output == f"{TABLE}\n"


def test_discovery_has_owners_and_says_what_is_odd(table: CatalogTable, server: CatalogServer, tmp_path: Path) -> None:
    orders = server.catalog.find_table("main", "default", "orders")
    change(server, owner="sales team", properties={"tier": "gold"})
    places = {"copy": orders.location, "inner": f"{orders.location}/inner", "lost": (tmp_path / "lost").as_uri()}
    (table.root / "inner/_delta_log").mkdir(parents=True)
    (tmp_path / "lost").mkdir()
    for number, (name, location) in enumerate(places.items()):
        other = replace(orders, id=str(UUID(int=number)), name=name, location=location, type="EXTERNAL")
        server.catalog.add_table(replace(other, latest=None, commits={}))
    result = run("discover", "uc://main.default.*", "--catalog", server.url, "--format", "json")
    found = json.loads(result.stdout)
    tables = {each["name"]: each for each in found["catalog_tables"]}
    assert found["tables"] == [f"uc://{name}" for name in sorted(tables)]
    assert (tables["main.default.orders"]["owner"], tables["main.default.orders"]["properties"]) == (
        "sales team",
        {"tier": "gold"},
    )
    assert tables["main.default.orders"]["location"] == orders.location
    assert {name.rpartition(".")[2]: each["odd"] for name, each in tables.items()} == {
        "orders": ["has the same location as main.default.copy"],
        "copy": ["has the same location as main.default.orders"],
        "inner": ["is in the folder of main.default.copy", "is in the folder of main.default.orders"],
        "lost": ["has no _delta_log at its location"],
    }
    assert len(result.stderr.splitlines()) == 5
    assert result.exit_code == 0


def test_tables_of_a_schema(table: CatalogTable, server: CatalogServer) -> None:
    for number in range(55):
        CatalogClient(server.url, f"t{number:02}", TOKEN).create()
    result = run("validate", "uc://main.default.*", "--catalog", server.url, "--format", "json", "--level", "log")
    summary = json.loads(result.stdout)
    assert (result.exit_code, len(summary["tables"])) == (0, 56)
    some = run("validate", "uc://main.default.t0*", "--catalog", server.url, "--format", "json", "--level", "log")
    assert [each["table"] for each in json.loads(some.stdout)["tables"]] == [
        f"uc://main.default.t0{n}" for n in range(10)
    ]


def test_table_that_the_catalog_does_not_manage(table: CatalogTable, server: CatalogServer) -> None:
    change(server, type="EXTERNAL", latest=None, commits={})
    report = validate(server)
    assert (report.verdict, report.version) == ("incomplete", 1)
    assert [reason.partition(":")[0] for reason in list_reasons(report)] == ["the catalog was not asked"]


def test_catalog_without_the_delta_api(table: CatalogTable, server: CatalogServer) -> None:
    with serve(server.catalog, token=TOKEN, has_delta_api=False) as older:
        report = validate(older)
        assert (report.verdict, report.version, report.totals) == ("conforms", 3, {})
        change(server, type="EXTERNAL", latest=None, commits={})
        assert validate(older).version == 1
        missing = run("validate", "uc://main.default.missing", "--catalog", older.url)
    assert "status 404 (no table main.default.missing)" in single_error_line(missing)


ERRORS = {
    "denied": "answers with status 403 (as planned)",
    "not-json": "is not JSON",
    "wrong-shape": "is not as its API defines: Expected `object`, got `array` - at `$.metadata`",
    "redirect": "redirects to 127.0.0.1:9, which gets no token",
    "huge": "answers with more than 67,108,864 bytes",
}
OUTAGES = {
    "unavailable": "answers with status 503 (as planned)",
    "lost-answer": "cannot be reached: Server disconnected without sending a response",
    "state-unknown": "answers with status 500 (as planned)",
    "late": "did not answer within 1 seconds",
    "slow": "did not answer within 1 seconds",
}


@pytest.mark.parametrize("kind", ERRORS)
def test_answers_that_cannot_be_used(table: CatalogTable, server: CatalogServer, kind: str) -> None:
    server.failures.plan([Failure(kind, "loadTable", None)])
    with pytest.raises(TableUnreadable) as caught:
        validate(server)
    assert not isinstance(caught.value, StorageUnavailable)
    assert str(caught.value).startswith(f"{TABLE}: ")
    assert ERRORS[kind] in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("kind", OUTAGES)
def test_catalog_that_does_not_answer(
    table: CatalogTable, server: CatalogServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "1")
    server.failures.plan([Failure(kind, "loadTable", None, seconds=10)])
    began = time.monotonic()
    with pytest.raises(StorageUnavailable) as caught:
        validate(server)
    assert str(caught.value).startswith(f"{TABLE}: the catalog 127.0.0.1:")
    message = str(caught.value)
    assert OUTAGES[kind] in message or "did not answer within 1 seconds" in message
    assert TOKEN not in str(caught.value)
    assert time.monotonic() - began < 8


def test_failures_are_all_tested() -> None:
    """The others change nothing for readers, except `endless`, which has its own test."""
    assert KINDS.keys() - ERRORS.keys() - OUTAGES.keys() == {"duplicate", "endless"}


def test_short_failure_is_retried(table: CatalogTable, server: CatalogServer) -> None:
    server.failures.plan([Failure("unavailable", "loadTable"), Failure("lost-answer", "loadTable")])
    assert validate(server).verdict == "conforms"


def test_list_without_end(table: CatalogTable, server: CatalogServer) -> None:
    server.failures.plan([Failure("endless", "listTables", None)])
    result = run("validate", "uc://main.default.*", "--catalog", server.url)
    assert result.exit_code == 2
    assert "the list of tables does not end" in single_error_line(result)


def test_server_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "1")
    with serve(Catalog(tmp_path.as_uri())) as server:
        url = server.url
    for name in (TABLE, "uc://main.default.*"):
        result = run("validate", name, "--catalog", url)
        assert (name, result.exit_code) == (name, 5)
        assert (name, "cannot be reached" in single_error_line(result)) == (name, True)


def test_wrong_token(table: CatalogTable, server: CatalogServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "other-secret")
    result = run("validate", TABLE, "--catalog", server.url)
    assert result.exit_code == 2
    assert f"status 401: the token in {TOKEN_VARIABLE} is not accepted" in single_error_line(result)
    assert "other-secret" not in result.output
    monkeypatch.delenv(TOKEN_VARIABLE)
    assert f"{TOKEN_VARIABLE} is not set" in single_error_line(run("validate", TABLE, "--catalog", server.url))


def test_unknown_table(server: CatalogServer) -> None:
    result = run("validate", TABLE, "--catalog", server.url)
    assert result.exit_code == 2
    assert "status 404 (no table main.default.orders)" in single_error_line(result)


def test_one_bad_table_does_not_stop_the_others(table: CatalogTable, server: CatalogServer) -> None:
    CatalogClient(server.url, "other", TOKEN).create()
    change(server, location="s3://elsewhere/table?x=1")
    result = run("validate", "uc://main.default.*", "--catalog", server.url, "--format", "json", "--level", "log")
    verdicts = {each["table"]: each["verdict"] for each in json.loads(result.stdout)["tables"]}
    assert (result.exit_code, verdicts) == (2, {TABLE: "unreadable", "uc://main.default.other": "conforms"})


@pytest.mark.parametrize(
    ("commits", "message"),
    [
        ([(2, staged_name(2))], "version 2 is later than latest_version 1"),
        ([(0, staged_name(1))], "version 0 has the staged commit of version 1"),
        ([(1, "../../../../etc/passwd")], "is no <version>.<uuid>.json"),
        ([(1, commit_name(1))], "is no <version>.<uuid>.json"),
        ([(-1, staged_name(1))], "Expected `int` >= 0"),
    ],
)
def test_commits_that_cannot_be_used(
    table: CatalogTable, server: CatalogServer, commits: list[tuple[int, str]], message: str
) -> None:
    found = {version: StagedCommitInfo(version, 0, name, 1, 0) for version, name in commits}
    change(server, latest=1, commits=found)
    with pytest.raises(TableUnreadable, match=message.replace("[", r"\[")):
        validate(server)


def test_gap_between_commits(table: CatalogTable, server: CatalogServer) -> None:
    commits = server.catalog.find_table("main", "default", "orders").commits
    change(server, latest=4, commits={2: commits[2], 4: StagedCommitInfo(4, 0, staged_name(4), 1, 0)})
    with pytest.raises(TableUnreadable, match="version 4 follows version 2; expected 3"):
        validate(server)


def test_catalog_behind_the_log(table: CatalogTable, server: CatalogServer) -> None:
    change(server, latest=0, commits={})
    report = validate(server)
    assert (report.verdict, report.version) == ("incomplete", 0)
    assert list_reasons(report) == [
        "the latest version of the catalog is 0, but version 1 is published; later versions were not read"
    ]


def test_commit_published_after_the_answer(
    table: CatalogTable, client: CatalogClient, server: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer ratifies and publishes versions between the answer and the listing: nothing is left unchecked."""
    from deltaspec.validation import run as run_module

    list_log = run_module.load_pinned_listing

    def publish_first(store: Any) -> Any:
        client.append(table, 4)
        for version in (2, 3, 4):
            client.publish(table, version)
        return list_log(store)

    monkeypatch.setattr(run_module, "load_pinned_listing", publish_first)
    report = validate(server)
    assert [each.reason for each in report.checked.not_checked] == []
    assert (report.verdict, report.version) == ("conforms", 3)


@pytest.mark.parametrize(
    "location",
    ["file:///etc", "/etc", "http://internal/table", "hdfs://host/table", "abfss://c@evil.example/t", "s3://b/t?x=y"],
)
def test_locations_that_a_catalog_must_not_choose(location: str) -> None:
    with pytest.raises(TableUnreadable, match="the catalog"):
        check_location(location, "catalog.example", is_on_this_machine=False)
    check_location("s3://bucket/table", "catalog.example", is_on_this_machine=False)
    check_location("abfss://c@account.dfs.core.windows.net/t", "catalog.example", is_on_this_machine=False)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://catalog.example", "http would send the token to catalog.example unencrypted"),
        ("https://user:secret@host", "not the address of a catalog"),
        ("https://host?token=secret", "not the address of a catalog"),
        ("file:///etc", "not the address of a catalog"),
    ],
)
def test_addresses_that_get_no_token(address: str, message: str) -> None:
    result = run("validate", TABLE, "--catalog", address)
    assert result.exit_code == 2
    assert message in single_error_line(result)
    assert "secret" not in result.output


def test_usage_errors(server: CatalogServer, tmp_path: Path) -> None:
    assert "add --catalog https://host" in single_error_line(run("validate", TABLE))
    for name in ("uc://orders", "uc://main.default", "uc://a.b.c/d", "uc://a.*.c"):
        assert "write uc://catalog.schema.table" in single_error_line(run("validate", name, "--catalog", server.url))
    answer = tmp_path / "answer.json"
    answer.write_text('{"latest_version": 0}')
    refused = run("validate", TABLE, "--catalog", server.url, "--catalog-commits", str(answer))
    assert "--catalog-commits cannot be combined with uc://" in single_error_line(refused)
    assert "--estimate cannot be combined with uc://" in single_error_line(
        run("validate", TABLE, "--catalog", server.url, "--estimate")
    )


def test_answer_that_repeats_the_token(table: CatalogTable, server: CatalogServer) -> None:
    change(server, name="orders", location=f"s3://{TOKEN}\x1b[31m/t")
    with pytest.raises(DeltaspecError) as caught:
        validate(server)
    assert TOKEN not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_credentials_of_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has no keys: the keys that the catalog vends open the table, and are in no output."""
    with (
        run_faulty_s3() as s3,
        serve(Catalog(f"s3://{BUCKET}/lake"), token=TOKEN, access=StorageAccess("vended-id", "vended-key")) as server,
    ):
        set_environment(monkeypatch, s3)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        local = build_tail(tmp_path / "table")
        s3.upload(local.root, "lake/orders")
        table = Table("id", "main", "default", "orders", f"s3://{BUCKET}/lake/orders", "MANAGED", {}, {}, 0, 0)
        commits = {version: StagedCommitInfo(version, 0, staged_name(version), 1, 0) for version in (2, 3)}
        server.catalog.add_table(replace(table, id=str(UUID(int=1)), latest=3, commits=commits))
        result = run("validate", TABLE, "--catalog", server.url, "--history", "all")
        assert result.exit_code == 0, result.output
        assert "version 3" in result.output
        assert "vended" not in result.output
        found = run("discover", "uc://main.default.*", "--catalog", server.url)
        assert (found.exit_code, found.stdout, found.stderr) == (0, f"{TABLE}\n", "")
        server.catalog.add_table(replace(table, id=str(UUID(int=1)), location=f"s3://{BUCKET}/other", latest=0))
        odd = run("discover", "uc://main.default.*", "--catalog", server.url)
        assert odd.stderr == "deltaspec: main.default.orders: has no _delta_log at its location\n"
        missing = run("validate", TABLE, "--catalog", server.url)
        assert missing.exit_code == 2
        assert "vended" not in missing.output


def test_credentials_of_other_locations() -> None:
    vended = [Credential("s3://bucket/other/", {"s3.access-key-id": "id"})]
    with pytest.raises(TableUnreadable, match="gives credentials for s3://bucket/other/, not for the table"):
        choose_credentials("s3://bucket/table", vended)
    with pytest.raises(TableUnreadable, match=r"credentials that are not supported: gcs.oauth-token"):
        choose_credentials("gs://bucket/table", [Credential("gs://bucket/table", {"gcs.oauth-token": "secret"})])
    both = [Credential("s3://b/", {"s3.access-key-id": "wide"}), Credential("s3://b/t", {"s3.access-key-id": "narrow"})]
    assert choose_credentials("s3://b/t", both) == {"AWS_ACCESS_KEY_ID": "narrow"}
    assert choose_credentials("s3://b/t", []) == {}
