"""Earlier versions of objects in S3, listed with boto3, because the storage client cannot list them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.interface import StorageError, Store
from deltaspec.wire.storage.retries import RetryPolicy
from deltaspec.wire.storage.settings import StorageSettings

PACKAGE = "deltaspec[versions]"
_SCHEMES = ("s3", "s3a")
_MAX_VERSIONS = 1000
"""Versions and delete markers of one response; further ones of the same name are not read."""
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")


class ObjectVersion(msgspec.Struct, frozen=True):
    """A version of an object that still has its content."""

    uri: str
    """URI of the object, and `?versionId=`."""
    size_bytes: int
    is_latest: bool
    """Whether readers get it; false for all versions of a deleted object."""


class ObjectVersions:
    """Access to the versions of a table's objects."""

    def __init__(self, store: Store) -> None:
        """Open a client. No request is sent.

        Raises:
            StorageError: the store has no versions that can be listed, or boto3 is not installed.
        """
        scheme, _, rest = (store.root or store.uri).partition("://")
        if scheme.lower() not in _SCHEMES:
            raise StorageError(f"deltaspec lists versions of objects in S3 only, not in {scheme.lower()}")
        self._settings = store.settings
        self._bucket, _, prefix = rest.partition("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._client = _open_client(store.settings)

    def list_versions(self, name: str) -> list[ObjectVersion]:
        """Return the versions of one object, newest first.

        Args:
            name: decoded path relative to the table.

        Raises:
            StorageError: the store does not list them.
        """
        key = f"{self._prefix}{name}"
        try:
            found: Any = self._client.list_object_versions(Bucket=self._bucket, Prefix=key, MaxKeys=_MAX_VERSIONS)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            code = getattr(fault, "response", {}).get("Error", {}).get("Code")
            reason = f"the store answers {code}" if code else describe_error(fault, self._settings)
            raise StorageError(f"the versions of objects cannot be listed: {reason}") from None
        return list(self._parse(found, key))

    def _parse(self, found: dict[str, Any], key: str) -> Iterator[ObjectVersion]:
        for each in found.get("Versions", ()):
            if each["Key"] == key and each["VersionId"] != "null":
                uri = f"s3://{self._bucket}/{key}?versionId={each['VersionId']}"
                yield ObjectVersion(uri, each["Size"], each["IsLatest"])


def _open_client(settings: StorageSettings) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as fault:
        raise StorageError(f"listing versions of objects needs boto3; run: pip install '{PACKAGE}'") from fault
    policy = RetryPolicy.from_settings(settings)
    endpoint = _get_first(settings, _ENDPOINTS)
    config = Config(
        connect_timeout=policy.timeout_seconds,
        read_timeout=policy.timeout_seconds,
        retries={"total_max_attempts": 1 + policy.client_retries},
        s3={"addressing_style": "auto" if endpoint is None else "path"},
    )
    return boto3.client(
        "s3",
        region_name=_get_first(settings, _REGIONS) or "us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id=settings.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=settings.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=settings.get("AWS_SESSION_TOKEN"),
        config=config,
    )


def _get_first(settings: StorageSettings, names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := settings.get(name))), None)
