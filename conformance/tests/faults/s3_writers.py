"""The small writer in an object store, and a variant that overwrites commits."""

import tempfile
import time
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pyarrow as pa
from botocore.exceptions import ClientError
from faults.small_writers import PAUSE_SECONDS, Conflict, SmallWriter


class S3Writer(SmallWriter):
    """Works on a copy of the table, and commits with conditional put."""

    condition: ClassVar[dict[str, str]] = {"IfNoneMatch": "*"}
    bucket = ""

    @cached_property
    def client(self) -> Any:
        return boto3.client("s3")

    def hello(self) -> dict[str, Any]:
        return {**super().hello(), "stores": ["s3"]}

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        if not table.startswith("s3://"):
            return super().apply(table, operation=operation, commit=commit)
        self.bucket, _, self.name = table.removeprefix("s3://").partition("/")
        with tempfile.TemporaryDirectory() as folder:
            self.copy_objects(Path(folder))
            return super().apply(folder, operation=operation, commit=commit)

    def copy_objects(self, table: Path) -> None:
        for each in self.client.list_objects_v2(Bucket=self.bucket, Prefix=f"{self.name}/")["Contents"]:
            path = table / each["Key"].removeprefix(f"{self.name}/")
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                self.client.download_file(self.bucket, each["Key"], str(path))

    def write_rows(self, table: Path, rows: pa.Table) -> dict[str, Any]:
        added = super().write_rows(table, rows)
        if self.bucket:
            path = added["add"]["path"]
            self.client.upload_file(str(table / path), self.bucket, f"{self.name}/{path}")
        return added

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        if not self.bucket:
            return super().commit(table, version, actions)
        key, data = f"{self.name}/_delta_log/{version:020}.json", self.encode(actions)
        try:
            self.client.put_object(Bucket=self.bucket, Key=key, Body=data, **self.condition)
        except ClientError as error:
            self.copy_objects(table)
            raise Conflict(f"version {version} exists") from error
        return version


class OverwritesObjects(S3Writer):
    """Commits with a plain put."""

    condition: ClassVar[dict[str, str]] = {}

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        time.sleep(PAUSE_SECONDS)
        return super().commit(table, version, actions)
