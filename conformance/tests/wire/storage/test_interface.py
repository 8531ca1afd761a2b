"""Storage: what is listed, what is read, what is refused, and what its messages say."""

import os
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
def store_of(request: pytest.FixtureRequest) -> OpenStore:
    answer: OpenStore = request.param
    return answer


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose log has a commit, a sidecar, a staged commit and folders that belong to nobody."""
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
    def test_holds_the_files_of_the_log_and_of_its_two_folders_by_name(self, table: Path, store_of: OpenStore) -> None:
        assert names(store_of(table)) == [
            "00000000000000000000.json",
            "_sidecars/a.parquet",
            "_staged_commits/00000000000000000001.x.json",
        ]

    def test_gives_lengths_and_times(self, table: Path, store_of: OpenStore) -> None:
        os.utime(table / COMMIT, ns=(0, 1_600_000_000_123_000_000))
        entry = store_of(table).list_log()[0]
        assert (entry.size_bytes, entry.modified_ms) == (5, 1_600_000_000_123)

    def test_links_that_loop_or_lead_nowhere_are_passed_over(self, table: Path) -> None:
        log = table / "_delta_log"
        (log / "loop").symlink_to("loop")
        (log / "nowhere").symlink_to("gone")
        (log / "_sidecars" / "_sidecars").symlink_to(log / "_sidecars")
        assert names(open_store(str(table)))[0] == "00000000000000000000.json"
        assert len(names(open_store(str(table)))) == 3

    def test_a_log_behind_a_link_is_listed(self, table: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "_delta_log").symlink_to(table / "_delta_log")
        assert len(names(open_store(str(tmp_path / "elsewhere")))) == 3

    def test_a_name_that_is_no_utf8_is_shown_with_escapes(self, table: Path) -> None:
        with open(os.fsencode(str(table / "_delta_log")) + b"/odd\xff", "wb"):
            pass
        assert "odd\\xff" in names(open_store(str(table)))

    def test_leaves_the_table_as_it_was(self, table: Path, store_of: OpenStore) -> None:
        def picture() -> list[tuple[str, int, int]]:
            files = sorted(table.rglob("*"))
            return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]

        before = picture()
        store = store_of(table)
        store.list_log()
        store.read(COMMIT, 100)
        assert picture() == before


class TestReading:
    def test_gives_the_bytes_of_a_file(self, table: Path, store_of: OpenStore) -> None:
        store = store_of(table)
        assert store.read(COMMIT, 5) == b"zero\n"
        assert b"".join(store.chunks(COMMIT)) == b"zero\n"

    def test_gives_nothing_of_an_empty_file(self, table: Path, store_of: OpenStore) -> None:
        path = "_delta_log/_staged_commits/00000000000000000001.x.json"
        assert store_of(table).read(path, 10) == b""
        assert b"".join(store_of(table).chunks(path)) == b""

    def test_a_file_beyond_the_limit_is_refused(self, table: Path, store_of: OpenStore) -> None:
        with pytest.raises(FileTooLarge, match="5 bytes, more than the 4"):
            store_of(table).read(COMMIT, 4)

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_an_absent_file_is_gone(self, way: str, table: Path, store_of: OpenStore) -> None:
        with pytest.raises(FileGone, match=r"_delta_log/9\.json: is not there"):
            read_by(way, store_of(table), "_delta_log/9.json")

    @pytest.mark.parametrize("path", ["../sales/_delta_log/00000000000000000000.json", "/etc/passwd", "a/../../b"])
    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_a_path_out_of_the_table_is_not_followed(
        self, way: str, path: str, table: Path, store_of: OpenStore
    ) -> None:
        with pytest.raises(StorageError, match="leads out of the table"):
            read_by(way, store_of(table), path)

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_a_fifo_is_refused_without_waiting_for_a_writer(self, way: str, table: Path) -> None:
        os.mkfifo(table / "_delta_log" / "00000000000000000001.json")
        with pytest.raises(StorageError, match="is not a regular file"):
            read_by(way, open_store(str(table)), "_delta_log/00000000000000000001.json")

    @pytest.mark.parametrize("way", ["read", "chunks", "open_seekable"])
    def test_a_directory_and_a_device_are_refused(self, way: str, table: Path) -> None:
        (table / "zero").symlink_to("/dev/zero")
        for path in ("_delta_log", "zero"):
            with pytest.raises(StorageError, match="is not a regular file"):
                read_by(way, open_store(str(table)), path)

    def test_a_name_beyond_what_the_system_takes_is_a_fault_of_storage(self, table: Path) -> None:
        for path in ("a" * 5000, "nul\0byte"):
            with pytest.raises(StorageError):
                open_store(str(table)).read(path, 10)

    def test_parquet_is_read_at_random(self, table: Path, store_of: OpenStore) -> None:
        rows = pa.table({"number": list(range(1000))})
        pq.write_table(rows, table / "rows.parquet", row_group_size=100)
        with pq.ParquetFile(store_of(table).open_seekable("rows.parquet")) as file:
            assert file.read() == rows

    def test_a_fault_of_the_storage_is_not_taken_for_bad_parquet(self, table: Path) -> None:
        (table / "bad.parquet").write_bytes(b"PAR1 is not enough PAR1")
        source = ObjectStore(table.as_uri()).open_seekable("bad.parquet")
        with pytest.raises(UnreadableParquet):
            open_parquet(source)
        broken = ArrowStore(table.as_uri()).open_seekable("bad.parquet")
        broken._reader = BrokenReader(broken._reader)
        with pytest.raises(StorageError, match=r"bad\.parquet: connection reset"):
            open_parquet(broken)

    def test_without_permission_a_file_is_not_read(self) -> None:
        with unprivileged_table() as root:
            (root / COMMIT).chmod(0)
            with run_unprivileged(), pytest.raises(NoPermission, match="no permission"):
                open_store(str(root)).read(COMMIT, 10)


class TestLines:
    def test_are_cut_at_line_feeds_however_the_file_comes_in_pieces(self) -> None:
        for pieces in ([b"a\nbc\n\nd"], [b"a", b"\nb", b"c\n", b"\n", b"d"], [bytes([b]) for b in b"a\nbc\n\nd"]):
            assert list(read_lines(Pieces(pieces), "", 10)) == [b"a", b"bc", b"", b"d"]  # type: ignore[arg-type]

    def test_a_line_beyond_the_limit_is_dropped_and_counted(self) -> None:
        pieces = [b"abc", b"def\n", b"12345\n123456\n", b"x"]
        assert list(read_lines(Pieces(pieces), "", 5)) == [None, b"12345", None, b"x"]  # type: ignore[arg-type]

    def test_a_large_file_comes_in_several_pieces(self, table: Path, store_of: OpenStore) -> None:
        line = b"x" * 999_999 + b"\n"
        (table / COMMIT).write_bytes(line * 10)
        store = store_of(table)
        assert max(len(piece) for piece in store.chunks(COMMIT)) < 3 * CHUNK_BYTES
        assert list(read_lines(store, COMMIT, 1_000_000)) == [line[:-1]] * 10 + [b""]


class TestNoTable:
    def test_no_such_path(self, tmp_path: Path) -> None:
        with pytest.raises(TableUnreadable, match="no such file or directory"):
            open_store(str(tmp_path / "gone")).list_log()

    def test_a_file(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match="is a file; name the directory"):
            open_store(str(table / COMMIT)).list_log()

    def test_the_log_itself(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"is the log itself; name the table, {table}$"):
            open_store(str(table / "_delta_log")).list_log()

    def test_an_empty_directory(self, tmp_path: Path, store_of: OpenStore) -> None:
        with pytest.raises(TableUnreadable, match="holds no _delta_log"):
            store_of(tmp_path).list_log()

    def test_a_directory_above_is_told_of_its_table(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"; {table} is a table$"):
            open_store(str(table.parent)).list_log()

    def test_a_directory_below_is_told_of_its_table(self, table: Path) -> None:
        (table / "p=1" / "q=2").mkdir(parents=True)
        with pytest.raises(TableUnreadable, match=f"; {table} is a table$"):
            open_store(str(table / "p=1" / "q=2")).list_log()

    def test_a_slip_of_the_pen_is_told_of_the_nearest_table(self, table: Path) -> None:
        with pytest.raises(TableUnreadable, match=f"did you mean {table}[?]$"):
            open_store(str(table.parent / "sale")).list_log()

    def test_no_permission(self) -> None:
        with unprivileged_table() as root:
            (root / "_delta_log").chmod(0o600)
            with run_unprivileged(), pytest.raises(TableUnreadable, match=r"_delta_log.*: no permission to read"):
                open_store(str(root)).list_log()

    def test_a_message_is_one_line(self, tmp_path: Path, store_of: OpenStore) -> None:
        with pytest.raises(TableUnreadable) as caught:
            store_of(tmp_path).list_log()
        assert "\n" not in str(caught.value)


class TestUri:
    @pytest.mark.parametrize("uri", ["file://{}", "file:{}", "FILE://{}", "file://localhost{}", "{}/", "{}"])
    def test_spellings_of_a_local_path(self, uri: str, table: Path) -> None:
        assert len(open_store(uri.format(table)).list_log()) == 3

    def test_escapes_of_a_file_uri_are_decoded(self, table: Path) -> None:
        odd = table.rename(table.with_name("ü 100%"))
        store = open_store(odd.as_uri())
        assert len(store.list_log()) == 3
        assert store.root == str(odd)

    @pytest.mark.parametrize(
        ("uri", "says"),
        [
            ("ftp://host/table", "no storage for scheme 'ftp'; choose from file, hdfs, s3"),
            ("file://host/table", "a file URI names no host"),
            ("s3://[bucket/table", "malformed"),
            ("", "no table is named"),
        ],
    )
    def test_what_is_no_uri_of_a_table(self, uri: str, says: str) -> None:
        with pytest.raises(InvalidUsage, match=says):
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
            assert "SECRET" not in str(fault)  # noqa: PT017 - a client that is absent must not tell either
        else:
            assert store.uri == shown
            assert "SECRET" not in str(store.root)

    @pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "gcs"])
    def test_a_bucket_opens_without_a_connection(self, scheme: str) -> None:
        store = open_store(f"{scheme}://bucket/lake/my%20table/")
        assert (store.uri, store.root) == (f"{scheme}://bucket/lake/my%20table/", f"{scheme}://bucket/lake/my table")


class Pieces:
    """A store of one file."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def chunks(self, path: str) -> Iterator[bytes]:
        return iter(self.pieces)


class BrokenReader:
    """A reader whose connection ends after it was opened."""

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
    """A table that every user may come to, unlike what lies below a `tmp_path`."""
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
    """Without the rights of the superuser, whom no mode keeps out."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_remote_files_come_in_order_with_their_faults() -> None:
    """Files read ahead keep their order; one that cannot be read is its fault, in its place."""

    class Slow:
        is_remote = True

        def read(self, path: str, limit: int) -> bytes:
            if path == "7":
                raise FileGone("7: is not there")
            return path.encode()

    found = list(prefetch_contents(Slow(), map(str, range(100)), 10))  # type: ignore[arg-type]
    assert [each for each in found if isinstance(each, bytes)] == [str(n).encode() for n in range(100) if n != 7]
    assert isinstance(found[7], FileGone)
