"""Stores: listing, reading, refused paths, and messages."""

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.wire.log.parquet_actions import UnreadableParquet, open_parquet
from deltaspec.wire.storage.arrow import ArrowStore
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    FileGone,
    FileTooLarge,
    NoPermission,
    StorageError,
    Store,
    redact_uri,
)
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.prefetch import prefetch_contents, read_lines

COMMIT = "_delta_log/00000000000000000000.json"
OpenStore = Callable[[Path], Store]
STORES: dict[str, OpenStore] = {
    "local": lambda path: open_store(str(path)),
    "file URI": lambda path: open_store(path.as_uri()),
    "obstore": lambda path: ObjectStore(path.as_uri()),
    "pyarrow": lambda path: ArrowStore(path.as_uri()),
}


@pytest.fixture(params=STORES.values(), ids=STORES)
def open_as(request: pytest.FixtureRequest) -> OpenStore:
    answer: OpenStore = request.param
    return answer


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose log has a commit, a sidecar, a staged commit and unknown folders."""
    root = tmp_path / "lake" / "sales"
    for name, text in {
        "00000000000000000000.json": "zero\n",
        "_sidecars/a.parquet": "side",
        "_staged_commits/00000000000000000001.x.json": "",
        "metadata/deep/v1.json": "other",
        "_delta_log/00000000000000000007.json": "nested",
        "_sidecars/below/b.parquet": "deep",
    }.items():
        file = root / "_delta_log" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def names(store: Store) -> list[str]:
    return [entry.name for entry in store.list_log()]


class TestListing:
    def test_log_and_its_two_folders_are_listed_by_name(self, table: Path, open_as: OpenStore) -> None:
        assert names(open_as(table)) == [
            "00000000000000000000.json",
            "_sidecars/a.parquet",
            "_staged_commits/00000000000000000001.x.json",
        ]

    def test_lengths_and_times_are_listed(self, table: Path, open_as: OpenStore) -> None:
        os.utime(table / COMMIT, ns=(0, 1_600_000_000_123_000_000))
        entry = open_as(table).list_log()[0]
        assert (entry.size_bytes, entry.modified_ms) == (5, 1_600_000_000_123)

    def test_directory_with_the_name_of_a_log_file_is_listed_and_refused(self, table: Path, open_as: OpenStore) -> None:
        directories = ["00000000000000000003.json", "_last_checkpoint", "_sidecars/b.parquet"]
        for name in directories:
            (table / "_delta_log" / name).mkdir()
            (table / "_delta_log" / name / "part").touch()
        store = open_as(table)
        listed = {entry.name: entry.size_bytes for entry in store.list_log()}
        assert {name: size for name, size in listed.items() if name in directories} == dict.fromkeys(directories, 0)
        assert len(listed) == len(directories) + 3
        for copy in (store, pickle.loads(pickle.dumps(store))):
            for name in directories:
                for way in ("read", "chunks", "open_seekable"):
                    with pytest.raises(StorageError, match="is not a regular file, but a directory"):
                        read_by(way, copy, f"_delta_log/{name}")

    def test_looping_and_broken_links_are_skipped(self, table: Path) -> None:
        log = table / "_delta_log"
        (log / "loop").symlink_to("loop")
        (log / "nowhere").symlink_to("gone")
        (log / "_sidecars" / "_sidecars").symlink_to(log / "_sidecars")
        assert names(open_store(str(table)))[0] == "00000000000000000000.json"
        assert len(names(open_store(str(table)))) == 3

    def test_file_whose_facts_are_refused_makes_the_listing_incomplete(
        self, table: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (table / "part").touch()
        look = os.stat

        def refuse(path: Any, **options: Any) -> os.stat_result:
            if os.fspath(path) == str(table / "part"):
                raise PermissionError(13, "Permission denied")
            return look(path, **options)

        monkeypatch.setattr(os, "stat", refuse)
        assert [str(each) for each in open_store(str(table)).list_files()] == ["part: Permission denied"]

    def test_log_behind_a_link_is_listed(self, table: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "_delta_log").symlink_to(table / "_delta_log")
        assert len(names(open_store(str(tmp_path / "elsewhere")))) == 3

    def test_name_that_is_not_utf8_is_escaped(self, table: Path) -> None:
        with open(os.fsencode(str(table / "_delta_log")) + b"/odd\xff", "wb"):
            pass
        assert "odd\\xff" in names(open_store(str(table)))

    def test_table_is_unchanged(self, table: Path, open_as: OpenStore) -> None:
        def picture() -> list[tuple[str, int, int]]:
            files = sorted(table.rglob("*"))
            return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]

        before = picture()
        store = open_as(table)
        store.list_log()
        store.read(COMMIT, 100)
        assert picture() == before


class TestReading:
    def test_bytes_of_a_file_are_read(self, table: Path, open_as: OpenStore) -> None:
        store = open_as(table)
        assert store.read(COMMIT, 5) == b"zero\n"
        assert b"".join(store.chunks(COMMIT)) == b"zero\n"

    def test_empty_file_has_no_bytes(self, table: Path, open_as: OpenStore) -> None:
        path = "_delta_log/_staged_commits/00000000000000000001.x.json"
        assert open_as(table).read(path, 10) == b""
        assert b"".join(open_as(table).chunks(path)) == b""

    def test_file_above_the_limit_is_refused(self, table: Path, open_as: OpenStore) -> None:
        with pytest.raises(FileTooLarge, match="5 bytes, more than the limit of 4 bytes"):
            open_as(table).read(COMMIT, 4)

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_missing_file_is_gone(self, way: str, table: Path, open_as: OpenStore) -> None:
        with pytest.raises(FileGone, match=r"_delta_log/9\.json: does not exist"):
            read_by(way, open_as(table), "_delta_log/9.json")

    @pytest.mark.parametrize("path", ["../sales/_delta_log/00000000000000000000.json", "/etc/passwd", "a/../../b"])
    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_path_out_of_the_table_is_not_followed(self, way: str, path: str, table: Path, open_as: OpenStore) -> None:
        with pytest.raises(StorageError, match="leads out of the table"):
            read_by(way, open_as(table), path)

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_fifo_is_refused_without_waiting_for_a_writer(self, way: str, table: Path) -> None:
        os.mkfifo(table / "_delta_log" / "00000000000000000001.json")
        with pytest.raises(StorageError, match="is not a regular file"):
            read_by(way, open_store(str(table)), "_delta_log/00000000000000000001.json")

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_directory_and_device_are_refused(self, way: str, table: Path) -> None:
        (table / "zero").symlink_to("/dev/zero")
        for path in ("_delta_log", "zero"):
            with pytest.raises(StorageError, match="is not a regular file"):
                read_by(way, open_store(str(table)), path)

    def test_too_long_name_is_a_storage_error(self, table: Path) -> None:
        for path in ("a" * 5000, "nul\0byte"):
            with pytest.raises(StorageError):
                open_store(str(table)).read(path, 10)

    def test_parquet_is_read_by_random_access(self, table: Path, open_as: OpenStore) -> None:
        rows = pa.table({"number": list(range(1000))})
        pq.write_table(rows, table / "rows.parquet", row_group_size=100)
        with pq.ParquetFile(open_as(table).open_seekable("rows.parquet")) as file:
            assert file.read() == rows

    def test_storage_error_is_not_reported_as_bad_parquet(self, table: Path) -> None:
        (table / "bad.parquet").write_bytes(b"PAR1 is not enough PAR1")
        source = ObjectStore(table.as_uri()).open_seekable("bad.parquet")
        with pytest.raises(UnreadableParquet):
            open_parquet(source)
        broken = ArrowStore(table.as_uri()).open_seekable("bad.parquet")
        broken.reader = BrokenReader(broken.reader)
        with pytest.raises(StorageError, match=r"bad\.parquet: connection reset"):
            open_parquet(broken)

    def test_file_without_permission_is_not_read(self) -> None:
        with unprivileged_table() as root:
            (root / COMMIT).chmod(0)
            with run_unprivileged(), pytest.raises(NoPermission, match="no permission"):
                open_store(str(root)).read(COMMIT, 10)


class TestLines:
    def test_lines_do_not_depend_on_chunks(self) -> None:
        for pieces in ([b"a\nbc\n\nd"], [b"a", b"\nb", b"c\n", b"\n", b"d"], [bytes([b]) for b in b"a\nbc\n\nd"]):
            assert list(read_lines(Pieces(pieces), "", 10)) == [b"a", b"bc", b"", b"d"]  # type: ignore[arg-type]

    def test_line_above_the_limit_is_none(self) -> None:
        pieces = [b"abc", b"def\n", b"12345\n123456\n", b"x"]
        assert list(read_lines(Pieces(pieces), "", 5)) == [None, b"12345", None, b"x"]  # type: ignore[arg-type]

    def test_large_file_is_read_in_chunks(self, table: Path, open_as: OpenStore) -> None:
        line = b"x" * 999_999 + b"\n"
        (table / COMMIT).write_bytes(line * 10)
        store = open_as(table)
        assert max(len(piece) for piece in store.chunks(COMMIT)) < 3 * CHUNK_BYTES
        assert list(read_lines(store, COMMIT, 1_000_000)) == [line[:-1]] * 10 + [b""]


class TestNoTable:
    def test_missing_path(self, tmp_path: Path) -> None:
        with pytest.raises(TableUnreadable, match="no such file or directory"):
            open_store(str(tmp_path / "gone")).list_log()

    def test_path_of_a_file(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match="is a file; name the directory"):
            open_store(str(table / COMMIT)).list_log()

    def test_path_of_the_log(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"is the log itself; name the table, {table}$"):
            open_store(str(table / "_delta_log")).list_log()

    def test_empty_directory(self, tmp_path: Path, open_as: OpenStore) -> None:
        with pytest.raises(TableUnreadable, match="has no _delta_log"):
            open_as(tmp_path).list_log()

    def test_directory_above_suggests_the_table(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"; {table} is a table$"):
            open_store(str(table.parent)).list_log()

    def test_directory_below_suggests_the_table(self, table: Path) -> None:
        (table / "p=1" / "q=2").mkdir(parents=True)
        with pytest.raises(TableUnreadable, match=f"; {table} is a table$"):
            open_store(str(table / "p=1" / "q=2")).list_log()

    def test_misspelled_path_suggests_the_nearest_table(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"did you mean {table}[?]$"):
            open_store(str(table.parent / "sale")).list_log()

    def test_no_permission(self) -> None:
        with unprivileged_table() as root:
            (root / "_delta_log").chmod(0o600)
            with run_unprivileged(), pytest.raises(TableUnreadable, match=r"_delta_log.*: no permission to read"):
                open_store(str(root)).list_log()

    def test_message_is_one_line(self, tmp_path: Path, open_as: OpenStore) -> None:
        with pytest.raises(TableUnreadable) as caught:
            open_as(tmp_path).list_log()
        assert "\n" not in str(caught.value)


class TestUri:
    @pytest.mark.parametrize("uri", ["file://{}", "file:{}", "FILE://{}", "file://localhost{}", "{}/", "{}"])
    def test_equivalent_local_paths(self, uri: str, table: Path) -> None:
        assert len(open_store(uri.format(table)).list_log()) == 3

    def test_escapes_of_a_file_uri_are_decoded(self, table: Path) -> None:
        odd = table.rename(table.with_name("ü 100%"))
        store = open_store(odd.as_uri())
        assert len(store.list_log()) == 3
        assert store.root == str(odd)

    @pytest.mark.parametrize(
        ("uri", "message"),
        [
            ("ftp://host/table", "no storage for scheme 'ftp'; choose from file, hdfs, s3"),
            ("file://host/table", "a file URI names no host"),
            ("s3://[bucket/table", "malformed"),
            ("", "no table is named"),
        ],
    )
    def test_unsupported_uri_is_invalid_usage(self, uri: str, message: str) -> None:
        with pytest.raises(InvalidUsage, match=message):
            open_store(uri)

    @pytest.mark.parametrize(
        ("uri", "shown"),
        [
            ("s3://KEY:SECRET@bucket/t?X-Amz-Signature=SECRET#SECRET", "s3://bucket/t"),
            ("abfss://box@acc.dfs.core.windows.net/t?sig=SECRET", "abfss://box@acc.dfs.core.windows.net/t"),
            ("abfss://box:SECRET@acc.dfs.core.windows.net/t", "abfss://box@acc.dfs.core.windows.net/t"),
            ("hdfs://user:SECRET@name:8020/t", "hdfs://name:8020/t"),
            ("ftp://user:SECRET@host/t", "ftp://host/t"),
            ("/local/p@th?x", "/local/p@th?x"),
        ],
    )
    def test_secrets_are_never_shown(self, uri: str, shown: str) -> None:
        assert redact_uri(uri) == shown
        try:
            store = open_store(uri)
        except (InvalidUsage, TableUnreadable) as fault:
            assert "SECRET" not in str(fault)  # noqa: PT017 - the message of a missing client must not contain it either
        else:
            assert store.uri == shown
            assert "SECRET" not in str(store.root)

    @pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "gcs"])
    def test_bucket_opens_without_a_connection(self, scheme: str) -> None:
        store = open_store(f"{scheme}://bucket/lake/my%20table/")
        assert (store.uri, store.root) == (f"{scheme}://bucket/lake/my%20table/", f"{scheme}://bucket/lake/my table")


class Pieces:
    """A store of one file in given chunks."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def chunks(self, path: str) -> Iterator[bytes]:
        return iter(self.pieces)


class BrokenReader:
    """A reader whose connection breaks off after it was opened."""

    def __init__(self, reader: Any) -> None:
        self.tell, self.seek, self.close = reader.tell, reader.seek, reader.close

    def read(self, size: int | None) -> bytes:
        raise OSError("connection reset")


def read_by(way: str, store: Store, path: str) -> None:
    if way == "read":
        store.read(path, 1 << 20)
    elif way == "chunks":
        list(store.chunks(path))
    else:
        store.open_seekable(path)


@contextmanager
def unprivileged_table() -> Iterator[Path]:
    """A table that every user can reach, unlike a `tmp_path`."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = Path(folder)
        root.chmod(0o755)
        (root / "_delta_log").mkdir()
        (root / COMMIT).write_text("zero\n")
        try:
            yield root
        finally:
            (root / "_delta_log").chmod(0o700)


@contextmanager
def run_unprivileged() -> Iterator[None]:
    """Drop the rights of the superuser, because file modes do not stop it."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_prefetched_files_keep_their_order_and_errors() -> None:
    """Prefetched files keep their order, and errors keep their position."""

    class Slow:
        is_remote = True

        def read(self, path: str, limit: int) -> bytes:
            if path == "7":
                raise FileGone("7: does not exist")
            return path.encode()

    found = list(prefetch_contents(Slow(), map(str, range(100)), 10))  # type: ignore[arg-type]
    assert [each for each in found if isinstance(each, bytes)] == [str(n).encode() for n in range(100) if n != 7]
    assert isinstance(found[7], FileGone)
