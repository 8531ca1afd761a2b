"""AWS Glue: the Delta tables of a data catalog. Region and credentials come from the usual settings of AWS."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.wire.catalog.listed import ListedTable, find_location, is_delta
from deltaspec.wire.storage.settings import StorageSettings

SCHEME = "glue://"
_SETTINGS = {
    "region_name": "AWS_REGION",
    "aws_access_key_id": "AWS_ACCESS_KEY_ID",
    "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "aws_session_token": "AWS_SESSION_TOKEN",
}


def list_glue_tables(location: str, settings: StorageSettings, install_command: str) -> Iterator[ListedTable]:
    """Yield the Delta tables of a data catalog, by database and name.

    Args:
        location: `glue://`, `glue://DATABASE` or `glue://DATABASE.TABLE`, with globs.
        settings: region and credentials, which override the environment.
        install_command: command that installs boto3, for the message.

    Raises:
        InvalidUsage: boto3 is not installed, or no region is set.
        TableUnreadable: Glue refuses access, or the database does not exist.
        StorageUnavailable: Glue does not answer.
    """
    if find_spec("boto3") is None:
        raise InvalidUsage(f"glue:// needs boto3: {install_command}")
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoRegionError

    database, _, table = location.removeprefix(SCHEME).strip("/").partition(".")
    given = {name: settings.given[setting] for name, setting in _SETTINGS.items() if setting in settings.given}
    try:
        client = boto3.client("glue", **given)
        for found in _iter_databases(client, database or "*"):
            for page in client.get_paginator("get_tables").paginate(DatabaseName=found):
                yield from _select(page["TableList"], table or "*")
    except NoRegionError as fault:
        raise InvalidUsage(f"{location}: no region is set; set AWS_REGION") from fault
    except HTTPClientError as fault:
        raise StorageUnavailable(f"{location}: Glue does not answer: {settings.redact(str(fault))}") from fault
    except (ClientError, BotoCoreError) as fault:
        raise TableUnreadable(f"{location}: {settings.redact(str(fault))}") from fault


def _iter_databases(client: Any, pattern: str) -> Iterator[str]:
    if not set(pattern) & set("*?["):
        yield pattern
        return
    for page in client.get_paginator("get_databases").paginate():
        yield from (each["Name"] for each in page["DatabaseList"] if fnmatchcase(each["Name"], pattern))


def _read_table(found: dict[str, Any]) -> ListedTable | None:
    """Return a table of the answer; None if it is no Delta table."""
    parameters = found.get("Parameters") or {}
    if not is_delta(parameters):
        return None
    storage = found.get("StorageDescriptor") or {}
    location = find_location(storage.get("Location"), (storage.get("SerdeInfo") or {}).get("Parameters"))
    return ListedTable(f"{found['DatabaseName']}.{found['Name']}", location, found.get("Owner") or "", parameters)


def _select(tables: list[dict[str, Any]], pattern: str) -> Iterator[ListedTable]:
    for each in map(_read_table, tables):
        if each is not None and fnmatchcase(each.name.partition(".")[2], pattern):
            yield each
