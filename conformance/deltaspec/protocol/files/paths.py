"""Paths of data files: RFC 2396 URI references, relative to the table or absolute.

Source: Add File and Remove File. The protocol does not define when two spellings are the same file (S09). We compare
decoded paths with dot segments resolved (RFC 2396, 5.2) and the scheme in lower case (3.1).
"""

import re
from urllib.parse import quote, unquote_to_bytes

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NOT_IN_URI = re.compile(r"[\x00-\x20\"<>\\^`{|}\x7f#\[\]]")
_AUTHORITY = re.compile(r"\A[A-Za-z][A-Za-z0-9+.\-]*://[^/]*")
_ESCAPED_DOT = re.compile(r"%2[Ee]")
_FILE_SCHEME = re.compile(r"\Afile:(?://(?:localhost)?(?=/)|(?=/)(?!//))/*", re.IGNORECASE)


class PathError(ValueError):
    """A path that does not decode to a file name."""


def decode(path: str) -> str:
    """Decode a path to a file name; percent escapes are UTF-8 octets.

    Raises:
        PathError: An escape is malformed, or the octets are not UTF-8.
    """
    if _BROKEN_ESCAPE.search(path):
        raise PathError(f"malformed percent escape in {path!r}")
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeError as fault:
        raise PathError(f"escapes in {path!r} are not UTF-8") from fault


def encode(name: str) -> str:
    """Encode a relative file name: escape everything but unreserved characters and `/ = + , @ $ & ! * ' ( )`.

    Raises:
        PathError: The name has no UTF-8 form because it contains a lone surrogate.
    """
    try:
        return quote(name, safe="/-_.~=+,@$&!*'()")
    except UnicodeError as fault:
        raise PathError(f"{name!r} has no UTF-8 form") from fault


def is_absolute(path: str) -> bool:
    """Return whether the path has a scheme or starts with a slash.

    In RFC 2396, a colon before the first slash always ends a scheme (see `has_colon_in_first_segment`). A Hive-style
    folder (`a=1:2/x`) is distinguished from a scheme by its characters.
    """
    return path.startswith("/") or _SCHEME.match(path) is not None


def has_colon_in_first_segment(path: str) -> bool:
    """Return whether the first segment of a path that is not clearly absolute contains an unencoded colon.

    RFC 2396 parses `a:b/x.parquet` as a scheme; engines differ. A scheme followed by a slash (`s3://`, `file:/`) is
    absolute.
    """
    first = path.partition("/")[0]
    if ":" not in first or path.startswith("/"):
        return False
    return not (_SCHEME.fullmatch(first) and "/" in path)


def path_key(path: str, table_root: str | None = None) -> str:
    """Return a key that is equal for all spellings of one file. A path that cannot be decoded is its own key.

    Args:
        path: Path as the log spells it.
        table_root: Decoded absolute path or URI of the table; an absolute path below it becomes relative.
    """
    try:
        name = decode(_resolved(_lower_scheme(_without_file_scheme(path))))
    except PathError:
        return path
    if table_root is None:
        return name
    root = _lower_scheme(_without_file_scheme(table_root)).rstrip("/") + "/"
    below = name[len(root) :] if name.startswith(root) else None
    return name if not below or ".." in below.split("/") else below


def _lower_scheme(path: str) -> str:
    scheme = _SCHEME.match(path)
    return scheme[0].lower() + path[scheme.end() :] if scheme else path


def _resolved(path: str) -> str:
    """Remove `.` segments, and resolve `..` segments except leading ones."""
    if "." not in path and "%2" not in path:
        return path
    begin = _AUTHORITY.match(path)
    head = begin[0] if begin else ""
    kept: list[str] = []
    is_relative = not head and not path.startswith("/")
    for segment in path[len(head) :].split("/"):
        match _ESCAPED_DOT.sub(".", segment):
            case ".":
                continue
            case "" if is_relative and not kept:  # `.//x` is not the absolute path `/x`
                continue
            case ".." if kept and kept[-1] not in ("", ".."):
                kept.pop()
            case plain:
                kept.append(plain if plain == ".." else segment)
    return head + "/".join(kept)


def _without_file_scheme(path: str) -> str:
    """Rewrite `file:/x`, `file:///x` and `file://localhost/x` to `/x`; files of other hosts are unchanged."""
    return _FILE_SCHEME.sub("/", path)


def find_path_fault(path: str) -> str | None:
    """Describe the first violation of the URI syntax in a path, or return None.

    For characters beyond ASCII see `has_non_ascii`. Source: Add File and Remove File; RFC 2396 section 2.
    """
    if not path:
        return "is empty"
    if _BROKEN_ESCAPE.search(path):
        return "has a malformed percent escape"
    if found := _NOT_IN_URI.search(_AUTHORITY.sub("", path)):
        return f"contains a character that a URI must escape: {found[0]!r}"
    if "?" in path:
        return "contains an unescaped '?', which starts a query"
    if any("\ud800" <= character <= "\udfff" for character in path):
        return "contains a lone surrogate"
    try:
        decode(path)
    except PathError:
        return "has percent escapes that are not UTF-8"
    return None


def has_non_ascii(path: str) -> bool:
    """Return whether the path contains characters beyond ASCII, which a URI must escape."""
    return not path.isascii()


def find_hidden_directory(path: str) -> str | None:
    """Return the first hidden directory of the file that a relative path names: its name begins with an underscore.

    `_change_data` in the root of the table, and directories of partition columns such as `_day=1`, are not hidden.
    """
    if is_absolute(path):
        return None
    directories = path_key(path).removeprefix("_change_data/").split("/")[:-1]
    return next((name for name in directories if name.startswith("_") and "=" not in name), None)


def escapes_table(path: str) -> bool:
    """Return whether a relative path leaves the table by `..` segments, escaped or not."""
    if is_absolute(path):
        return False
    depth = 0
    try:
        segments = decode(path).split("/")
    except PathError:
        segments = path.split("/")
    for segment in segments:
        if segment == "..":
            depth -= 1
        elif segment not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False
