"""A plan lists the earlier versions of lost objects in a bucket with versions, and copies of the table."""

import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from helpers.cli import run
from helpers.faulty_s3 import BUCKET, SECRET, FaultyS3, run_faulty_s3, set_environment

import deltaspec
from deltaspec.repair.plan_format import NotRepaired, Repair, RepairPlan
from deltaspec_generators.small_tables import build_table_with_data, build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles, encode_table

COMMIT_1 = "_delta_log/00000000000000000001.json"


def build_endpoint(server: FaultyS3) -> str:
    """Return the endpoint of the server itself, because its proxy does not pass on writes."""
    return "http://{}:{}".format(*server.moto)


class Bucket:
    """A bucket with versions, which outlive a test, and a folder of it with a table `t`."""

    def __init__(self, server: FaultyS3, folder: str) -> None:
        self.folder = folder
        self._client = boto3.client(
            "s3", "us-east-1", endpoint_url=build_endpoint(server), aws_access_key_id="x", aws_secret_access_key="x"
        )
        self._client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

    def write_table(self, files: TableFiles) -> str:
        """Store the files of a table; return its URI."""
        for name, data in encode_table(files).items():
            self.put(f"t/{name}", data)
        return f"s3://{BUCKET}/{self.folder}/t"

    def put(self, name: str, data: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=f"{self.folder}/{name}", Body=data)

    def get_version(self, name: str) -> str:
        """Return the URI of the current version of an object."""
        key = f"{self.folder}/{name}"
        version = self._client.head_object(Bucket=BUCKET, Key=key)["VersionId"]
        return f"s3://{BUCKET}/{key}?versionId={version}"

    def delete(self, name: str) -> None:
        self._client.delete_object(Bucket=BUCKET, Key=f"{self.folder}/{name}")


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as running:
        yield running


@pytest.fixture
def bucket(server: FaultyS3, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Bucket:
    set_environment(monkeypatch, server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", build_endpoint(server))
    return Bucket(server, request.node.name)


def select(plan: RepairPlan, rule: str) -> list[Repair | NotRepaired]:
    repairs = [each for each in plan.repairs if rule in each.rules]
    return [*repairs, *(each for each in plan.not_repaired if each.rule == rule)]


def test_version_of_a_deleted_file_is_found(bucket: Bucket, tmp_path: Path) -> None:
    table = bucket.write_table(build_table_with_data())
    expected = bucket.get_version("t/b.parquet")
    bucket.put("t/b.parquet.old", b"another name")
    bucket.delete("t/b.parquet")
    result = run("repair", table, "--output", tmp_path / "plan")
    assert f"it may be at {expected}" in result.stdout
    plan = deltaspec.plan_repair(table)
    (repair,) = plan.repairs
    assert (repair.found_elsewhere, repair.not_searched) == ([expected], [])
    page = (tmp_path / "plan" / "README.md").read_text()
    assert "aws s3api copy-object --bucket" in page
    assert SECRET not in page + result.stdout


def test_version_before_an_overwriting_is_found(bucket: Bucket) -> None:
    files = build_table_with_data()
    table = bucket.write_table(files)
    expected = bucket.get_version("t/b.parquet")
    bucket.put("t/b.parquet", b"overwritten")
    (repair,) = deltaspec.plan_repair(table).repairs
    assert repair.found_elsewhere == [expected]


def test_copy_in_another_table_of_the_bucket_is_found(bucket: Bucket) -> None:
    files = build_table_with_data()
    table = bucket.write_table(files)
    bucket.put("backup/t/b.parquet", encode_table(files)["b.parquet"])
    bucket.delete("t/b.parquet")
    (repair,) = deltaspec.plan_repair(table).repairs
    assert f"s3://{BUCKET}/{bucket.folder}/backup/t/b.parquet" in repair.found_elsewhere


def test_versions_of_a_vector_file_and_of_a_commit_are_found(bucket: Bucket) -> None:
    files = build_table_with_stored_vectors()
    table = bucket.write_table(files)
    (name,) = [each for each in encode_table(files) if each.endswith(".bin")]
    vector, commit = bucket.get_version(f"t/{name}"), bucket.get_version(f"t/{COMMIT_1}")
    bucket.delete(f"t/{name}")
    found = {uri for each in select(deltaspec.plan_repair(table), "DVX010") for uri in each.found_elsewhere}
    assert found == {vector}
    bucket.delete(f"t/{COMMIT_1}")
    found = {uri for each in select(deltaspec.plan_repair(table), "LOG001") for uri in each.found_elsewhere}
    assert found == {commit}


def test_plan_says_that_versions_were_not_listed(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = bucket.write_table(build_table_with_data())
    bucket.delete("t/b.parquet")
    monkeypatch.setitem(sys.modules, "boto3", None)
    (repair,) = deltaspec.plan_repair(table).repairs
    assert repair.found_elsewhere == []
    assert repair.not_searched == ["listing versions of objects needs boto3; run: pip install 'deltaspec[versions]'"]
