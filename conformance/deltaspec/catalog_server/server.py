"""The catalog over HTTP."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import msgspec

from deltaspec.catalog_server.delta_api import DeltaApi
from deltaspec.catalog_server.errors import ApiError
from deltaspec.catalog_server.failures import AFTER_SUCCESS, Failure, Failures
from deltaspec.catalog_server.routes import PREFIX, Operation, find_operations, load_operations
from deltaspec.catalog_server.tables import Catalog
from deltaspec.catalog_server.unity_api import UnityApi
from deltaspec.catalog_server.vending import StorageAccess

FAILURES_PATH = "/control/failures"
"""POST a list of `Failure` to replace the planned failures."""
EVENTS_PATH = "/control/events"
"""GET the requests so far."""
_MAX_BODY = 4 << 20
_HUGE_BYTES = 4 << 30
_IDLE_SECONDS = 60
_STATUSES = {
    "unavailable": 503,
    "denied": 403,
    "state-unknown": 500,
    "lost-answer": None,
    "not-json": 200,
    "wrong-shape": 200,
    "huge": 200,
    "redirect": 302,
}
"""Status that the client receives, by kind of failure; other kinds keep the status of the request."""


class Event(msgspec.Struct, frozen=True):
    """A request that the server received."""

    operation: str
    path: str
    status: int | None
    """Status of the answer; None if the client got none."""
    failure: str | None = None
    """Kind of the failure that the server showed."""


class CatalogServer(ThreadingHTTPServer):
    """A catalog that listens on this machine."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        catalog: Catalog,
        *,
        port: int = 0,
        token: str | None = None,
        access: StorageAccess | None = None,
        failures: Iterable[Failure] = (),
        has_delta_api: bool = True,
    ) -> None:
        """Bind a port; `serve_forever` answers.

        Args:
            catalog: the tables.
            port: port of 127.0.0.1; 0 for an unused one.
            token: bearer token that every request needs; None for none.
            access: credentials that the catalog vends.
            failures: planned failures.
            has_delta_api: whether the server has the Delta API; older servers have the general API only.
        """
        super().__init__(("127.0.0.1", port), _Handler)
        self.catalog = catalog
        self.token = token
        self.failures = Failures(failures)
        self.events: list[Event] = []
        endpoints = [f"{each.method} {each.path.removeprefix('/delta')}" for each in load_operations()]
        access = access or StorageAccess()
        self.apis: dict[str, Any] = {"all": UnityApi(catalog, access)}
        if has_delta_api:
            self.apis["delta"] = DeltaApi(catalog, access, [each for each in endpoints if " /v1/" in each])

    @property
    def url(self) -> str:
        """Address of the server, for `--catalog`."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serve(catalog: Catalog, **options: Any) -> Iterator[CatalogServer]:
    """Serve a catalog in a thread until the block ends. `options` are arguments of `CatalogServer`."""
    with CatalogServer(catalog, **options) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = _IDLE_SECONDS
    server: CatalogServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Print nothing."""

    def handle_one_request(self) -> None:
        with suppress(ConnectionError):
            super().handle_one_request()
            return
        self.close_connection = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # the base class looks for `do_GET` and the like
            return self._handle
        raise AttributeError(name)

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        try:
            data = self._read_data()
            if parts.path == FAILURES_PATH:
                self.server.failures.plan(msgspec.json.decode(data, type=list[Failure]))
                self._send(204, b"")
                return
            if parts.path == EVENTS_PATH:
                self._send(200, msgspec.json.encode(self.server.events))
                return
            operation, match = self._find_operation(parts.path)
        except ApiError as error:
            self._send(error.status, error.encode())
            return
        except (msgspec.MsgspecError, ValueError) as fault:
            self._send(400, ApiError("BadRequestException", str(fault)).encode())
            return
        failure = self.server.failures.take(operation.name)
        if failure is None or failure.kind in AFTER_SUCCESS:
            if failure is not None and failure.kind == "duplicate":
                self._carry_out(operation, match, parts.query, data)
            status, answer = self._carry_out(operation, match, parts.query, data)
        else:
            status, answer = 0, b""
        if failure is None:
            self.server.events.append(Event(operation.name, parts.path, status))
            self._send(status, answer)
        else:
            shown = _STATUSES.get(failure.kind, status)
            self.server.events.append(Event(operation.name, parts.path, shown, failure.kind))
            self._fail(failure, shown or 0, answer)

    def _read_data(self) -> bytes:
        text = self.headers.get("Content-Length", "0")
        if not re.fullmatch(r"\d{1,12}", text) or int(text) > _MAX_BODY or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise ApiError("BadRequestException", f"a request needs Content-Length, of at most {_MAX_BODY} bytes")
        return self.rfile.read(int(text))

    def _find_operation(self, path: str) -> tuple[Operation, re.Match[str]]:
        found = [each for each in find_operations(path) if each[0].document in self.server.apis]
        for operation, match in found:
            if operation.method == self.command:
                return operation, match
        if found:
            raise ApiError("BadRequestException", f"{self.command} is not allowed", status=405)
        raise ApiError("NotFoundException", f"no operation has the path {path}; paths begin with {PREFIX}")

    def _carry_out(self, operation: Operation, match: re.Match[str], query: str, data: bytes) -> tuple[int, bytes]:
        try:
            token = self.server.token
            if token is not None and self.headers.get("Authorization") != f"Bearer {token}":
                raise ApiError("NotAuthorizedException", "the token is missing or wrong")
            parameters = operation.read_parameters(match, query)
            body = operation.read_body(data)
            name = re.sub(r"(?=[A-Z])", "_", operation.name).lower()
            answer = getattr(self.server.apis[operation.document], name)(parameters, body)
        except ApiError as error:
            return error.status, error.encode()
        except msgspec.ValidationError as fault:
            return 400, ApiError("BadRequestException", str(fault)).encode()
        return (204, b"") if answer is None else (200, msgspec.json.encode(answer))

    def _fail(self, failure: Failure, status: int, answer: bytes) -> None:
        match failure.kind:
            case "late":
                time.sleep(failure.seconds)
                self._send(status, answer)
            case "unavailable":
                self._send(status, ApiError("InternalServerErrorException", "as planned", status).encode())
            case "denied":
                self._send(status, ApiError("PermissionDeniedException", "as planned").encode())
            case "lost-answer":
                self.close_connection = True
            case "state-unknown":
                self._send(status, ApiError("CommitStateUnknownException", "as planned").encode())
            case "duplicate":
                self._send(status, answer)
            case "not-json":
                self._send(status, b"<html>" + b"token" * 100)
            case "wrong-shape":
                self._send(status, b'{"metadata": [1, {"location": null}], "tables": {"a": 1}, "commits": 7}')
            case "redirect":
                self._send(status, b"", Location=failure.target)
            case "endless":
                self._send(status, msgspec.json.encode({**msgspec.json.decode(answer), "next_page_token": "again"}))
            case "slow":
                self._send_in_parts(status, len(answer), (answer[at : at + 1] for at in range(len(answer))), pause=1.0)
            case "huge":
                block = b"[" * (1 << 20)
                self._send_in_parts(status, _HUGE_BYTES, (block for _ in range(_HUGE_BYTES >> 20)), pause=0)

    def _send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
        if status == 405:
            methods = {each.method for each, _ in find_operations(urlsplit(self.path).path)}
            self.send_header("Allow", ", ".join(sorted(methods)))
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_in_parts(self, status: int, length: int, parts: Iterable[bytes], pause: float) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        with suppress(OSError):
            for part in parts:
                self.wfile.write(part)
                time.sleep(pause)
