"""Tables named by Unity Catalog: location, credentials, and the commits that the catalog ratified."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from deltaspec.errors import DeltaspecError, InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.validation.catalog_commits import convert_answer
from deltaspec.wire.catalog.http import Connection, UnusableAnswer
from deltaspec.wire.catalog.listed import ListedTable
from deltaspec.wire.catalog.names import SCHEME, CatalogName, parse_catalog_name
from deltaspec.wire.catalog.unity import Credential, UnityClient, UnityTable
from deltaspec.wire.storage.factory import OBJECT_SCHEMES, is_local, is_uri, split_supported_uri
from deltaspec.wire.storage.interface import redact_uri
from deltaspec.wire.storage.settings import StorageSettings

_SETTINGS = {
    "s3.access-key-id": "AWS_ACCESS_KEY_ID",
    "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
    "s3.session-token": "AWS_SESSION_TOKEN",
    "azure.sas-token": "AZURE_STORAGE_SAS_TOKEN",
}
"""Settings of storage clients, by the names of the Delta API."""
_AZURE_DOMAINS = (".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".fabric.microsoft.com")


class CatalogSource(msgspec.Struct, frozen=True):
    """Where the answer of a catalog comes from, so that it can be asked again."""

    address: str
    name: str

    def ask(self) -> CatalogAnswer | None:
        """Return the current answer; None if there is no usable one."""
        try:
            name = parse_catalog_name(self.name)
            return build_ratified(name, UnityClient(Connection(self.address)).load_table(name))
        except DeltaspecError:
            return None


class ResolvedTable(msgspec.Struct, frozen=True):
    """A table of a catalog."""

    location: str
    storage: StorageSettings
    catalog: CatalogAnswer | None
    """What the catalog ratified; None if it does not manage the commits of the table."""
    source: CatalogSource


def resolve_table(location: str, address: str | None, storage: StorageSettings) -> ResolvedTable:
    """Ask the catalog for a table.

    Args:
        location: `uc://catalog.schema.table`.
        address: address of the catalog; None if none is given.
        storage: settings of storage clients, which the credentials of the catalog override.

    Raises:
        InvalidUsage: the name or the address is not valid.
        TableUnreadable: the catalog knows no such table, refuses access, or its answer cannot be used.
        StorageUnavailable: the catalog does not answer.
    """
    name = parse_catalog_name(location)
    connection = _connect(location, address)
    client = UnityClient(connection)
    try:
        table = client.load_table(name)
        check_location(table.location, connection.host, is_on_this_machine=connection.is_loopback)
        found = [] if is_local(table.location) else client.find_credentials(name, table)
        settings = StorageSettings({**storage.given, **choose_credentials(table.location, found)})
        source = CatalogSource(address or "", location)
        return ResolvedTable(table.location, settings, build_ratified(name, table), source)
    except TableUnreadable as fault:
        error = StorageUnavailable if isinstance(fault, StorageUnavailable) else TableUnreadable
        raise error(f"{location}: {fault}") from fault


def expand_pattern(location: str, address: str | None) -> Iterator[str]:
    """Yield the names of the Delta tables of a schema, sorted. Raises as `list_unity_tables` does."""
    yield from (f"{SCHEME}{each.name}" for each in list_unity_tables(location, address))


def list_unity_tables(location: str, address: str | None) -> list[ListedTable]:
    """Return the Delta tables of a schema whose names match, sorted by full name.

    Raises:
        InvalidUsage: the pattern or the address is not valid.
        TableUnreadable: the catalog knows no such schema, refuses access, or its answer cannot be used.
        StorageUnavailable: the catalog does not answer.
    """
    found = UnityClient(_connect(location, address)).list_tables(parse_catalog_name(location))
    by_name = {each.name: each for each in found}
    return [by_name[name] for name in sorted(by_name)]


def build_ratified(name: CatalogName, table: UnityTable) -> CatalogAnswer | None:
    """Return what the catalog ratified; None if it does not manage the commits of the table.

    Raises:
        UnusableAnswer: versions or file names cannot be names of ratified commits.
    """
    if table.latest is None:
        return None
    commits = [{"version": each.version, "staged": each.file_name} for each in table.commits]
    try:
        return convert_answer({"latest_version": table.latest, "commits": commits})
    except ValueError as fault:
        raise UnusableAnswer(f"the commits in the answer of the catalog cannot be used: {fault}") from fault


def _connect(location: str, address: str | None) -> Connection:
    if address is None:
        raise InvalidUsage(f"{location}: add --catalog https://host, the address of the catalog")
    return Connection(address)


def check_location(location: str, host: str, *, is_on_this_machine: bool) -> None:
    """Refuse a location that a catalog must not choose: local files, and hosts that are no object stores.

    Args:
        location: location of a table in the answer.
        host: host of the catalog.
        is_on_this_machine: whether the catalog runs here, so that it may name local files.

    Raises:
        UnusableAnswer: the location is refused.
    """
    shown = redact_uri(location) if location.isprintable() else "the location"
    try:
        parts = split_supported_uri(location) if is_uri(location) else None
    except InvalidUsage as fault:
        raise UnusableAnswer(f"the catalog gives a location that cannot be used: {fault}") from fault
    if parts is None or parts.scheme not in ("file", *OBJECT_SCHEMES):
        raise UnusableAnswer(f"the catalog gives {shown} as location, which is no URI of an object store")
    if parts.scheme == "file" and not is_on_this_machine:
        raise UnusableAnswer(f"the catalog {host} gives {shown} as location, a path of this machine")
    is_other_host = parts.scheme in ("abfs", "abfss") and not (parts.hostname or "").endswith(_AZURE_DOMAINS)
    if is_other_host or parts.query or parts.fragment:
        raise UnusableAnswer(f"the catalog gives {shown} as location, which is no container of Azure")


def choose_credentials(location: str, found: list[Credential]) -> dict[str, str]:
    """Return the settings of the credential with the longest prefix; none if the catalog vends none.

    Raises:
        UnusableAnswer: the credentials are for other locations, or of an unsupported kind.
    """
    if not found:
        return {}
    fitting = [each for each in found if f"{location.rstrip('/')}/".startswith(f"{each.prefix.rstrip('/')}/")]
    if not fitting:
        raise UnusableAnswer(f"the catalog gives credentials for {redact_uri(found[0].prefix)}, not for the table")
    config = max(fitting, key=lambda each: len(each.prefix)).config
    settings = {_SETTINGS[name]: value for name, value in config.items() if name in _SETTINGS}
    if not settings:
        kinds = ", ".join(sorted(config)) or "nothing"
        raise UnusableAnswer(f"the catalog gives credentials that are not supported: {kinds}")
    if "AWS_ACCESS_KEY_ID" in settings and os.environ.get("AWS_SESSION_TOKEN"):
        settings.setdefault("AWS_SESSION_TOKEN", "")  # the environment's token belongs to other keys
    return settings
