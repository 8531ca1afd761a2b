"""Write and read `matrix.json`."""

import hashlib
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.matrix.model import FORMAT_VERSION, Matrix


def encode_matrix(matrix: Matrix) -> bytes:
    """Encode a matrix with a line for each engine, row and failure, so that differences of two files can be read."""
    fields = []
    for name in matrix.__struct_fields__:
        value = getattr(matrix, name)
        items = value if isinstance(value, tuple) else None
        text = b"[\n" + b",\n".join(map(msgspec.json.encode, items)) + b"\n]" if items else msgspec.json.encode(value)
        fields.append(msgspec.json.encode(name) + b": " + text)
    return b"{\n" + b",\n".join(fields) + b"\n}\n"


def compute_digest(matrix: Matrix) -> str:
    """Return the SHA-256 of a matrix; the page holds it, which shows whether the page comes from an older matrix."""
    return hashlib.sha256(encode_matrix(matrix)).hexdigest()


def read_matrix(path: Path) -> Matrix:
    """Read a `matrix.json`.

    Raises:
        InvalidUsage: The file is not a matrix, or one of a later release.
    """
    try:
        matrix = msgspec.json.decode(path.read_bytes(), type=Matrix)
    except OSError as error:
        raise InvalidUsage(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidUsage(f"{path}: not a matrix.json of `deltaspec matrix`: {error}") from None
    if matrix.format_version > FORMAT_VERSION:
        raise InvalidUsage(f"{path}: format version {matrix.format_version}; this release reads up to {FORMAT_VERSION}")
    return matrix
