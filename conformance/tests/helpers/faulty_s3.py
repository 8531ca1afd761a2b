"""A local S3 (moto) behind a proxy that counts requests and answers chosen ones with faults.

A request has a kind: `list`, `head` (length of an object), `get` (a whole object) or `range` (a part of one). Each
planned fault takes the requests of some kinds for some keys and, of those, some by their turn.
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
LONGEST_HANG_SECONDS = 30.0


@dataclass
class Request:
    """What a client asked for."""

    kind: str
    key: str
    """Decoded, without the bucket; the prefix of a listing."""
    range: str | None


@dataclass
class Fault:
    """What to answer instead."""

    what: str
    """`403`, `500`, `503`; `reset`: the connection ends before an answer; `cut`: it ends half way through the body;
    `hang`: no answer; `stall`: half of the body and no more; `whole`: all of the object, whatever part is asked for."""
    kinds: tuple[str, ...] = ("list", "head", "get", "range")
    key: Callable[[str], bool] = lambda _: True
    turns: Callable[[int], bool] = lambda _: True
    """Which of the requests for one key that fit, counted from 1."""
    met: Counter[str] = field(default_factory=Counter)
    """Requests that fitted, by key."""


@dataclass
class FaultyS3:
    """The proxy: plan faults in `faults`, read `requests` afterwards."""

    endpoint: str
    moto: tuple[str, int]
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    page: int | None = None
    """Keys of a listing's page, where fewer than the 1000 of S3."""
    delay_seconds: float = 0.0
    """How long each answer takes more, as in a network."""
    at_once: Counter[str] = field(default_factory=Counter)
    """The most requests of each kind that were under way at one time."""
    released: threading.Event = field(default_factory=threading.Event)
    under_way: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_for(self, request: Request) -> Fault | None:
        """The fault planned for a request, which takes its turn."""
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if request.kind in fault.kinds and fault.key(request.key):
                    fault.met[request.key] += 1
                    if fault.turns(fault.met[request.key]):
                        return fault
        return None

    def count(self, *kinds: str, key: Callable[[str], bool] = lambda _: True) -> int:
        """Requests seen of some kinds."""
        return sum(each.kind in kinds and key(each.key) for each in self.requests)

    def put(self, key: str, data: bytes) -> None:
        """Store an object under a decoded key."""
        _objects().put_object(BUCKET, key, data)

    def clear(self) -> None:
        """Empty the bucket; no faults, no requests seen."""
        backend = _objects()
        for key in list(backend.buckets[BUCKET].keys):
            backend.delete_object(BUCKET, key)
        self.released.set()
        with self.lock:
            self.faults, self.requests, self.page, self.delay_seconds, self.at_once = [], [], None, 0.0, Counter()
        self.released = threading.Event()

    def upload(self, folder: Path, prefix: str) -> str:
        """Store every file of a directory; gives the URI of the table that it is then."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"


def _objects() -> Any:
    from moto.s3.models import s3_backends

    return s3_backends["123456789012"]["aws"]


@contextmanager
def run_faulty_s3() -> Iterator[FaultyS3]:
    """A moto server with an empty bucket, and the proxy before it; both end with the context."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    _objects().create_bucket(BUCKET, "us-east-1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    s3 = FaultyS3(f"http://127.0.0.1:{server.server_address[1]}", (host, port))
    server.s3 = s3  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield s3
    finally:
        s3.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
        _objects().reset()
        moto.stop()


def environment(s3: FaultyS3, *, impatient: bool = False) -> dict[str, str]:
    """Environment variables by which obstore comes to the proxy, with secrets to look for and few tries.

    Silence ends after 10 seconds, which is meant never to happen; impatient, after one.
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
    """The variables of `environment` for this process."""
    for name, value in environment(s3, impatient=impatient).items():
        patch.setenv(name, value)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        s3: FaultyS3 = self.server.s3  # type: ignore[attr-defined]
        request = self._request()
        with s3.lock:
            s3.under_way[request.kind] += 1
            s3.at_once[request.kind] = max(s3.at_once[request.kind], s3.under_way[request.kind])
        try:
            self._answer(s3, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with s3.lock:
                s3.under_way[request.kind] -= 1

    do_HEAD = do_GET  # noqa: N815 - the name that the class looks for

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the class gives
        """Nothing is printed."""

    def _answer(self, s3: FaultyS3, request: Request) -> None:
        fault = s3.fault_for(request)
        if s3.delay_seconds:
            time.sleep(s3.delay_seconds)
        if fault is None:
            self._pass_on(s3, None)
        elif fault.what.isdigit():
            self._refuse(int(fault.what), request.key)
        elif fault.what == "reset":
            self._end()
        elif fault.what == "hang":
            s3.released.wait(LONGEST_HANG_SECONDS)
            self._end()
        else:
            self._pass_on(s3, fault)

    def _request(self) -> Request:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if "list-type" in query:
            return Request("list", query.get("prefix", [""])[0], None)
        span = self.headers.get("Range")
        kind = "head" if self.command == "HEAD" else "range" if span else "get"
        return Request(kind, unquote(parts.path.partition(f"/{BUCKET}/")[2]), span)

    def _pass_on(self, s3: FaultyS3, fault: Fault | None) -> None:
        target = self.path + (f"&max-keys={s3.page}" if s3.page and "list-type" in self.path else "")
        upstream = http.client.HTTPConnection(*s3.moto, timeout=LONGEST_HANG_SECONDS)
        try:
            whole = fault is not None and fault.what == "whole"
            sent = {name: value for name, value in self.headers.items() if not (whole and name.lower() == "range")}
            upstream.request(self.command, target, headers=sent)
            answer = upstream.getresponse()
            body = answer.read()
            headers = answer.getheaders()
        finally:
            upstream.close()
        self.send_response(answer.status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if fault is None or whole:
            self.wfile.write(body)
            return
        self.wfile.write(body[: len(body) // 2])
        self.wfile.flush()
        if fault.what == "stall":
            s3.released.wait(LONGEST_HANG_SECONDS)
        self._end()

    def _refuse(self, status: int, key: str) -> None:
        """As S3 refuses: one line of XML that repeats what the client sent, its key id among it."""
        code = {403: "AccessDenied", 500: "InternalError", 503: "SlowDown"}[status]
        sent = f"<AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId><Token>{TOKEN}</Token><Key>{key}</Key>"
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message>{sent}</Error>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _end(self) -> None:
        self.close_connection = True
        self.connection.close()
