"""How Spark reaches a table through its own sources."""

import re
from urllib.parse import unquote, urlsplit


def hadoop_path(uri: str) -> str:
    """A table's URI, as `deltaspec.wire.storage.open_store` takes it, in the spelling of Hadoop, which decodes nothing.

    A path without a scheme is one of Spark's default file system and stays as it is.
    """
    if re.match(r"file:/", uri, re.IGNORECASE):
        return "file:" + unquote(urlsplit(uri).path)
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return uri
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{'gs' if scheme.lower() == 'gcs' else scheme}://{unquote(rest)}"
