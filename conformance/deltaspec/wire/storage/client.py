"""How object stores are asked, how long they are waited for, and what is told of their faults.

Answers 429 and 5xx, broken connections and silence are tried again, with growing pauses; refusals (403, 404) are not.
What is told names no URL, no header and no body of an answer: servers repeat keys, tokens and signatures there.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import FileGone, FileTooLarge, NoPermission, StorageError

RETRIES = 8
"""`DELTASPEC_STORE_RETRIES`: how often a request is tried again."""
RETRY_SECONDS = 60.0
"""`DELTASPEC_STORE_RETRY_SECONDS`: how long after its first try a request is still tried again."""
TIMEOUT_SECONDS = 15.0
"""`DELTASPEC_STORE_TIMEOUT_SECONDS`: how long a connection may take, and a silence within an answer."""
REQUEST_SECONDS = 600
"""How long one answer may take in all, whatever trickles in."""
MAX_UNANSWERED_REQUESTS = 8
"""Reads in a row that ended without an answer after all their tries: the store is then asked for nothing more."""

_PREFIXES = {"s3": "AWS_", "s3a": "AWS_", "gs": "GOOGLE_", "gcs": "GOOGLE_"}
_CLIENT_OPTIONS = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "read_timeout",
    "timeout",
    "user_agent",
)
"""Options of the HTTP client that the environment may set, with the prefix of the store: `AWS_ALLOW_HTTP`."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long a store is waited for."""

    retries: int = RETRIES
    retry_seconds: float = RETRY_SECONDS
    timeout_seconds: float = TIMEOUT_SECONDS

    @classmethod
    def from_environment(cls) -> "RetryPolicy":
        """What the environment says, and the defaults for what it leaves open.

        Raises:
            InvalidUsage: a variable is no number, or one below zero.
        """
        return cls(
            int(_number("DELTASPEC_STORE_RETRIES", RETRIES)),
            _number("DELTASPEC_STORE_RETRY_SECONDS", RETRY_SECONDS),
            max(_number("DELTASPEC_STORE_TIMEOUT_SECONDS", TIMEOUT_SECONDS), 0.001),
        )


def _number(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise InvalidUsage(f"{name} is no number from 0 to 999999")
    return float(text)


def build_client_options(scheme: str, patience: RetryPolicy) -> dict[str, Any]:
    """The client options and the retries of a store, as `obstore.store.from_url` takes them.

    Options given by hand displace those of the environment, so what that sets of `_CLIENT_OPTIONS` is given along.

    Args:
        scheme: of the table's URI.
        patience: how long to wait.

    Raises:
        InvalidUsage: the environment names an endpoint that is no URL, or holds a token that fits in no header.
    """
    prefix = _PREFIXES.get(scheme, "AZURE_")
    _check_environment(prefix)
    options: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=patience.timeout_seconds),
        "read_timeout": timedelta(seconds=patience.timeout_seconds),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    options |= {name: os.environ[each] for name in _CLIENT_OPTIONS if (each := prefix + name.upper()) in os.environ}
    retries = {
        "max_retries": patience.retries,
        "retry_timeout": timedelta(seconds=patience.retry_seconds),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=5),
            "base": 2,
        },
    }
    return {"client_options": options, "retry_config": retries}


def _check_environment(prefix: str) -> None:
    """The client panics, with a trace on stderr, at an endpoint that is no URL and at a token with a line break."""
    for name, value in os.environ.items():
        if not name.startswith(prefix):
            continue
        if name.endswith(("ENDPOINT", "ENDPOINT_URL", "ENDPOINT_URL_S3")) and not _is_endpoint(value):
            raise InvalidUsage(f"{name} is no URL of an endpoint; write https://host or http://host:port")
        if name.endswith(("KEY_ID", "TOKEN", "REGION")) and not (value.isascii() and value.isprintable()):
            raise InvalidUsage(f"{name} holds a line break, or another character that no header takes")


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def convert_panics() -> Iterator[None]:
    """Turns a panic of the native client, which goes past `Exception`, into a fault like others."""
    try:
        yield
    except BaseException as fault:
        if type(fault).__name__ == "PanicException":
            raise RuntimeError("the client of the store came upon something that it cannot take") from None
        raise


_STATUS = re.compile(r"status code: (\d{3}(?: [A-Za-z][A-Za-z ]*)?)")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>")
_RETRIES = re.compile(r"after (\d+) retries")
_KIND = re.compile(r"HttpError \{\s*kind: (\w+)")
_KINDS = {
    "Connect": "no connection to the store",
    "Timeout": "no answer from the store in time",
    "Request": "the connection to the store broke off",
    "Interrupted": "the connection to the store broke off within an answer",
}
_METADATA_SERVICES = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")


def describe_error(fault: BaseException) -> str:
    """What a client's fault says, in one line, without anything that may be secret or differ from run to run."""
    text = str(fault)
    if any(host in text for host in _METADATA_SERVICES):
        return "no credentials: the environment has none, and no service of the machine gave any"
    retries = _RETRIES.search(text)
    tries = f", after {retries[1]} {'retry' if retries[1] == '1' else 'retries'}" if retries else ""
    if status := _STATUS.search(text):
        code = _CODE.search(text)
        return f"the store answers {status[1].strip()}{f' ({code[1]})' if code else ''}{tries}"
    if "BadScheme" in text:
        return "the endpoint has no TLS; AWS_ALLOW_HTTP=true lets it be used"
    if kind := _KIND.search(text):
        return _KINDS.get(kind[1], "the request failed") + tries
    lines = text.strip().splitlines() or [type(fault).__name__]
    said = " ".join(word for word in lines[0].partition("<")[0].split() if "://" not in word and "@" not in word)
    return redact_secrets(said)[:200]


def is_unanswered(fault: BaseException) -> bool:
    """Whether a request ended without an answer that says something: broken off, out of time, or the store at fault."""
    text = str(fault)
    status = _STATUS.search(text)
    return status[1][0] == "5" or status[1][:3] == "429" if status else _KIND.search(text) is not None


def is_interrupted_transfer(fault: BaseException) -> bool:
    """Whether a page of a listing or a refusal broke off in transfer, which the client does not try again."""
    text = str(fault)
    refusal = "Error performing" in text and "body error" in text
    return refusal or "list response body" in text or "invalid list response" in text


_SECRET_NAMES = re.compile(r"KEY|SECRET|TOKEN|SAS|SIG|PASSWORD|CREDENTIAL", re.IGNORECASE)
_OWNERS = ("AWS_", "AZURE_", "GOOGLE_", "GCP_")


def redact_secrets(text: str) -> str:
    """A text in which what the environment holds of keys, tokens and passwords is not readable."""
    for name, value in os.environ.items():
        if name.startswith(_OWNERS) and len(value) >= 6:
            hidden = [value] if _SECRET_NAMES.search(name) else []
            password = re.search(r"://[^/@]*:([^/@]+)@", value)
            for each in (*hidden, *([password[1]] if password else [])):
                text = text.replace(each, "***").replace(quote(each, safe=""), "***")
    return text


_DENIED = ("PermissionError", "PermissionDeniedError", "UnauthenticatedError")
"""Names of what the clients raise where the reader has no right to."""


@contextmanager
def translating_errors(path: str) -> Iterator[None]:
    """What a client raises while it reads `path`, as one of our own exceptions."""
    try:
        yield
    except StorageError:
        raise
    except Exception as fault:  # noqa: BLE001 - whatever the client says
        raise translate_error(path, fault) from None


def translate_error(path: str, fault: Exception) -> StorageError:
    """The exception of ours that a client's fault comes to."""
    if type(fault).__name__ in _DENIED:
        return NoPermission(f"{path}: no permission to read")
    if type(fault).__name__ == "PreconditionError":
        return StorageError(f"{path}: has changed since it was opened")
    if isinstance(fault, FileNotFoundError) and "NoSuchBucket" not in str(fault):
        return FileGone(f"{path}: is not there")
    return StorageError(f"{path}: {describe_error(fault)}")


def check_size(path: str, size: int, limit: int) -> None:
    """Raises `FileTooLarge` for more bytes than are read at once."""
    if size > limit:
        raise FileTooLarge(f"{path}: {size} bytes, more than the {limit} that are read at once")
