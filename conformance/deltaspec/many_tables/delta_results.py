"""Append the results of runs to a Delta table, with delta-rs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.output_files import translate_write_errors
from deltaspec.report.results_rows import SCHEMA, Result, build_results
from deltaspec.validation.output_location import require_outside_table
from deltaspec.version import __version__
from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.factory import OBJECT_SCHEMES, is_local, is_uri
from deltaspec.wire.storage.interface import decode_file_uri, redact_uri, split_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_OWN_SETTINGS = "DELTASPEC_"


class DeltaResults:
    """The table of results of one run. It is created if it does not exist, and only appended to."""

    def __init__(self, location: str, settings: StorageSettings = ENVIRONMENT) -> None:
        """Check before the run that the results can be appended.

        Args:
            location: path or URI of the table.
            settings: credentials, region and endpoint of its store.

        Raises:
            InvalidUsage: deltalake is not installed, the table has other columns, or the location cannot be used.
        """
        if not location:
            raise InvalidUsage("no table for the results is named; write --report delta:LOCATION")
        if find_spec("deltalake") is None:
            raise InvalidUsage(f"a Delta table of results needs deltalake: {build_install_command('deltalake')}")
        self._location = location
        if is_local(location):
            self._location = os.path.abspath(decode_file_uri(location) if is_uri(location) else location)
        self._settings = settings
        self._options = {name: value for name, value in settings.given.items() if not name.startswith(_OWN_SETTINGS)}
        self._run = uuid.uuid4().hex
        self._begun = datetime.now(UTC)
        self._check_table()

    def write(self, results: Iterable[Result]) -> None:
        """Append the rows of all tables of the run in one commit.

        Raises:
            InvalidUsage: the table cannot be written, or has other columns by now.
        """
        from deltalake import CommitProperties, write_deltalake

        self._check_table()
        rows = build_results(self._run, self._begun, __version__, results)
        properties = CommitProperties(custom_metadata={"deltaspec.run": self._run})
        with self._translating_errors():
            write_deltalake(
                self._location,
                rows,
                mode="append",
                storage_options=self._options or None,
                commit_properties=properties,
                name="deltaspec results",
            )

    def _check_table(self) -> None:
        """Check that the table has the columns of this release, or does not exist and is in no other table."""
        from deltalake import DeltaTable

        with self._translating_errors():
            if not DeltaTable.is_deltatable(self._location, self._options or None):
                self._create_location()
                return
            table = DeltaTable(self._location, storage_options=self._options or None)
            schema: Any = table.schema().to_arrow()
        differences = _list_differences(schema)
        if differences:
            raise InvalidUsage(
                f"{redact_uri(self._location)}: is no table of results of this release: {'; '.join(differences)}. "
                "Name a new table"
            )

    def _create_location(self) -> None:
        """Check that a new table can be written, before the run."""
        require_outside_table(self._location, None)
        if is_local(self._location):
            with translate_write_errors(self._location):
                os.makedirs(self._location, exist_ok=True)
        elif split_uri(self._location).scheme not in OBJECT_SCHEMES:
            raise InvalidUsage(
                f"{redact_uri(self._location)}: results cannot be written; choose a path or {', '.join(OBJECT_SCHEMES)}"
            )

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except InvalidUsage:
            raise
        except Exception as fault:
            reason = describe_error(fault, self._settings).replace(self._location, redact_uri(self._location))
            raise InvalidUsage(f"{redact_uri(self._location)}: results cannot be written: {reason}") from fault


def _list_differences(schema: Any) -> list[str]:
    """List the columns of a table that differ from the columns of results."""
    found: pa.Schema = pa.schema(schema)
    stored = {field.name: _normalize(field.type) for field in found}
    expected = {field.name: field.type for field in SCHEMA}
    missing = sorted(expected.keys() - stored.keys())
    added = sorted(stored.keys() - expected.keys())
    changed = sorted(name for name in expected.keys() & stored.keys() if stored[name] != expected[name])
    named = {"missing columns": missing, "unknown columns": added, "columns of another type": changed}
    return [f"{title}: {', '.join(names)}" for title, names in named.items() if names]


def _normalize(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column without the difference between encodings of strings."""
    return pa.string() if pa.types.is_large_string(kind) or str(kind) == "string_view" else kind
