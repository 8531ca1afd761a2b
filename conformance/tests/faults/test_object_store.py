"""The object store keeps files and conditions, and refuses names that lead out of a directory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

from deltaspec.faults.judging import Unreadable
from deltaspec.faults.object_store import ObjectStore


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore() as running:
        yield running


@pytest.fixture
def client(store: ObjectStore) -> Any:
    names = {"aws_access_key_id": "AWS_ACCESS_KEY_ID", "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY"}
    keys = {name: store.environment[variable] for name, variable in names.items()}
    return boto3.client(
        "s3", store.environment["AWS_REGION"], endpoint_url=store.environment["AWS_ENDPOINT_URL"], **keys
    )


def test_download_returns_what_was_uploaded_and_added(store: ObjectStore, client: Any, tmp_path: Path) -> None:
    table = tmp_path / "table"
    (table / "_delta_log").mkdir(parents=True)
    (table / "a b%20c.parquet").write_bytes(b"rows")
    (table / "_delta_log/0.json").write_bytes(b"{}")
    assert store.upload(table, "t.1") == "s3://races/t.1"
    client.put_object(Bucket="races", Key="t.1/x/y", Body=b"new")
    client.put_object(Bucket="races", Key="t.10/z", Body=b"of another table")
    store.download("t.1", table)
    found = {path.relative_to(table).as_posix(): path.read_bytes() for path in table.rglob("*") if path.is_file()}
    assert found == {"a b%20c.parquet": b"rows", "_delta_log/0.json": b"{}", "x/y": b"new"}
    store.delete("t.1")
    store.download("t.1", table)
    assert list(table.iterdir()) == []


def test_only_one_of_many_conditional_puts_succeeds(store: ObjectStore, client: Any) -> None:
    refusals: list[str] = []

    def put(number: int) -> bool:
        try:
            client.put_object(Bucket="races", Key="c/commit", Body=str(number).encode(), IfNoneMatch="*")
        except client.exceptions.ClientError as error:
            refusals.append(error.response["Error"]["Code"])
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(put, range(40))) == 1
    assert refusals == ["PreconditionFailed"] * 39


@pytest.mark.parametrize("key", ["h/../outside", "h/a"])
def test_names_that_are_no_files_are_refused(key: str, store: ObjectStore, client: Any, tmp_path: Path) -> None:
    client.put_object(Bucket="races", Key=key, Body=b"")
    client.put_object(Bucket="races", Key="h/a/b", Body=b"")
    try:
        with pytest.raises(Unreadable, match="an object has the name"):
            store.download("h", tmp_path / "copy")
    finally:
        store.delete("h")
    assert not (tmp_path / "outside").exists()
