"""An S3 server of this process (moto), in which writers race.

S3 creates an object with `If-None-Match: *` only if it does not exist, and writers commit with it. The server handles
one request at a time, because moto compares and stores in two steps.
"""

import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from deltaspec.faults.judging import Unreadable
from deltaspec.suites.checks import NotAsked

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_BUCKET = "races"
_KEY = "deltaspec"


class ObjectStore:
    """A running server with an empty bucket.

    Raises:
        NotAsked: moto is not installed.
    """

    def __init__(self) -> None:
        try:
            import boto3
            from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
            from werkzeug.serving import WSGIRequestHandler, make_server
        except ImportError as error:
            raise NotAsked(f"cannot start an S3 server: {error}; pip install 'moto[server]'") from error

        class Handler(WSGIRequestHandler):
            def log(self, *_: object) -> None:
                """Print nothing."""

        backend = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, _Serialized(backend), threaded=True, request_handler=Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        endpoint = f"http://127.0.0.1:{self._server.port}"
        self.environment: Mapping[str, str] = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _KEY,
        }
        self._client: Any = boto3.client(
            "s3", "us-east-1", endpoint_url=endpoint, aws_access_key_id=_KEY, aws_secret_access_key=_KEY
        )
        self._client.create_bucket(Bucket=_BUCKET)

    def upload(self, directory: Path, name: str) -> str:
        """Store the files of a directory and return its URI."""
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                self._client.upload_file(str(path), _BUCKET, f"{name}/{path.relative_to(directory).as_posix()}")
        return f"s3://{_BUCKET}/{name}"

    def download(self, name: str, directory: Path) -> None:
        """Replace a directory by the objects below a name.

        Raises:
            Unreadable: the name of an object is no path of a file in the directory.
        """
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for key in self._list_keys(name):
            path = directory / key.removeprefix(f"{name}/")
            if ".." in path.parts:
                raise Unreadable(f"an object has the name {key!r}")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if key.endswith("/"):  # some clients store directories
                    path.mkdir(exist_ok=True)
                else:
                    self._client.download_file(_BUCKET, key, str(path))
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise Unreadable(f"an object has the name {key!r} of a directory") from error

    def delete(self, name: str) -> None:
        """Delete the objects below a name; the server keeps them in memory."""
        for key in self._list_keys(name):
            self._client.delete_object(Bucket=_BUCKET, Key=key)

    def _list_keys(self, name: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=_BUCKET, Prefix=f"{name}/")
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Serialized:
    """An application that answers one request at a time."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        with self._lock:
            return list(self._application(environ, start_response))
