"""A local S3 server (moto) behind a proxy that counts requests and injects faults.

A request is of kind `list`, `head` (length of an object), `get` (a complete object) or `range` (part of an object). A
planned fault selects requests by kind, key and turn.
"""

import http.client
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

BUCKET = "lake"
KEY_ID, SECRET, TOKEN = "AKIAWHISPERED", "whispered-secret", "whispered-token"
MAX_HANG_SECONDS = 30.0


@dataclass
class Request:
    """A request of a client."""

    kind: str
    key: str
    """Decoded key without the bucket, or the prefix of a listing."""
    range: str | None


@dataclass
class Fault:
    """A fault to inject."""

    what: str
    """`403`, `500`, `503`: this status. `reset`: close the connection before a response. `cut`: close it after half of
    the body. `hang`: never respond. `stall`: stop after half of the body. `full`: ignore the requested range."""
    kinds: tuple[str, ...] = ("list", "head", "get", "range")
    key: Callable[[str], bool] = lambda _: True
    turns: Callable[[int], bool] = lambda _: True
    """Selects among the matching requests for one key by their number, from 1."""
    match_counts: Counter[str] = field(default_factory=Counter)
    """Matching requests so far, by key."""


@dataclass
class FaultyS3:
    """The proxy: add faults to `faults`; inspect `requests` afterwards."""

    endpoint: str
    moto: tuple[str, int]
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    page: int | None = None
    """Keys per page of a listing; None for the 1000 of S3."""
    delay_seconds: float = 0.0
    """Delay of each response, to simulate a network."""
    max_concurrent: Counter[str] = field(default_factory=Counter)
    """Maximum number of concurrent requests by kind."""
    released: threading.Event = field(default_factory=threading.Event)
    in_progress: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0
    """Port of the proxy, which stays the same when it is stopped and started; 0 for any."""
    is_stopped: bool = True
    _server: ThreadingHTTPServer | None = None

    def start(self) -> None:
        """Accept connections."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _Handler)
        self._server.daemon_threads = True
        self._server.s3 = self  # type: ignore[attr-defined]
        self.port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.is_stopped = False
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}).start()

    def stop(self) -> None:
        """Refuse connections, and close open ones at their next request."""
        self.is_stopped = True
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def stop_for(self, seconds: float) -> None:
        """Stop, and start again after some time."""
        self.stop()
        threading.Timer(seconds, self.start).start()

    def fault_for(self, request: Request) -> Fault | None:
        """Record a request; return the fault planned for it, or None."""
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if request.kind in fault.kinds and fault.key(request.key):
                    fault.match_counts[request.key] += 1
                    if fault.turns(fault.match_counts[request.key]):
                        return fault
        return None

    def count(self, *kinds: str, key: Callable[[str], bool] = lambda _: True) -> int:
        """Count recorded requests of some kinds."""
        return sum(each.kind in kinds and key(each.key) for each in self.requests)

    def put(self, key: str, data: bytes) -> None:
        """Store an object under a decoded key."""
        _objects().put_object(BUCKET, key, data)

    def clear(self) -> None:
        """Empty the bucket; forget all faults and requests."""
        backend = _objects()
        for key in list(backend.buckets[BUCKET].keys):
            backend.delete_object(BUCKET, key)
        self.released.set()
        with self.lock:
            self.faults, self.requests, self.page, self.delay_seconds, self.max_concurrent = (
                [],
                [],
                None,
                0.0,
                Counter(),
            )
        self.released = threading.Event()

    def upload(self, folder: Path, prefix: str) -> str:
        """Store every file of a directory; return the URI of the resulting table."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"


def _objects() -> Any:
    from moto.s3.models import s3_backends

    return s3_backends["123456789012"]["aws"]


@contextmanager
def run_faulty_s3() -> Iterator[FaultyS3]:
    """Run a moto server with an empty bucket, and the proxy in front of it, for a block."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    _objects().create_bucket(BUCKET, "us-east-1")
    s3 = FaultyS3("", (host, port))
    s3.start()
    try:
        yield s3
    finally:
        s3.released.set()
        s3.stop()
        _objects().reset()
        moto.stop()


def environment(s3: FaultyS3, *, impatient: bool = False) -> dict[str, str]:
    """Return environment variables that point obstore to the proxy, with recognizable secrets and few retries.

    The timeout is 10 seconds, which no test should reach; with `impatient` it is one second.
    """
    return {
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "DELTASPEC_STORE_RETRIES": "2",
        "DELTASPEC_STORE_TIMEOUT_SECONDS": "1" if impatient else "10",
        "DELTASPEC_STORE_RETRY_SECONDS": "20",
    }


def set_environment(patch: pytest.MonkeyPatch, s3: FaultyS3, *, impatient: bool = False) -> None:
    """Set the variables of `environment` for this process."""
    for name, value in environment(s3, impatient=impatient).items():
        patch.setenv(name, value)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        s3: FaultyS3 = self.server.s3  # type: ignore[attr-defined]
        if s3.is_stopped:
            self._close_connection()
            return
        request = self._request()
        with s3.lock:
            s3.in_progress[request.kind] += 1
            s3.max_concurrent[request.kind] = max(s3.max_concurrent[request.kind], s3.in_progress[request.kind])
        try:
            self._answer(s3, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with s3.lock:
                s3.in_progress[request.kind] -= 1

    do_HEAD = do_GET  # noqa: N815 - name required by the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name required by the base class
        """Print nothing."""

    def _answer(self, s3: FaultyS3, request: Request) -> None:
        fault = s3.fault_for(request)
        if s3.delay_seconds:
            time.sleep(s3.delay_seconds)
        if fault is None:
            self._forward(s3, None)
        elif fault.what.isdigit():
            self._send_error_response(int(fault.what), request.key)
        elif fault.what == "reset":
            self._close_connection()
        elif fault.what == "hang":
            s3.released.wait(MAX_HANG_SECONDS)
            self._close_connection()
        else:
            self._forward(s3, fault)

    def _request(self) -> Request:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if "list-type" in query:
            return Request("list", query.get("prefix", [""])[0], None)
        byte_range = self.headers.get("Range")
        kind = "head" if self.command == "HEAD" else "range" if byte_range else "get"
        return Request(kind, unquote(parts.path.partition(f"/{BUCKET}/")[2]), byte_range)

    def _forward(self, s3: FaultyS3, fault: Fault | None) -> None:
        target = self.path + (f"&max-keys={s3.page}" if s3.page and "list-type" in self.path else "")
        upstream = http.client.HTTPConnection(*s3.moto, timeout=MAX_HANG_SECONDS)
        try:
            ignores_range = fault is not None and fault.what == "full"
            sent = {
                name: value for name, value in self.headers.items() if not (ignores_range and name.lower() == "range")
            }
            upstream.request(self.command, target, headers=sent)
            response = upstream.getresponse()
            body = response.read()
            headers = response.getheaders()
        finally:
            upstream.close()
        self.send_response(response.status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = response.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if fault is None or ignores_range:
            self.wfile.write(body)
            return
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        if fault.what == "stall":
            s3.released.wait(MAX_HANG_SECONDS)
        self._close_connection()

    def _send_error_response(self, status: int, key: str) -> None:
        """Respond as S3 does: one line of XML that repeats the client's key id and token."""
        code = {403: "AccessDenied", 500: "InternalError", 503: "SlowDown"}[status]
        sent = f"<AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId><Token>{TOKEN}</Token><Key>{key}</Key>"
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message>{sent}</Error>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _close_connection(self) -> None:
        self.close_connection = True
        self.connection.close()
