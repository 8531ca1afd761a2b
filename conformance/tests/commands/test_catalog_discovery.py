"""`deltaspec discover` with AWS Glue (moto) and Hive Metastore (a fake one, and the real one with Derby)."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
from helpers.cli import run, single_error_line
from moto import mock_aws
from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore.ttypes import (
    Database,
    FieldSchema,
    MetaException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolFactory
from thrift.server import TServer
from thrift.transport import TSocket, TTransport

from deltaspec.wire.catalog import glue, hive

DELTA = {"spark.sql.sources.provider": "delta"}


def discover(location: str) -> tuple[dict[str, Any], list[str]]:
    result = run("discover", location, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr.splitlines()


class TestGlue:
    @pytest.fixture
    def client(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        with mock_aws():
            found = boto3.client("glue")
            for database in ("sales", "web"):
                found.create_database(DatabaseInput={"Name": database})
            yield found

    def create(self, client: Any, database: str, name: str, parameters: dict[str, str], **storage: Any) -> None:
        table = {"Name": name, "Owner": "team", "Parameters": parameters, "StorageDescriptor": storage}
        client.create_table(DatabaseName=database, TableInput=table)

    def test_delta_tables_have_location_owner_and_properties(self, client: Any) -> None:
        athena = {"table_type": "DELTA", "k": "v"}
        self.create(client, "sales", "orders", athena, Location="file:/lake/orders")
        spark = {"Parameters": {"path": "file:/lake/items"}}
        self.create(client, "sales", "items", DELTA, Location="file:/tmp/items-__PLACEHOLDER__", SerdeInfo=spark)
        self.create(client, "sales", "other", {"classification": "parquet"}, Location="file:/lake/parquet")
        self.create(client, "web", "clicks", {"classification": "delta"}, Location="file:/lake/orders")
        found, odd = discover("glue://")
        by_name = {each["name"]: each for each in found["catalog_tables"]}
        assert sorted(by_name) == ["sales.items", "sales.orders", "web.clicks"]
        assert by_name["sales.items"]["location"] == "file:/lake/items"
        assert by_name["sales.orders"]["owner"] == "team"
        assert by_name["sales.orders"]["properties"] == athena
        assert "has the same location as web.clicks" in by_name["sales.orders"]["odd"]
        assert "deltaspec: web.clicks: has the same location as sales.orders" in odd
        assert len(found["tables"]) == 2

    def test_globs_choose_databases_and_tables(self, client: Any) -> None:
        for number in range(120):  # more than one page
            self.create(client, "sales", f"t{number:03}", DELTA, Location=f"file:/lake/{number}")
        self.create(client, "web", "t000", DELTA, Location="file:/lake/web")
        assert len(discover("glue://sales")[0]["tables"]) == 120
        assert len(discover("glue://s*.t01?")[0]["tables"]) == 10
        assert discover("glue://*.t000")[0]["tables"] == ["file:/lake/0", "file:/lake/web"]
        assert "no Delta table in the catalog" in single_error_line(run("discover", "glue://web.nothing"))
        assert "EntityNotFoundException" in single_error_line(run("discover", "glue://missing"))

    def test_local_paths_of_another_machine_are_not_looked_at(self, client: Any, tmp_path: Path) -> None:
        (tmp_path / "t/_delta_log").mkdir(parents=True)
        self.create(client, "sales", "t", DELTA, Location=f"file:{tmp_path}/t")
        (table,) = discover("glue://sales")[0]["catalog_tables"]
        assert table["odd"] == ["is in a folder of another machine, so its log was not looked for"]

    def test_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(glue, "find_spec", lambda _: None)
        assert "glue:// needs boto3" in single_error_line(run("discover", "glue://"))


class FakeMetastore:
    """Answers the questions that deltaspec asks a metastore."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Table]] = {}

    def add(self, name: str, location: str, parameters: dict[str, str], path: str | None = None) -> None:
        database, _, table = name.partition(".")
        serializer = SerDeInfo(parameters={"path": path} if path else None)
        storage = StorageDescriptor(location=location, serdeInfo=serializer)
        entry = Table(tableName=table, dbName=database, owner="team", sd=storage, parameters=parameters)
        self.tables.setdefault(database, {})[table] = entry

    def get_all_databases(self) -> list[str]:
        return list(self.tables)

    def get_all_tables(self, database: str) -> list[str]:
        if database == "broken":
            raise MetaException("cannot be listed")
        return list(self.tables[database])

    def get_table_objects_by_name(self, database: str, names: list[str]) -> list[Table]:
        return [self.tables[database][name] for name in names]


@pytest.fixture
def metastore() -> Iterator[tuple[FakeMetastore, str]]:
    fake = FakeMetastore()
    listener = TSocket.TServerSocket("127.0.0.1", 0)
    listener.listen()
    port = listener.handle.getsockname()[1]
    listener.listen = lambda: None  # type: ignore[method-assign] # it listens, and a second time would bind again
    server = TServer.TThreadedServer(
        ThriftHiveMetastore.Processor(fake), listener, TTransport.TBufferedTransportFactory(), TBinaryProtocolFactory(),
        daemon=True,
    )  # fmt: skip
    Thread(target=server.serve, daemon=True).start()
    yield fake, f"hms://127.0.0.1:{port}"
    listener.close()


class TestHive:
    def test_what_is_odd_is_said(self, metastore: tuple[FakeMetastore, str], tmp_path: Path) -> None:
        fake, address = metastore
        for name in ("orders", "orders/inner"):
            (tmp_path / name / "_delta_log").mkdir(parents=True)
        fake.add("sales.orders", "", DELTA, path=f"file:{tmp_path}/orders")
        fake.add("sales.inner", f"{tmp_path}/orders/inner/", DELTA)
        fake.add("sales.empty", f"file://{tmp_path}/empty", DELTA)
        fake.add("sales.nowhere", "", DELTA)
        fake.add("sales.view", "", {})
        found, lines = discover(address)
        odd = {each["name"]: each["odd"] for each in found["catalog_tables"]}
        assert odd["sales.orders"] == []
        assert odd["sales.inner"] == ["is in the folder of sales.orders"]
        assert odd["sales.empty"][0].startswith("its log was not looked for: ")
        assert odd["sales.nowhere"] == ["has no location"]
        assert "sales.view" not in odd
        assert len(lines) == 3
        printed = run("discover", f"{address}/sales.o*")
        assert printed.stdout == f"file:{tmp_path}/orders\n"

    def test_location_without_a_log_is_odd(self, metastore: tuple[FakeMetastore, str], tmp_path: Path) -> None:
        fake, address = metastore
        fake.add("sales.t", str(tmp_path), DELTA)
        (table,) = discover(f"{address}/sales")[0]["catalog_tables"]
        assert table["odd"] == ["has no _delta_log at its location"]

    def test_errors_of_the_metastore_are_told(self, metastore: tuple[FakeMetastore, str]) -> None:
        fake, address = metastore
        fake.add("broken.t", "", DELTA)
        result = run("discover", address)
        assert result.exit_code == 2
        assert "the metastore answers: " in single_error_line(result)

    def test_metastore_that_does_not_answer_is_an_outage(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            result = run("discover", f"hms://127.0.0.1:{unused.getsockname()[1]}")
        assert result.exit_code == 5
        assert "the metastore does not answer" in single_error_line(result)

    @pytest.mark.parametrize("location", ["hms://", "hms://host:port", "hms://host/a/b", "hms://u@host"])
    def test_malformed_location_is_refused(self, location: str) -> None:
        assert "write hms://host:9083" in single_error_line(run("discover", location))

    def test_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hive, "find_spec", lambda _: None)
        assert "hms:// needs pymetastore" in single_error_line(run("discover", "hms://host"))


@pytest.fixture
def real_metastore(tmp_path: Path) -> Iterator[int]:
    """The Hive Metastore that Spark ships, with a new Derby database; its port."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    jars = Path(spec.origin).parent / "jars"
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.async.log.enabled": "false",
        "hive.metastore.warehouse.dir": f"{tmp_path}/warehouse",
    }
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    assert java is not None
    opened = [
        f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.net", "java.util", "java.nio")
    ]
    given = [argument for name, value in settings.items() for argument in ("--hiveconf", f"{name}={value}")]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            [java, "-Xmx512m", *opened, f"-Dderby.stream.error.file={tmp_path}/derby.log", "-cp", f"{jars}/*",
             "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port), *given],
            stdout=log, stderr=log, cwd=tmp_path,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while True:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (tmp_path / "log").read_text()[-4000:]
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-4000:]
            time.sleep(0.2)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.spark
@pytest.mark.slow("conformance/deltaspec/wire/catalog")
def test_real_metastore_lists_its_delta_tables(real_metastore: int, tmp_path: Path) -> None:
    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", real_metastore))
    client = ThriftHiveMetastore.Client(TBinaryProtocol(transport))
    transport.open()
    client.create_database(Database("sales", "", f"file:{tmp_path}/warehouse/sales.db", {}))
    (tmp_path / "orders/_delta_log").mkdir(parents=True)
    columns = [FieldSchema("id", "bigint", "")]
    for name, path, parameters in (
        ("orders", f"file:{tmp_path}/orders", DELTA),
        ("copy", f"file:{tmp_path}/orders", DELTA),
        ("plain", f"file:{tmp_path}/plain", {}),
    ):
        serializer = SerDeInfo(name, "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {"path": path})
        storage = StorageDescriptor(
            cols=columns, location=f"file:{tmp_path}/warehouse/{name}", serdeInfo=serializer, bucketCols=[],
            sortCols=[], parameters={}, inputFormat="org.apache.hadoop.mapred.TextInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat", numBuckets=-1,
        )  # fmt: skip
        client.create_table(
            Table(tableName=name, dbName="sales", owner="team", sd=storage, partitionKeys=[],
                  tableType="EXTERNAL_TABLE", parameters={"EXTERNAL": "TRUE", **parameters})
        )  # fmt: skip
    transport.close()
    found, odd = discover(f"hms://127.0.0.1:{real_metastore}")
    assert {each["name"]: (each["location"], each["owner"]) for each in found["catalog_tables"]} == {
        f"sales.{name}": (f"file:{tmp_path}/orders", "team") for name in ("copy", "orders")
    }
    assert odd == [
        "deltaspec: sales.copy: has the same location as sales.orders",
        "deltaspec: sales.orders: has the same location as sales.copy",
    ]
    assert found["tables"] == [f"file:{tmp_path}/orders"]
