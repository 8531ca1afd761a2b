"""Requests to a catalog, with bounds on time and size. No message contains the token."""

from __future__ import annotations

import os
import time
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable

TOKEN_VARIABLE = "DELTASPEC_CATALOG_TOKEN"
TIMEOUT_VARIABLE = "DELTASPEC_CATALOG_TIMEOUT_SECONDS"
DEFAULT_TIMEOUT_SECONDS = 30.0
"""Time for an answer, with all retries."""
MAX_ANSWER_BYTES = 64 << 20
_PREFIX = "/api/2.1/unity-catalog"
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})
_FIRST_PAUSE_SECONDS = 0.2
_MESSAGE_CHARACTERS = 200


class UnusableAnswer(TableUnreadable):
    """The catalog answered, but not as its API defines."""


class Refused(TableUnreadable):
    """The catalog answered with an error that concerns the request."""

    def __init__(self, message: str, status: int, kind: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        """Type of the error in the Delta API; empty if the answer has none."""


class Connection:
    """Requests to one catalog, with the token of the environment."""

    def __init__(self, address: str, timeout_seconds: float | None = None) -> None:
        """Check the address; nothing is sent.

        Raises:
            InvalidUsage: the address, the token or the time limit is not valid, or httpx is not installed.
        """
        parts = split_address(address)
        self.host = parts.netloc
        self.is_loopback = is_loopback(parts)
        path = parts.path.rstrip("/")
        self._base = f"{parts.scheme}://{parts.netloc}{path if path.endswith(_PREFIX) else path + _PREFIX}"
        self._token = os.environ.get(TOKEN_VARIABLE, "")
        if not (self._token.isascii() and self._token.isprintable()):
            raise InvalidUsage(f"{TOKEN_VARIABLE} contains a line break or another character that is not allowed")
        self._timeout = _read_timeout() if timeout_seconds is None else timeout_seconds
        self._httpx = _import_httpx()

    def request(self, method: str, path: str, *, query: dict[str, str] | None = None, body: Any = None) -> Any:
        """Return the decoded JSON of an answer.

        Args:
            method: `GET`, or `POST` for requests that change nothing either.
            path: path of the operation, quoted.
            query: parameters of the query.
            body: JSON document to send; None for none.

        Raises:
            StorageUnavailable: no answer in time, or only answers with status 408, 429 or 5xx.
            Refused: the answer has another status than 200.
            UnusableAnswer: the answer is a redirect, is not JSON, or is too large.
        """
        deadline = time.monotonic() + self._timeout
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                status, data = self._send(method, path, query, body, deadline)
                if status not in _RETRIED:
                    break
                reason = f"answers with status {status}{self._describe_error(data)}"
            except self._httpx.TimeoutException:
                reason = f"did not answer within {self._timeout:g} seconds"
            except self._httpx.HTTPError as fault:
                reason = f"cannot be reached: {self._redact(' '.join(str(fault).split()) or type(fault).__name__)}"
            if time.monotonic() + pause >= deadline:
                raise StorageUnavailable(f"the catalog {self.host} {reason}")
            time.sleep(pause)
            pause *= 2
        return self._decode(status, data)

    def _send(
        self, method: str, path: str, query: dict[str, str] | None, body: Any, deadline: float
    ) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        timeout = max(deadline - time.monotonic(), 0.05)
        content = {} if body is None else {"json": body}
        with (
            self._httpx.Client(follow_redirects=False, timeout=timeout) as client,
            client.stream(method, self._base + path, params=query, headers=headers, **content) as response,
        ):
            found = bytearray()
            for chunk in response.iter_raw():
                found += chunk
                if len(found) > MAX_ANSWER_BYTES:
                    raise UnusableAnswer(f"the catalog {self.host} answers with more than {MAX_ANSWER_BYTES:,} bytes")
                if time.monotonic() > deadline:
                    raise self._httpx.ReadTimeout("the answer is not complete")
            if response.is_redirect:
                target = self._redact(urlsplit(response.headers.get("Location", "")).netloc)
                message = f"the catalog {self.host} redirects to {target or 'another address'}, which gets no token"
                raise UnusableAnswer(f"{message}; give the address that answers with --catalog")
            return response.status_code, bytes(found)

    def _decode(self, status: int, data: bytes) -> Any:
        if status == 200:
            try:
                return msgspec.json.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
                raise UnusableAnswer(f"the answer of the catalog {self.host} is not JSON") from fault
        detail = self._describe_error(data)
        if status == 401:
            token = f"the token in {TOKEN_VARIABLE} is not accepted" if self._token else f"{TOKEN_VARIABLE} is not set"
            raise Refused(f"the catalog {self.host} answers with status 401: {token}{detail}", status, "")
        kind, _ = _read_error(data)
        raise Refused(f"the catalog {self.host} answers with status {status}{detail}", status, kind)

    def _describe_error(self, data: bytes) -> str:
        message = _read_error(data)[1]
        return f" ({self._redact(message)})" if message else ""

    def _redact(self, text: str) -> str:
        """Return printable text of limited length without the token."""
        if self._token:
            for secret in (self._token, quote(self._token, safe="")):
                text = text.replace(secret, "***")
        shown = "".join(each if each.isprintable() else "�" for each in text)
        return shown if len(shown) <= _MESSAGE_CHARACTERS else f"{shown[:_MESSAGE_CHARACTERS]}…"


def split_address(address: str) -> SplitResult:
    """Return the parts of the address of a catalog.

    Raises:
        InvalidUsage: it is not an https URL, has more than host, port and path, or is an http URL of another machine.
    """
    try:
        parts = urlsplit(address)
        is_valid = bool(parts.hostname) and parts.port != 0 and address.isascii() and address.isprintable()
    except ValueError:
        is_valid = False
    if not is_valid or parts.scheme not in ("http", "https") or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidUsage("--catalog: not the address of a catalog; write https://host, without user, query and token")
    if parts.scheme == "http" and not is_loopback(parts):
        raise InvalidUsage(f"--catalog: http would send the token to {parts.netloc} unencrypted; write https://")
    return parts


def is_loopback(parts: SplitResult) -> bool:
    """Return whether an address is on this machine."""
    host = parts.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _import_httpx() -> Any:
    try:
        import httpx
    except ImportError as fault:
        raise InvalidUsage("uc:// needs httpx; run: pip install 'deltaspec[unity]'") from fault
    return httpx


def _read_timeout() -> float:
    text = os.environ.get(TIMEOUT_VARIABLE)
    if text is None:
        return DEFAULT_TIMEOUT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise InvalidUsage(f"{TIMEOUT_VARIABLE}: expected seconds, more than 0 and at most 3600")
    return seconds


class _ErrorModel(msgspec.Struct):
    message: str = ""
    type: str = ""


class _ErrorAnswer(msgspec.Struct):
    """Errors of the Delta API have `error`; errors of the general API have `message` at the top."""

    error: _ErrorModel | None = None
    message: str = ""


def _read_error(data: bytes) -> tuple[str, str]:
    """Return type and message of an error; empty texts if the answer has none."""
    try:
        answer = msgspec.json.decode(data, type=_ErrorAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "", ""
    return ("", answer.message) if answer.error is None else (answer.error.type, answer.error.message)
