"""Settings of storage clients: from the caller, and otherwise from the environment variables of the process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote

from deltaspec.errors import InvalidUsage

_NAME = re.compile(r"(AWS|GOOGLE|AZURE|DELTASPEC_STORE)_[A-Z0-9_]+")
_SECRET_NAMES = re.compile(r"KEY|SECRET|TOKEN|SAS|SIG|PASSWORD|CREDENTIAL")
_PASSWORD = re.compile(r"://[^/@]*:([^/@]+)@")
_SIGNATURE = re.compile(r"[?&](sig|X-Amz-Signature|X-Goog-Signature)=", re.IGNORECASE)
_NOT_SECRET = ("_KEY_ID", "_SKIP_SIGNATURE", "_FILE", "_PATH", "_APPLICATION_CREDENTIALS")
_OWNERS = ("AWS_", "AZURE_", "GOOGLE_", "GCP_")


class StorageSettings:
    """Settings by name, such as `AWS_REGION`. A pickle contains only what the caller gave."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        """Check the names of given settings.

        Args:
            given: settings that override the environment, by the names of environment variables in any case.

        Raises:
            InvalidUsage: a name is not the name of a setting, or a value is not a string. The message contains no
            value.
        """
        self.given: dict[str, str] = {}
        for name, value in (given or {}).items():
            if not isinstance(name, str) or not _NAME.fullmatch(name.upper()):
                raise InvalidUsage(f"unknown storage option {name!r}; write names such as AWS_REGION")
            if not isinstance(value, str):
                raise InvalidUsage(f"storage option {name} is not a string")
            self.given[name.upper()] = value

    def __repr__(self) -> str:
        return f"StorageSettings({', '.join(sorted(self.given))})"

    def get(self, name: str) -> str | None:
        """Return a setting; None if neither the caller nor the environment has it."""
        return self.given.get(name, os.environ.get(name))

    def collect(self, prefix: str) -> dict[str, str]:
        """Return all settings whose names have a prefix."""
        return {name: value for name, value in {**os.environ, **self.given}.items() if name.startswith(prefix)}

    def redact(self, text: str) -> str:
        """Replace the keys, tokens and passwords among the settings by `***`."""
        for name, value in (*os.environ.items(), *self.given.items()):
            if name.startswith(_OWNERS) and len(value) >= 6:
                hidden = [value] if _SECRET_NAMES.search(name.upper()) else []
                password = _PASSWORD.search(value)
                for each in (*hidden, *([password[1]] if password else [])):
                    text = text.replace(each, "***").replace(quote(each, safe=""), "***")
        return text


def is_secret(name: str, value: str) -> bool:
    """Return whether a setting contains a secret: its name says so, or its value is a URL with a password or signature.

    Names of files and users are not secrets.
    """
    upper = name.upper()
    is_named = _SECRET_NAMES.search(upper) is not None and not upper.endswith(_NOT_SECRET)
    return is_named or _PASSWORD.search(value) is not None or _SIGNATURE.search(value) is not None


ENVIRONMENT = StorageSettings()
"""The environment variables alone."""
