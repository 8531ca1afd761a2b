"""A store over Hadoop's file systems returns the same as the table's local directory."""

import hashlib
import os
import pickle
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.validation.spark.hadoop_store import HadoopStore, driver_store
from deltaspec.wire.log.parquet_actions import UnreadableParquet, open_parquet
from deltaspec.wire.storage.block_reader import BLOCK_BYTES
from deltaspec.wire.storage.interface import CHUNK_BYTES, Entry, FileGone, FileTooLarge, StorageError
from deltaspec.wire.storage.local import LocalStore

pytestmark = pytest.mark.spark

COMMIT = "_delta_log/00000000000000000000.json"
ODD_NAMES = [
    "a b",
    "50%41%",
    "t:1",
    "ü-日本-🙂",
    "[a]{b}*?",
    "'q\"`",
    "back\\slash",
    "two\nlines",
    "#f?x=y&z",
    "a+b",
    "é",
]
FILES = {
    COMMIT: b"zero\n",
    "_delta_log/_last_checkpoint": b"hint",
    "_delta_log/.hidden": b"h",
    "_delta_log/_sidecars/a.parquet": b"side",
    "_delta_log/_sidecars/below/b.parquet": b"deep",
    "_delta_log/_staged_commits/00000000000000000001.x.json": b"",
    "_delta_log/metadata/v1.json": b"other",
    "_change_data/cdc.parquet": b"change",
    "p=1/q=a%20b/.part.parquet": b"nested",
    **{f"odd/{name}": name.encode() for name in ODD_NAMES},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table at a path with special characters of globs and URIs."""
    root = tmp_path_factory.mktemp("hadoop") / "a [b]{c}*?" / "100%41 ü:x=y" / "sales"
    for name, content in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, ns=(0, 1_600_000_000_123_000_000))
    return root


@pytest.fixture(scope="module")
def store(spark: Any, table: Path) -> HadoopStore:
    return HadoopStore(spark, str(table))


OPERATIONS: dict[str, Callable[[HadoopStore, str], object]] = {
    "read": lambda store, path: store.read(path, 1 << 20),
    "read_range": lambda store, path: store.read_range(path, 0, 9),
    "size": lambda store, path: store.size(path),
    "chunks": lambda store, path: list(store.chunks(path)),
    "open_seekable": lambda store, path: store.open_seekable(path),
}
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


class TestListing:
    def test_log_listing_includes_two_subfolders(self, store: HadoopStore) -> None:
        assert [(entry.name, entry.size_bytes) for entry in store.list_log()] == [
            (".hidden", 1),
            ("00000000000000000000.json", 5),
            ("_last_checkpoint", 4),
            ("_sidecars/a.parquet", 4),
            ("_staged_commits/00000000000000000001.x.json", 0),
        ]
        assert {entry.modified_ms for entry in store.list_log()} == {1_600_000_000_123}

    def test_table_listing_includes_all_files_outside_the_log(self, store: HadoopStore) -> None:
        assert {entry.name: entry.size_bytes for entry in store.list_files() if isinstance(entry, Entry)} == {
            path: len(content) for path, content in FILES.items() if not path.startswith("_delta_log/")
        }

    def test_directory_with_the_name_of_a_log_file_is_listed_and_refused(self, spark: Any, tmp_path: Path) -> None:
        names = ["00000000000000000000.json", "_sidecars/b.parquet"]
        for name in (*names, "other"):
            (tmp_path / "_delta_log" / name).mkdir(parents=True)
        store = HadoopStore(spark, str(tmp_path))
        assert [(entry.name, entry.size_bytes) for entry in store.list_log()] == [(name, 0) for name in names]
        for name in names:
            with pytest.raises(StorageError, match="is not a regular file, but a directory"):
                store.read(f"_delta_log/{name}", 10)

    def test_large_directory_is_listed_completely(self, spark: Any, tmp_path: Path) -> None:
        for number in range(3000):
            (tmp_path / f"{number:05}").touch()
        found = [entry.name for entry in HadoopStore(spark, str(tmp_path)).list_files() if isinstance(entry, Entry)]
        assert sorted(found) == [f"{number:05}" for number in range(3000)]

    def test_store_does_not_change_the_table(self, store: HadoopStore, table: Path) -> None:
        def snapshot() -> list[tuple[str, int, int]]:
            return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(table.rglob("*"))]

        before = snapshot()
        store.list_log()
        store.read(COMMIT, 10)
        store.open_seekable(COMMIT).close()
        assert snapshot() == before


class TestReading:
    @pytest.mark.parametrize("path", FILES)
    def test_every_file_is_read(self, path: str, store: HadoopStore) -> None:
        assert store.read(path, 100) == FILES[path]

    def test_range_ends_at_the_end_of_the_file(self, store: HadoopStore) -> None:
        ranges = {(0, 5): b"zero\n", (1, 2): b"er", (3, 99): b"o\n", (5, 1): b"", (99, 1): b"", (0, 0): b""}
        assert {each: store.read_range(COMMIT, *each) for each in ranges} == ranges
        assert store.size(COMMIT) == 5

    def test_large_file_is_read_in_chunks_and_at_any_position(self, spark: Any, tmp_path: Path) -> None:
        content = random.Random(7).randbytes(2 * CHUNK_BYTES + 12_345)
        (tmp_path / "large").write_bytes(content)
        store = HadoopStore(spark, str(tmp_path))
        pieces = list(store.chunks("large"))
        assert max(map(len, pieces)) <= CHUNK_BYTES
        assert hashlib.sha256(b"".join(pieces)).digest() == hashlib.sha256(content).digest()
        start, length = 3_000_001, CHUNK_BYTES + 7
        assert store.read_range("large", start, length) == content[start : start + length]
        with store.open_seekable("large") as file:
            for position, count in ((len(content) - 8, 8), (5, 10), (6, BLOCK_BYTES + 1), (0, 3)):
                file.seek(position)
                assert file.read(count) == content[position : position + count]
            assert (file.seek(-4, os.SEEK_END), file.read(9)) == (len(content) - 4, content[-4:])

    def test_parquet_is_read_by_random_access(self, spark: Any, tmp_path: Path) -> None:
        rows = pa.table({"number": list(range(300_000))})
        pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=50_000, compression="NONE")
        with pq.ParquetFile(HadoopStore(spark, str(tmp_path)).open_seekable("rows.parquet")) as file:
            assert file.read_row_group(4)["number"].to_pylist() == list(range(200_000, 250_000))
            assert file.read() == rows

    def test_storage_error_is_not_reported_as_invalid_parquet(self, spark: Any, tmp_path: Path) -> None:
        content = random.Random(7).randbytes(400_000)
        pq.write_table(pa.table({"bytes": [content]}), tmp_path / "rows.parquet", compression="NONE")
        store = HadoopStore(spark, str(tmp_path))
        source = store.open_seekable("rows.parquet")
        os.truncate(tmp_path / "rows.parquet", 1000)
        with pytest.raises(StorageError, match=r"rows\.parquet: is shorter than when it was opened"):
            pq.ParquetFile(source).read()
        with pytest.raises(UnreadableParquet):
            open_parquet(store.open_seekable("rows.parquet"))

    def test_stale_checksum_next_to_a_file_is_ignored(self, spark: Any, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"content")
        (tmp_path / ".f.crc").write_bytes(b"crc\0\0\0\2\0" + b"\x12\x34\x56\x78")
        assert HadoopStore(spark, str(tmp_path)).read("f", 10) == b"content"

    def test_store_is_thread_safe(self, store: HadoopStore) -> None:
        paths = list(FILES) * 10
        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(lambda path: store.read(path, 100), paths)) == [FILES[path] for path in paths]


class TestErrors:
    @each_operation
    def test_missing_file(self, operation: Callable[[HadoopStore, str], object], store: HadoopStore) -> None:
        with pytest.raises(FileGone, match=r"^_delta_log/9\.json: does not exist$"):
            operation(store, "_delta_log/9.json")

    @each_operation
    @pytest.mark.parametrize("path", ["odd", "", f"{COMMIT}/", "pipe", "zero"])
    def test_special_file_is_rejected_without_blocking(
        self, operation: Callable[[HadoopStore, str], object], path: str, special: HadoopStore
    ) -> None:
        with pytest.raises(StorageError, match=r": is not a regular file(, but a directory)?$|: Not a directory$"):
            operation(special, path)

    @each_operation
    def test_path_outside_the_table_is_rejected(
        self, operation: Callable[[HadoopStore, str], object], store: HadoopStore
    ) -> None:
        for path in ("../sales/" + COMMIT, "/etc/passwd"):
            with pytest.raises(StorageError, match="leads out of the table"):
                operation(store, path)

    def test_file_above_the_limit_is_rejected(self, store: HadoopStore) -> None:
        with pytest.raises(FileTooLarge, match="5 bytes, more than the limit of 4 bytes"):
            store.read(COMMIT, 4)

    @pytest.mark.parametrize("path", ["a" * 5000, "nul\0byte"])
    def test_invalid_file_name_is_a_storage_error(self, path: str, store: HadoopStore) -> None:
        with pytest.raises(StorageError) as caught:
            store.read(path, 10)
        assert not isinstance(caught.value, FileGone)

    def test_store_cannot_be_pickled(self, store: HadoopStore) -> None:
        with pytest.raises(TypeError, match="cannot leave the driver"):
            pickle.dumps(store)

    def test_session_without_jvm_is_rejected(self, table: Path) -> None:
        class ConnectSession:
            """A Spark Connect session, which does not have these attributes."""

        with pytest.raises(InvalidUsage, match="Spark Connect"):
            HadoopStore(ConnectSession(), str(table))  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("uri", "message"),
        [
            ("s3a://KEY:SECRET@bucket/t?sig=SECRET", r"^s3a://bucket/t: .*S3AFileSystem not found; .* needs the jar"),
            ("nothing://bucket/t", r"^nothing://bucket/t: No FileSystem for scheme.*needs the jar"),
            ("hdfs://no-such-host.invalid/t", r"^hdfs://no-such-host\.invalid/t: UnknownHostException"),
        ],
    )
    def test_unreachable_storage_is_named(self, uri: str, message: str, spark: Any) -> None:
        with pytest.raises(TableUnreadable, match=message) as caught:
            HadoopStore(spark, uri).list_log()
        assert "SECRET" not in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_directory_without_log_is_rejected(self, spark: Any, tmp_path: Path) -> None:
        with pytest.raises(TableUnreadable, match="has no _delta_log"):
            HadoopStore(spark, str(tmp_path)).list_log()


class TestLocation:
    def test_uri_is_percent_decoded(self, spark: Any, table: Path) -> None:
        for uri in (table.as_uri(), f"{table.as_uri()}/", f"FILE:{table.as_uri().removeprefix('file://')}"):
            store = HadoopStore(spark, uri)
            assert store.read(COMMIT, 5) == b"zero\n", f"{uri=}"
            assert (store.root, store.local_path, store.is_remote) == (str(table), str(table), True), f"{uri=}"

    def test_local_table_is_read_without_java(self, spark: Any, table: Path) -> None:
        store = driver_store(spark, table.as_uri())
        assert isinstance(store, LocalStore)
        assert store.root == str(table)


@pytest.fixture(scope="module")
def special(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopStore]:
    """A table with a pipe, a device and a directory in place of files."""
    root = tmp_path_factory.mktemp("special")
    (root / "_delta_log").mkdir()
    (root / COMMIT).write_bytes(b"zero\n")
    (root / "odd").mkdir()
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    yield HadoopStore(spark, str(root))
    (root / "pipe").unlink()
