"""Files that the user names: configuration, lists, baselines and reports."""

from os import PathLike

from deltaspec.errors import InvalidUsage


def read_input_file(file: str | PathLike[str], most_bytes: int, name: str | None = None) -> bytes:
    """Return the content of a file.

    Args:
        file: path of the file.
        most_bytes: largest size that is read.
        name: the file in messages; its path by default.

    Raises:
        InvalidUsage: it cannot be read, or is larger.
    """
    shown = str(file) if name is None else name
    try:
        with open(file, "rb") as stream:
            data = stream.read(most_bytes + 1)
    except OSError as fault:
        raise InvalidUsage(f"{shown}: cannot be read: {fault.strerror}") from fault
    if len(data) > most_bytes:
        raise InvalidUsage(f"{shown}: larger than {most_bytes:,} bytes")
    return data
