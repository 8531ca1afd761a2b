"""`--notify`: what a local HTTP server receives."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from helpers.cli import run, single_error_line
from helpers.raw_logs import RawLog

from deltaspec.commands import notifications

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # Apprise imports it


class Webhook:
    """An HTTP server that keeps what it receives."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.messages.append((self.path, json.loads(body)))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"json://127.0.0.1:{self.server.server_port}"

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        taken, self.messages = self.messages, []
        return taken


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    thread = Thread(target=hook.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield hook
    hook.server.shutdown()
    hook.server.server_close()
    thread.join()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A sound table, and one with a missing commit."""
    broken = RawLog("plain")
    broken.drop(1)
    RawLog("plain").write(tmp_path / "lake/sound")
    broken.write(tmp_path / "lake/broken")
    return tmp_path / "lake"


def validate(lake: Path, *options: object) -> Any:
    state = lake.parent / "known.json"
    return run("validate", f"{lake}/*", "--level", "log", "--quiet", "--notify-state", state, *options)


def test_only_news_are_told(lake: Path, webhook: Webhook) -> None:
    options = ("--notify", f"{webhook.address}/all")
    validate(lake, *options)
    ((path, message),) = webhook.take()
    assert path == "/all"
    assert message["title"] == "deltaspec: 1 table with new findings"
    assert f"{lake}/broken: violations\n  new 1 LOG001 commit-missing (violation): " in message["message"]
    assert f"{lake}/sound" not in message["message"]
    validate(lake, *options)
    assert webhook.take() == []
    (lake / "sound/_delta_log" / f"{1:020}.json").rename(lake / "broken/_delta_log" / f"{1:020}.json")
    validate(lake, *options)
    ((_, message),) = webhook.take()
    assert message["title"] == "deltaspec: 1 table with new findings, findings of 1 table gone"
    assert f"{lake}/sound: violations, was conforms\n  new 1 LOG001" in message["message"]
    assert f"{lake}/broken: conforms, was violations\n  gone 1 LOG001" in message["message"]


def test_table_that_cannot_be_read_is_told_once(lake: Path, webhook: Webhook) -> None:
    options = (lake.parent / "gone", "--notify", webhook.address)
    validate(lake, *options)
    ((_, message),) = webhook.take()
    assert "/gone: unreadable\n  no such file or directory" in message["message"]
    validate(lake, *options)
    assert webhook.take() == []


def test_single_table_is_told_of(lake: Path, webhook: Webhook) -> None:
    arguments = ("validate", lake / "broken", "--level", "log", "--quiet")
    for _ in range(2):
        run(*arguments, "--notify-state", lake.parent / "k.json", "--notify", webhook.address)
    assert [message["title"] for _, message in webhook.take()] == ["deltaspec: 1 table with new findings"]


def test_channels_of_tables_are_told_of_their_tables(
    lake: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOUND_HOOK", f"{webhook.address}/sound")
    monkeypatch.setenv("BROKEN_HOOK", f"{webhook.address}/broken")
    config = lake.parent / "deltaspec.toml"
    sections = [
        f'[tables."{lake}/{name}"]\nowner = "team {name}"\nchannels = ["${{env:{name.upper()}_HOOK}}"]\n'
        for name in ("sound", "broken")
    ]
    config.write_text("\n".join(sections))
    validate(lake, "--config", config)
    ((path, message),) = webhook.take()
    assert path == "/broken"
    assert "(team broken): violations" in message["message"]


@pytest.mark.parametrize(("severity", "told"), [("violation", 0), ("divergence", 1)])
def test_severity_of_a_table_decides_what_is_told(tmp_path: Path, webhook: Webhook, severity: str, told: int) -> None:
    log = RawLog("plain").write(tmp_path / "lake/t")
    (log / "_delta_log/_last_checkpoint").write_bytes(b"")  # LCP014 is a divergence
    config = tmp_path / "deltaspec.toml"
    config.write_text(f'notify-severity = "{severity}"\n')
    validate(tmp_path / "lake", "--config", config, "--notify", webhook.address)
    assert len(webhook.take()) == told


def test_message_that_was_not_sent_is_sent_by_the_next_run(lake: Path, webhook: Webhook) -> None:
    webhook.status = 500
    result = validate(lake, "--notify", f"{webhook.address}/x")
    assert result.exit_code == 2
    assert "not notified: json://127.0.0.1:" in result.stderr
    assert webhook.take()
    webhook.status = 200
    validate(lake, "--notify", f"{webhook.address}/x")
    assert len(webhook.take()) == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("json://user:hunter2@localhost/", "the address contains a secret"),
        ("slack://aaaaaaaaa/bbbbbbbbb/cccccccccccccccccccccccc", "the address contains a secret"),
        ("nothing://x", "no address that Apprise knows (nothing://…)"),
        ("${env:UNSET_VARIABLE}", "the environment variable UNSET_VARIABLE is not set"),
    ],
)
def test_address_that_cannot_be_used_is_refused_before_the_run(lake: Path, address: str, message: str) -> None:
    result = validate(lake, "--notify", address)
    assert result.exit_code == 2
    assert message in single_error_line(result)
    assert "hunter2" not in result.stderr
    assert "cccccc" not in result.stderr


def test_secret_comes_from_the_environment(lake: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", webhook.address.replace("://", "://user:hunter2@"))
    result = validate(lake, "--notify", "${env:HOOK}")
    assert len(webhook.take()) == 1
    assert "hunter2" not in result.stdout + result.stderr


def test_state_is_needed_and_checked(lake: Path, webhook: Webhook) -> None:
    result = run("validate", lake / "sound", "--notify", webhook.address)
    assert "--notify needs --notify-state FILE" in single_error_line(result)
    (lake.parent / "known.json").write_text("{")
    assert "is no history" in single_error_line(validate(lake, "--notify", webhook.address))


def test_configuration_contains_no_secret(lake: Path) -> None:
    config = lake.parent / "deltaspec.toml"
    config.write_text('channels = ["slack://a/b/c"]\n')
    assert "may contain secrets" in single_error_line(validate(lake, "--config", config))
    config.write_text('notify-severity = "all"\n')
    assert "expected violation, warning, divergence" in single_error_line(validate(lake, "--config", config))


def test_missing_library_is_named(lake: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "find_spec", lambda name: None if name == "apprise" else find_spec(name))
    assert "--notify-state needs apprise" in single_error_line(validate(lake, "--notify", webhook.address))
