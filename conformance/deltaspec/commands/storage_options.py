"""Settings of storage clients for one table of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.commands.configuration import CONFIGURATION_KEY

if TYPE_CHECKING:
    import click

    from deltaspec.wire.storage.settings import StorageSettings


def build_storage_settings(context: click.Context) -> StorageSettings:
    """Return the settings of storage clients in the configuration of a table, with the limit of requests."""
    from deltaspec.wire.storage.rate_limit import SETTING
    from deltaspec.wire.storage.settings import StorageSettings

    rate = context.params["max_requests_per_second"]
    limit = {} if rate is None else {SETTING: str(rate)}
    return StorageSettings({**context.meta[CONFIGURATION_KEY].storage_options, **limit})
