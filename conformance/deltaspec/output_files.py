"""Write the files that a user keeps: each is complete or absent, and an earlier file survives a failure.

Data goes to a temporary file next to the target, which then replaces the target in one step. A killed process may leave
a file or directory `.deltaspec-*.tmp`, which can be deleted.
"""

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deltaspec.errors import InvalidUsage

_PREFIX, _SUFFIX = ".deltaspec-", ".tmp"


@contextmanager
def translate_write_errors(target: str) -> Iterator[None]:
    """Turn write errors on `target` (stdout or a file name) into `InvalidUsage`; let a closed pipe pass."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        if target == "stdout":
            drop_stdout()
        reason = os.strerror(fault.errno) if fault.errno else fault  # pyarrow raises the error with its own message
        raise InvalidUsage(f"{target}: cannot be written: {reason}") from fault


def drop_stdout() -> None:
    """Redirect stdout to the null device, so that flushing the buffer at exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(path: str | os.PathLike[str], data: bytes, name: str | None = None) -> None:
    """Write a file completely, or leave it unchanged.

    Args:
        path: the file, or a link to it. A device or FIFO is written to directly.
        data: its content.
        name: the file in messages; its path by default.

    Raises:
        InvalidUsage: it cannot be written.
    """
    with (
        replace_file(path, name) as temporary,
        translate_write_errors(name or os.fspath(path)),
        open(temporary, "wb") as file,
    ):
        file.write(data)


@contextmanager
def replace_file(path: str | os.PathLike[str], name: str | None = None) -> Iterator[str]:
    """Yield a temporary file that replaces `path` when the block ends, and is removed if the block raises.

    A new file gets the permissions that the umask grants; an earlier file keeps its own, and its owner if possible.

    Args:
        path: the file, or a link to it. A device or FIFO is yielded itself.
        name: the file in messages; its path by default.

    Raises:
        InvalidUsage: the file cannot be created or replaced. Errors of the block are not translated.
    """
    shown = name or os.fspath(path)
    if _is_written_directly(path):
        yield os.fspath(path)
        return
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), _name_temporary())
    try:
        with translate_write_errors(shown):
            _create_like(temporary, target)
        yield temporary
        with translate_write_errors(shown):
            _sync(temporary)
            _rename(temporary, target)
    finally:
        with suppress(OSError):
            os.unlink(temporary)


@contextmanager
def fill_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary directory; when the block ends without an error, move its entries to `path`.

    A new directory appears in one step. In an existing one, entries of the same names are replaced one after another.

    Raises:
        InvalidUsage: the directory cannot be written, or the block raised an `OSError`.
    """
    target = Path(os.path.realpath(path))
    is_new = not target.exists()
    with translate_write_errors(os.fspath(path)):
        parent = target.parent if is_new else target
        parent.mkdir(parents=True, exist_ok=True)
        scratch = parent / _name_temporary()
        scratch.mkdir(mode=0o700)
        try:
            content = scratch / "new"
            content.mkdir()
            yield content
            if is_new:
                content.rename(target)
            else:
                _move_entries(content, target, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def require_writable(path: str) -> None:
    """Check before a run that a file can be written.

    Raises:
        InvalidUsage: it is a directory, its directory does not exist, or permissions forbid it.
    """
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    is_direct = _is_written_directly(path)
    if os.path.isdir(path):
        reason = os.strerror(errno.EISDIR).lower()
    elif not os.path.isdir(parent):
        reason = f"{parent} is not a directory" if os.path.lexists(parent) else f"directory {parent} does not exist"
    elif os.path.exists(path) and not os.access(path, os.W_OK):
        reason = os.strerror(errno.EACCES)
    elif not is_direct and not os.access(parent, os.W_OK | os.X_OK):
        reason = f"no permission to create files in {parent}"
    else:
        return
    raise InvalidUsage(f"{path}: cannot be written: {reason}")


def is_temporary(name: str) -> bool:
    """Return whether a file name is one of those that `replace_file` and `fill_directory` use until they are done."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def _name_temporary() -> str:
    return f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"


def _is_written_directly(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a device, a FIFO, or a name of an open file such as /dev/stdout."""
    parent = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    if parent == "/dev" or parent.startswith("/proc/"):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _create_like(temporary: str, target: str) -> None:
    """Create an empty file with the permissions of another, if that exists."""
    try:
        facts = os.stat(target)
    except FileNotFoundError:
        facts = None
    if facts is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    mode = 0o666 if facts is None else 0o600
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        if facts is not None:
            with suppress(PermissionError):
                os.fchown(handle, facts.st_uid, facts.st_gid)
            os.fchmod(handle, stat.S_IMODE(facts.st_mode))
    finally:
        os.close(handle)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rename(temporary: str, target: str) -> None:
    try:
        os.replace(temporary, target)
    except OSError as fault:
        if fault.errno != errno.EBUSY:
            raise
        shutil.copyfile(temporary, target)  # a file that is mounted into a container cannot be replaced


def _move_entries(source: Path, target: Path, scratch: Path) -> None:
    """Move the entries of a directory to another. Directories of the same names go to a scratch directory."""
    for each in sorted(source.iterdir()):
        place = target / each.name
        if place.is_dir() and not place.is_symlink():
            place.rename(scratch / f"old-{each.name}")
        each.replace(place)
