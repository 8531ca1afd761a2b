"""Configuration files of `deltaspec validate`: `deltaspec.toml`, or `[tool.deltaspec]` in `pyproject.toml`.

The keys are the long options of the command, so that nothing has to be described twice. `[storage-options]` has
settings of storage clients, and `[tables."GLOB"]` has keys for the tables whose location matches. The command line wins
over a table's section, later sections over earlier ones, and sections over the top of the file. Paths are relative to
the file.

`[[accept]]` accepts findings of rules that run; `ignore` lists rules that do not run. The entries of all sections that
match apply. `owner`, `channels` and `notify-severity` say whom a table concerns.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deltaspec.commands.contacts import (
    CONTACT_KEYS,
    VARIABLE,
    Contacts,
    check_contact,
    fill_in_variables,
    matches_table,
)
from deltaspec.errors import InvalidUsage, suggest_name
from deltaspec.input_files import read_input_file

if TYPE_CHECKING:
    from deltaspec.report.report_types import AcceptEntry
    from deltaspec.wire.storage.settings import StorageSettings

FILE_NAME = "deltaspec.toml"
STORAGE_OPTIONS = "storage-options"
TABLES = "tables"
ACCEPT = "accept"
_ONE_RUN = frozenset(
    {
        *("config", "output", "report", "estimate", "findings-out", "state", "resume", "since"),
        *("tables-from", "jobs", "help", "notify", "notify-state"),
        "catalog",  # who can change the file must not choose who receives the token
    }
)
"""Options that belong to one run or one table, not into a file."""
_MAX_BYTES = 1 << 20


class Configuration(msgspec.Struct, frozen=True):
    """Settings of a configuration file for one table."""

    file: str
    """The file, for messages; empty if there is none."""
    values: Mapping[str, Any]
    """Values by long option, without `--`."""
    storage_options: Mapping[str, str]
    """Settings of storage clients, with the values of environment variables filled in."""
    accept: Sequence[AcceptEntry] = ()
    """Entries that accept findings."""


NO_CONFIGURATION = Configuration("", {}, {})


class TableOptions(msgspec.Struct, frozen=True):
    """The options of `deltaspec validate` for one table."""

    table: str
    """Path or URI, as the user wrote it."""
    values: Mapping[str, Any]
    """Values by parameter: given on the command line, else by the configuration of the table, else the default."""
    given: frozenset[str]
    """Parameters that the command line gives."""
    configured: frozenset[str]
    """Parameters that the configuration gives."""
    configuration: Configuration

    @property
    def storage(self) -> StorageSettings:
        """Settings of storage clients, with the limit of requests."""
        from deltaspec.wire.storage.rate_limit import SETTING
        from deltaspec.wire.storage.settings import StorageSettings

        rate = self.values["max_requests_per_second"]
        limit = {} if rate is None else {SETTING: str(rate)}
        return StorageSettings({**self.configuration.storage_options, **limit})


class ConfiguredCommand(click.Command):
    """A command that keeps its options as the user gave them, so that a configuration file can set the others."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_GIVEN_KEY], *_ = self.make_parser(ctx).parse_args(list(args))
        return super().parse_args(ctx, args)


def get_given_options() -> dict[str, Any]:
    """Return the options of the running `ConfiguredCommand` that the user gave, by parameter, as text."""
    return dict(click.get_current_context().meta[_GIVEN_KEY])


class ValidateCommand(ConfiguredCommand):
    """The command whose options a configuration file can set, differently for each table."""

    @property
    def configurable_options(self) -> dict[str, click.Option]:
        """The options that a configuration file may set, by key."""
        named = {_get_key(each): each for each in self.params if isinstance(each, click.Option)}
        return {key: option for key, option in named.items() if key not in _ONE_RUN}

    def select_options(self, names: Collection[str]) -> list[click.Parameter]:
        """Return options by the names of their parameters, with `--config`, for a command that shares them."""
        return [each for each in self.params if each.name in {*names, "config"}]

    def resolve_options(self, given: Mapping[str, Any], table: str | None) -> TableOptions:
        """Return the options for a table.

        Args:
            given: values on the command line, by parameter, as text.
            table: path or URI; None to apply no section of a table.

        Raises:
            InvalidUsage: the configuration is not valid.
            click.UsageError: a given value is not valid.
        """
        options = self.configurable_options
        configuration = load_configuration(given.get("config"), table, options)
        defaults = {str(options[key].name): value for key, value in configuration.values.items()}
        context = click.Context(self, info_name=self.name, default_map=defaults)
        for option in self.params:
            if isinstance(option, click.Option):
                with _naming_file(configuration, option, given):
                    option.handle_parse_result(context, given, [])
        values = {name: None if value is _UNSET else value for name, value in context.params.items()}
        values[ACCEPT] = configuration.accept
        return TableOptions(table or "", values, frozenset(given), frozenset(defaults), configuration)


_GIVEN_KEY = "deltaspec.given_options"
_UNSET: Any = getattr(click.core, "UNSET", None)
"""Value that Click sets for an option without a value."""


@contextmanager
def _naming_file(configuration: Configuration, option: click.Option, given: Mapping[str, Any]) -> Iterator[None]:
    """Name the configuration file if an option has a bad value from it."""
    try:
        yield
    except click.BadParameter as fault:
        key = _get_key(option)
        if key in configuration.values and option.name not in given:
            raise InvalidUsage(f"{configuration.file}: {key}: {fault.message}") from fault
        raise


def load_configuration(file: str | None, table: str | None, options: Mapping[str, click.Option]) -> Configuration:
    """Load the configuration of a table.

    Args:
        file: the file to read; None to look for one in the working directory and the directories above it.
        table: path or URI of the table, as the user wrote it; None to apply no section of a table.
        options: the options that the file may set, by key.

    Raises:
        InvalidUsage: the file cannot be read, is not TOML, has an unknown key or a value of the wrong type, or contains
            a secret; or an environment variable that it names is not set. The message contains no secret.
    """
    path = Path(file) if file is not None else _find_file(Path.cwd())
    if path is None:
        return NO_CONFIGURATION
    content = _read_table(path)
    if content is None:
        raise InvalidUsage(f"{path}: has no [tool.deltaspec]")
    sections = content.pop(TABLES, {})
    _check_sections(path, sections)
    values: dict[str, Any] = {}
    storage: dict[str, Any] = {}
    accept: list[AcceptEntry] = []
    keys = {name.lstrip("-"): key for key, option in options.items() for name in option.opts}
    for place, section, applies in _list_sections(content, sections, table):
        for written, value in section.items():
            where = f"{path}: {place}{written}"
            key = keys.get(written, written)
            if key in CONTACT_KEYS:
                check_contact(where, key, value)
            elif key == STORAGE_OPTIONS:
                _check_storage_options(where, value)
                storage.update(value if applies else {})
            elif key == ACCEPT:
                entries = _parse_accept_entries(where, value)
                accept += entries if applies else []
            else:
                checked = _check_value(where, key, value, options)
                if applies:
                    values[key] = _locate(path, checked) if isinstance(options[key].type, click.Path) else checked
    storage = {name: fill_in_variables(f"{path}: {STORAGE_OPTIONS}.{name}", value) for name, value in storage.items()}
    return Configuration(str(path), values, storage, accept)


def load_contacts(file: str | None) -> Contacts:
    """Load whom tables concern, from the file that `load_configuration` reads.

    Raises:
        InvalidUsage: as `load_configuration`, for the keys of contacts.
    """
    path = Path(file) if file is not None else _find_file(Path.cwd())
    content = None if path is None else _read_table(path)
    if path is None or content is None:
        return Contacts("", [])
    sections = content.pop(TABLES, {})
    _check_sections(path, sections)
    found = []
    for glob, section in [("*", content), *sections.items()]:
        keys = {key: section[key] for key in CONTACT_KEYS if key in section}
        for key, value in keys.items():
            check_contact(f"{path}: {key}", key, value)
        found.append((glob, keys))
    return Contacts(str(path), found)


def _find_file(directory: Path) -> Path | None:
    """Return the nearest file with a configuration, from a directory upwards.

    Files in a table are not used: the writer of a table must not choose how it is judged.
    """
    from deltaspec.wire.storage.interface import LOG_DIRECTORY

    above = [directory, *directory.parents]
    tables = [number for number, each in enumerate(above) if (each / LOG_DIRECTORY).is_dir()]
    for each in above[max(tables, default=-1) + 1 :]:
        if (each / FILE_NAME).is_file():
            return each / FILE_NAME
        project = each / "pyproject.toml"
        is_likely = project.is_file() and b"tool.deltaspec" in read_input_file(project, _MAX_BYTES)
        if is_likely and _read_table(project) is not None:
            return project
    return None


def _read_table(path: Path) -> dict[str, Any] | None:
    """Return the configuration in a file; None if it is a `pyproject.toml` without one."""
    import tomllib

    try:
        content = tomllib.loads(read_input_file(path, _MAX_BYTES).decode())
    except UnicodeDecodeError as fault:
        raise InvalidUsage(f"{path}: not UTF-8 text, so not TOML") from fault
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise InvalidUsage(f"{path}: not TOML: {fault}") from fault
    if path.name != "pyproject.toml":
        return content
    tools = content.get("tool", {})
    section = tools.get("deltaspec") if isinstance(tools, dict) else None
    if section is not None and not isinstance(section, dict):
        raise InvalidUsage(f"{path}: tool.deltaspec: expected a table")
    return section


def _check_sections(path: Path, sections: Any) -> None:
    if not isinstance(sections, dict) or not all(isinstance(each, dict) for each in sections.values()):
        raise InvalidUsage(f'{path}: {TABLES}: expected sections such as [{TABLES}."s3://lake/*"]')


def _list_sections(
    content: dict[str, Any], sections: dict[str, dict[str, Any]], table: str | None
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield each section: its location for messages, its keys, and whether it applies to the table."""
    yield "", content, True
    for glob, section in sections.items():
        yield f'{TABLES}."{glob}".', section, table is not None and matches_table(glob, table)


def _check_value(where: str, key: str, value: Any, options: Mapping[str, click.Option]) -> Any:
    """Return a value as the option takes it; Click checks it further."""
    option = options.get(key)
    if option is None:
        known = [*options, STORAGE_OPTIONS, ACCEPT, TABLES, *CONTACT_KEYS]
        if key in _ONE_RUN:
            raise InvalidUsage(f"{where}: can be set only on the command line")
        raise InvalidUsage(f"{where}: unknown key ({suggest_name(key, known)})")
    if option.is_flag:
        expected, fits = "true or false", isinstance(value, bool)
    elif option.multiple:
        given = [value] if isinstance(value, str) else value
        if key == "ignore" and isinstance(given, list) and any(isinstance(each, dict) for each in given):
            raise InvalidUsage(f"{where}: names rules that are not run; accept findings with [[{ACCEPT}]]")
        expected, fits = "a list of strings", isinstance(given, list) and all(isinstance(each, str) for each in given)
        value = given
    else:
        value = value.isoformat() if isinstance(value, datetime) else value
        expected, fits = "a string or number", isinstance(value, str | int) and not isinstance(value, bool)
    if not fits:
        raise InvalidUsage(f"{where}: expected {expected}")
    return value


def _parse_accept_entries(where: str, entries: Any) -> list[AcceptEntry]:
    from deltaspec.validation.accept_entries import parse_accept_entry

    if not isinstance(entries, list):
        raise InvalidUsage(f"{where}: expected entries such as [[{ACCEPT}]] with rule and reason")
    return [parse_accept_entry(f"{where}[{number}]", each) for number, each in enumerate(entries)]


def _locate(file: Path, path: str) -> str:
    """Return a path in a configuration file, relative to the working directory or absolute."""
    return os.path.relpath(file.parent / path) if not os.path.isabs(path) else path


def _check_storage_options(where: str, options: Any) -> None:
    from deltaspec.wire.storage.settings import is_secret

    if not isinstance(options, dict) or not all(isinstance(each, str) for each in options.values()):
        raise InvalidUsage(f"{where}: expected names and strings, such as AWS_REGION = 'eu-west-1'")
    for name, value in options.items():
        if is_secret(name, value) and VARIABLE.fullmatch(value) is None:
            raise InvalidUsage(f"{where}.{name}: a file must not contain secrets; write '${{env:VARIABLE}}'")


def _get_key(option: click.Option) -> str:
    """Return the key of an option in a configuration file: its longest name without `--`. Files may use the others."""
    return max(option.opts, key=len).lstrip("-")
