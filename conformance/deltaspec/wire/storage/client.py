"""Client options, timeouts and error messages for object stores.

Statuses 408, 429 and 5xx, failed connections and timeouts are retried (`deltaspec.wire.storage.retries`); 403 and 404
are not. Messages contain no URL, header or body of a response, because servers repeat keys, tokens and signatures
there.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.interface import FileGone, FileTooLarge, NoPermission, StorageError, Unanswered
from deltaspec.wire.storage.retries import Attempts, RetryPolicy
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_T = TypeVar("_T")

REQUEST_SECONDS = 600
"""Timeout of a complete response, however slowly it arrives."""
MAX_UNANSWERED_REQUESTS = 8
"""Consecutive reads without a response, after all retries, until the store is given up."""

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
"""Settings that are options of the HTTP client, with the prefix of the store, such as `AWS_ALLOW_HTTP`."""


def build_client_options(scheme: str, policy: RetryPolicy, settings: StorageSettings) -> dict[str, Any]:
    """Return the configuration of a store, as keyword arguments of `obstore.store.from_url`.

    Explicit client options override the environment, so `_CLIENT_OPTIONS` of the environment are repeated.

    Args:
        scheme: scheme of the table's URI.
        policy: retries and timeouts.
        settings: settings of every provider; settings of other providers are ignored.

    Raises:
        InvalidUsage: an endpoint among the settings is not a URL, or a token cannot be sent in a header.
    """
    prefix = _PREFIXES.get(scheme, "AZURE_")
    known = settings.collect(prefix)
    _check_values(known)
    options: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=policy.timeout_seconds),
        "read_timeout": timedelta(seconds=policy.timeout_seconds),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    names = {prefix + name.upper(): name for name in _CLIENT_OPTIONS}
    options |= {name: known[each] for each, name in names.items() if each in known}
    given = {name: known[name] for name in settings.given if name in known and name not in names}
    retries = {
        "max_retries": policy.client_retries,
        "retry_timeout": timedelta(seconds=policy.client_retry_seconds),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=1),
            "base": 4,
        },
    }
    return {"client_options": options, "retry_config": retries} | ({"config": given} if given else {})


def _check_values(settings: dict[str, str]) -> None:
    """Refuse values that make the client panic, with a trace on stderr: bad endpoints, tokens with a line break."""
    for name, value in settings.items():
        if name.endswith(("ENDPOINT", "ENDPOINT_URL", "ENDPOINT_URL_S3")) and not _is_endpoint(value):
            raise InvalidUsage(f"{name} is not the URL of an endpoint; write https://host or http://host:port")
        if name.endswith(("KEY_ID", "TOKEN", "REGION")) and not (value.isascii() and value.isprintable()):
            raise InvalidUsage(f"{name} contains a line break or another character that is not allowed in a header")


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@contextmanager
def convert_panics() -> Iterator[None]:
    """Turn a panic of the native client, which is not an `Exception`, into a `RuntimeError`."""
    try:
        yield
    except BaseException as fault:
        if type(fault).__name__ == "PanicException":
            raise RuntimeError("the storage client panicked") from None
        raise


_STATUS = re.compile(r"status code: (\d{3}(?: [A-Za-z][A-Za-z ]*)?)")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>")
_RETRIES = re.compile(r"after (\d+) retries")
_KIND = re.compile(r"HttpError \{\s*kind: (\w+)")
_KINDS = {
    "Connect": "no connection to the store",
    "Timeout": "no response from the store in time",
    "Request": "the connection to the store was lost",
    "Interrupted": "the connection to the store was lost during a response",
}
_LASTING = ("BadScheme", "certificate", "Certificate")
"""Signs of failed connections that a retry does not help."""
_METADATA_SERVICES = ("169.254.169.254", "169.254.170.2", "metadata.google.internal")


def describe_error(fault: BaseException, settings: StorageSettings = ENVIRONMENT) -> str:
    """Return the message of a client's error in one line, without secrets or parts that differ from run to run.

    Args:
        fault: the error.
        settings: settings of the client, which may contain secrets.
    """
    text = str(fault)
    if any(host in text for host in _METADATA_SERVICES):
        return "no credentials: the environment has none, and the metadata service of the machine provides none"
    if status := _STATUS.search(text):
        code = _CODE.search(text)
        return f"the store answers {status[1].strip()}{f' ({code[1]})' if code else ''}"
    if "BadScheme" in text:
        return "the endpoint has no TLS; set AWS_ALLOW_HTTP=true to use it"
    if kind := _KIND.search(text):
        return _KINDS.get(kind[1], "the request failed")
    lines = text.strip().splitlines() or [type(fault).__name__]
    message = " ".join(word for word in lines[0].partition("<")[0].split() if "://" not in word and "@" not in word)
    return settings.redact(message)[:200]


def is_unanswered(fault: BaseException) -> bool:
    """Return whether a request got no usable response, so that another attempt may succeed.

    It broke off or timed out, or the store failed. A retry does not help with missing credentials or rejected
    certificates.
    """
    text = str(fault)
    if any(sign in text for sign in (*_METADATA_SERVICES, *_LASTING)):
        return False
    if status := _STATUS.search(text):
        return status[1][0] == "5" or status[1][:3] in ("408", "429")
    return _KIND.search(text) is not None or is_interrupted_transfer(fault)


def is_interrupted_transfer(fault: BaseException) -> bool:
    """Return whether a page of a listing or an error response broke off; the client does not retry these."""
    text = str(fault)
    refusal = "Error performing" in text and "body error" in text
    return refusal or "list response body" in text or "invalid list response" in text


def retry(request: Callable[[], _T], attempts: Attempts) -> _T:
    """Return the response to a request, which is retried while it gets none."""
    while True:
        try:
            with convert_panics():
                return request()
        except Exception as fault:
            if not (is_unanswered(fault) and attempts.wait(count_attempts(fault, attempts.policy))):
                raise


def count_attempts(fault: BaseException, policy: RetryPolicy) -> int:
    """Return how often the client sent a request that failed, or asked for the rest of a response."""
    if is_interrupted_transfer(fault):
        return 1
    retries = _RETRIES.search(str(fault))
    return 1 + (int(retries[1]) if retries else policy.client_retries)


_DENIED = ("PermissionError", "PermissionDeniedError", "UnauthenticatedError")
"""Names of the exceptions that clients raise for missing permissions."""


@contextmanager
def translating_errors(path: str) -> Iterator[None]:
    """Translate exceptions of a client while it reads `path` into `StorageError`."""
    try:
        yield
    except StorageError:
        raise
    except Exception as fault:  # noqa: BLE001 - clients raise any type
        raise translate_error(path, fault) from None


def translate_error(
    path: str, fault: Exception, settings: StorageSettings = ENVIRONMENT, attempts: Attempts | None = None
) -> StorageError:
    """Return the `StorageError` for an exception of a client.

    Args:
        path: the file that was read.
        fault: the exception.
        settings: settings of the client, which may contain secrets.
        attempts: how the request was retried.
    """
    if type(fault).__name__ in _DENIED:
        return NoPermission(f"{path}: no permission to read")
    if type(fault).__name__ == "PreconditionError":
        return StorageError(f"{path}: changed after it was opened")
    if isinstance(fault, FileNotFoundError) and "NoSuchBucket" not in str(fault):
        return FileGone(f"{path}: does not exist")
    return build_error(f"{path}: ", fault, settings, attempts)


def build_error(
    prefix: str, fault: Exception, settings: StorageSettings = ENVIRONMENT, attempts: Attempts | None = None
) -> StorageError:
    """Return an error with a prefix and the message of a client's exception; `Unanswered` if there was no response."""
    message = prefix + describe_error(fault, settings)
    if is_unanswered(fault):
        return Unanswered(message + ("" if attempts is None else attempts.describe()))
    return StorageError(message)


def check_size(path: str, size: int, limit: int) -> None:
    """Raise `FileTooLarge` for a file above the limit."""
    if size > limit:
        raise FileTooLarge(f"{path}: {size} bytes, more than the limit of {limit} bytes")
