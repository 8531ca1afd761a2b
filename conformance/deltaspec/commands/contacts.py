"""Whom tables concern: owner, channels and severity of notifications, from the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.scales import SEVERITIES

OWNER, CHANNELS, NOTIFY_SEVERITY = "owner", "channels", "notify-severity"
CONTACT_KEYS = (OWNER, CHANNELS, NOTIFY_SEVERITY)
"""Keys of a configuration file that say whom a table concerns. They change nothing of a run."""
VARIABLE = re.compile(r"\$\{env:([^}]*)\}")
"""How a file names an environment variable."""


class Contacts(msgspec.Struct, frozen=True):
    """The sections of a configuration file that name owners and channels."""

    file: str
    """The file, for messages; empty if there is none."""
    sections: Sequence[tuple[str, Mapping[str, Any]]]
    """Glob over locations, and the values of `CONTACT_KEYS`; later sections win."""

    def get_owner(self, table: str) -> str:
        """Return the owner of a table; empty if no section names one."""
        return str(self._get(table, OWNER) or "")

    def get_severity(self, table: str) -> str:
        """Return the least severe findings of a table that are notified."""
        return str(self._get(table, NOTIFY_SEVERITY) or "warning")

    def get_channels(self, table: str) -> list[str]:
        """Return the addresses that are notified of a table, with the values of environment variables filled in.

        Raises:
            InvalidUsage: an environment variable is not set.
        """
        return [fill_in_variables(f"{self.file}: {CHANNELS}", each) for each in self._get(table, CHANNELS) or []]

    def list_channels(self) -> list[str]:
        """Return the addresses of all sections, as `get_channels` does."""
        named = (each for _, values in self.sections for each in values.get(CHANNELS, []))
        return [fill_in_variables(f"{self.file}: {CHANNELS}", each) for each in dict.fromkeys(named)]

    def _get(self, table: str, key: str) -> Any:
        found = None
        for glob, values in self.sections:
            if key in values and (glob == "*" or matches_table(glob, table)):
                found = values[key]
        return found


def matches_table(glob: str, table: str) -> bool:
    """Return whether a glob of a configuration file matches the location of a table, as the user wrote it."""
    locations = {table.rstrip("/"), table if "://" in table else os.path.abspath(table)}
    return any(fnmatchcase(each, glob.rstrip("/")) for each in locations)


def check_contact(where: str, key: str, value: Any) -> None:
    """Raise `InvalidUsage` if a value of `CONTACT_KEYS` is not valid, or contains a secret."""
    if key == CHANNELS:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidUsage(f"{where}: expected a list of strings, such as ['${{env:SLACK_URL}}']")
        for each in value:
            if VARIABLE.fullmatch(each) is None:
                raise InvalidUsage(f"{where}: an address may contain secrets; write '${{env:VARIABLE}}'")
    elif not isinstance(value, str):
        raise InvalidUsage(f"{where}: expected a string")
    elif key == NOTIFY_SEVERITY and value not in SEVERITIES:
        raise InvalidUsage(f"{where}: expected {', '.join(SEVERITIES)}")


def fill_in_variables(where: str, text: str) -> str:
    """Return a text with the values of environment variables in place of `${env:VARIABLE}`.

    Raises:
        InvalidUsage: a variable is not set.
    """

    def replace(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise InvalidUsage(f"{where}: the environment variable {match[1]} is not set")
        return found

    return VARIABLE.sub(replace, text)
