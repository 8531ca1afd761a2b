"""`--notify`: tell people through Apprise what is new or gone since the last run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.commands.contacts import VARIABLE, Contacts, fill_in_variables
from deltaspec.commands.table_names import normalize_location
from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.output_files import require_writable, write_file

if TYPE_CHECKING:
    from deltaspec.lake.notices import Notice
    from deltaspec.report.report_types import Report
    from deltaspec.report.tables_summary import TableResult

NOTIFY = "notify"
"""Format of the target that sends messages."""


class Notifications(msgspec.Struct, frozen=True):
    """The addresses that get messages about a run, and what was sent before."""

    addresses: Sequence[str]
    """Apprise URLs that get messages about every table."""
    state: str
    """File with what was known after the last run."""
    contacts: Contacts

    @classmethod
    def parse(cls, addresses: Sequence[str], state: str | None, config: str | None) -> Notifications | None:
        """Check the addresses before the run; None if there are none.

        Args:
            addresses: values of `--notify`.
            state: value of `--notify-state`.
            config: configuration file with the channels of tables; None to look for one.

        Raises:
            InvalidUsage: Apprise is not installed, an address is not valid or contains a secret, or the file of the
            state is missing or cannot be written.
        """
        from deltaspec.commands.configuration import load_contacts
        from deltaspec.lake.state import read_state

        if state is None:
            if addresses:
                raise InvalidUsage("--notify needs --notify-state FILE, which says what was known after the last run")
            return None
        if find_spec("apprise") is None:
            raise InvalidUsage(f"--notify-state needs apprise: {build_install_command('notify')}")
        require_writable(state)
        if os.path.exists(state):
            read_state(state)
        found = cls([_resolve_address(each) for each in addresses], state, load_contacts(config))
        for each in [*found.addresses, *found.contacts.list_channels()]:
            _open_channel(each)
        return found

    def write(self, results: Iterable[tuple[TableResult, Report | None]]) -> None:
        """Send the messages, and then record what is known now.

        Raises:
            InvalidUsage: a message could not be sent; the next run sends it again.
        """
        from deltaspec.lake.notices import record_run, render_body, render_title
        from deltaspec.lake.state import LakeState, read_state

        state = read_state(self.state) if os.path.exists(self.state) else LakeState()
        now = int(time.time() * 1000)
        named = ((now, normalize_location(result.table), result, report) for result, report in results)
        notices = record_run(state, named, self.contacts.get_severity)
        failed = []
        for address, concerned in self._group(notices).items():
            channel = _open_channel(address)
            body = render_body(concerned, self.contacts.get_owner)
            if not channel.notify(title=render_title(concerned), body=body):
                failed.append(_hide_secrets(address))
        if failed:
            raise InvalidUsage(f"not notified: {', '.join(failed)}; the next run sends the message again")
        write_file(self.state, msgspec.json.encode(state))

    def _group(self, notices: Sequence[Notice]) -> dict[str, list[Notice]]:
        """Return the notices of each address: of `--notify`, and of the channels of each table."""
        found: dict[str, list[Notice]] = {}
        for each in notices:
            for address in dict.fromkeys([*self.addresses, *self.contacts.get_channels(each.entry.table)]):
                found.setdefault(address, []).append(each)
        return found


def _resolve_address(text: str) -> str:
    """Return an address with its secrets from the environment.

    Raises:
        InvalidUsage: a variable is not set, or the address itself contains a secret.
    """
    if VARIABLE.search(text) is None and _has_secret(text):
        raise InvalidUsage(
            f"--notify {_hide_secrets(text)}: the address contains a secret, which other users of this machine can "
            "see; set it in an environment variable, and write --notify '${env:VARIABLE}'"
        )
    return fill_in_variables("--notify", text)


def _open_channel(address: str) -> Any:
    """Return the channel of an address.

    Raises:
        InvalidUsage: Apprise does not know the address.
    """
    from apprise import Apprise

    channel = Apprise()
    if not address or not channel.add(address):
        scheme = address.partition("://")[0] if "://" in address else "no scheme"
        raise InvalidUsage(f"--notify: no address that Apprise knows ({scheme}://…)")
    return channel


def _has_secret(address: str) -> bool:
    channel = _open_channel(address)[0]
    return bool(channel.url(privacy=True) != channel.url(privacy=False))


def _hide_secrets(address: str) -> str:
    shown: str = _open_channel(address)[0].url(privacy=True)
    return shown.partition("?")[0]
