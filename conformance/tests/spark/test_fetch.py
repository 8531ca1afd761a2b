"""Log files as Spark rows: which are returned, which are hidden, and how unreadable files are reported."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark.session import with_settings

from deltaspec.errors import TableUnreadable
from deltaspec.validation.spark.log_fetch import (
    BATCH_BYTES,
    build_hadoop_uri,
    fetch,
    find_missing_reason,
    is_hidden,
    list_log,
    list_settings,
)
from deltaspec.wire.storage.interface import Entry, FileGone, FileTooLarge, NoPermission, StorageError

pytestmark = pytest.mark.spark

SHOWN = [
    "00000000000000000000.json",
    "00000000000000000000.crc",
    "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
    "_a=b",
    "=x",
    "a b+c",
    "50%41%",
    "a%20b",
    "t:1",
    "ü-日本-🙂",
    "[a]{b}*?",
    "'q\"`",
    "back\\slash",
    "two\nlines",
    "#f?x=y&z",
    "_sidecars/part 1.parquet",
    "_staged_commits/00000000000000000002.80a083e8-7026-4e79-81be-64bd76c43a11.json",
]
HIDDEN = [
    "_last_checkpoint",
    ".00000000000000000000.json.crc",
    "_metadata",
    "x._COPYING_",
    "_sidecars/_s",
    "_sidecars/.s",
]
ELSEWHERE = ["metadata/00000000000000000000.json", "p=1/_a=b", "q=1/=x", "metadata/_delta_log/=x"]


class SharedApiSession:
    """A session with only those attributes that classic Spark and Spark Connect have in common."""

    def __init__(self, spark: Any) -> None:
        self._spark, self.conf, self.range = spark, spark.conf, spark.range

    @property
    def read(self) -> Any:
        return self._spark.read


@pytest.fixture
def session(spark: Any) -> Any:
    return SharedApiSession(spark)


def write(root: Path, names: list[str]) -> Path:
    """Write log files whose content is their own name."""
    for name in names:
        file = root / "_delta_log" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())
    return root


def sizes(*names: str) -> dict[str, int]:
    return {name: len(name.encode()) for name in names}


def rows(frame: Any) -> dict[str, bytes]:
    found = [(row.name, bytes(row.content)) for row in frame.collect()]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table at a path with special characters of globs and URIs, with one file too large for a row."""
    root = tmp_path_factory.mktemp("fetch") / "a [b]{c}*?" / "100%41 ü:x=y" / "t"
    write(root, SHOWN + HIDDEN + ELSEWHERE)
    (root / "_delta_log" / "empty").touch()
    with open(root / "_delta_log" / "large", "wb") as file:
        file.truncate(3 << 30)
    return root


class TestFetchedFiles:
    def test_every_visible_name_is_fetched(self, session: Any, table: Path) -> None:
        got = fetch(session, table.as_uri(), sizes(*SHOWN, *HIDDEN) | {"empty": 0, "large": 3 << 30})
        assert rows(got.frame) == {name: name.encode() for name in SHOWN}
        assert got.frame.dtypes == [("name", "string"), ("content", "binary")]
        assert (got.requested, got.empty, set(got.faults)) == (set(SHOWN), {"empty"}, {*HIDDEN, "large"})
        assert isinstance(got.faults.pop("large"), FileTooLarge)
        assert {str(fault).rpartition(": ")[2] for fault in got.faults.values()} == {
            "Spark does not list files with such names"
        }

    def test_unrequested_file_is_not_opened(self, session: Any, table: Path) -> None:
        # opening `large` would fail the job, as the test below shows
        got = fetch(session, str(table), sizes("=x", "a b+c") | {"large": 99})
        assert rows(got.frame) == {"=x": b"=x", "a b+c": b"a b+c"}
        assert rows(fetch(session, str(table), {}).frame) == {}

    def test_spark_hides_names_and_empty_files_even_if_their_path_is_given(self, spark: Any, tmp_path: Path) -> None:
        names = [*SHOWN[:5], *HIDDEN]
        write(tmp_path, names)
        (tmp_path / "_delta_log" / "empty").touch()
        paths = [str(tmp_path / "_delta_log" / name) for name in [*names, "empty"]]
        found = spark.read.format("binaryFile").load(paths).select("path").collect()
        assert {row.path.rpartition("/")[2] for row in found} == set(SHOWN[:5])
        assert [name for name in names if is_hidden(name)] == HIDDEN

    def test_listing_has_names_lengths_and_times(self, session: Any, table: Path) -> None:
        os.utime(table / "_delta_log" / "=x", ns=(0, 1_600_000_000_123_000_000))
        found = {entry.name: entry for entry in list_log(session, table.as_uri())}
        assert found.keys() == {*SHOWN, "large"}
        assert found["=x"] == Entry("=x", 2, 1_600_000_000_123)
        assert found["large"].size_bytes == 3 << 30

    def test_directory_without_log_is_reported(self, session: Any, tmp_path: Path) -> None:
        with pytest.raises(TableUnreadable, match="has no _delta_log"):
            list_log(session, str(tmp_path))
        with pytest.raises(TableUnreadable, match=r"^nothing://bucket/t: _delta_log cannot be listed: ") as caught:
            list_log(session, "nothing://KEY:SECRET@bucket/t?sig=SECRET")
        assert "SECRET" not in str(caught.value)
        got = fetch(session, str(tmp_path), {"0.json": 1, "_sidecars/a": 1})
        assert {name: type(fault) for name, fault in got.faults.items()} == {
            "0.json": FileGone,
            "_sidecars/a": FileGone,
        }
        assert rows(got.frame) == {}


class TestFaults:
    def test_file_deleted_or_extended_before_the_job_has_a_reason_instead_of_a_row(
        self, session: Any, tmp_path: Path
    ) -> None:
        write(tmp_path, names := ["stays", "goes", "grows"])
        got = fetch(session, str(tmp_path), sizes(*names), limit=10)
        (tmp_path / "_delta_log" / "goes").unlink()
        (tmp_path / "_delta_log" / "grows").write_bytes(b"x" * 11)
        assert rows(got.frame) == {"stays": b"stays"}
        assert isinstance(find_missing_reason(session, str(tmp_path), "goes"), FileGone)
        grown = find_missing_reason(session, str(tmp_path), "grows")
        assert not isinstance(grown, FileGone)
        assert "did so in a second job" in str(grown)

    def test_stale_checksum_next_to_a_file_is_ignored(self, session: Any, tmp_path: Path) -> None:
        write(tmp_path, ["f"])
        (tmp_path / "_delta_log" / ".f.crc").write_bytes(b"crc\0\0\0\2\0" + b"\x12\x34\x56\x78")
        assert rows(fetch(session, str(tmp_path), sizes("f")).frame) == {"f": b"f"}

    def test_file_without_permission_is_skipped_and_others_are_read(self, session: Any, tmp_path: Path) -> None:
        write(tmp_path, ["open", "closed"])
        closed = tmp_path / "_delta_log" / "closed"
        closed.chmod(0)
        if may_read(closed):
            pytest.skip("this user may read all files")
        assert rows(fetch(session, str(tmp_path), sizes("open", "closed")).frame) == {"open": b"open"}
        assert isinstance(find_missing_reason(session, str(tmp_path), "closed"), NoPermission)

    def test_reason_of_a_file_that_is_too_large(self, session: Any, table: Path) -> None:
        fault = find_missing_reason(session, str(table), "large")
        assert not isinstance(fault, FileGone)
        assert "exceeds the max length" in str(fault)
        assert isinstance(fault, StorageError)


def test_batches_respect_the_limit_and_settings_are_restored(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)
    (tmp_path / "_delta_log").mkdir()
    size = BATCH_BYTES // 2 + 1
    for number in range(5):
        (tmp_path / "_delta_log" / str(number)).write_bytes(b"x" * size)
    frame = fetch(spark, str(tmp_path), {str(number): size for number in range(5)}).frame.coalesce(1)

    def count_rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"files": [batch.num_rows]})

    with with_settings(spark, list_settings(spark)):
        found = [row.files for row in frame.mapInArrow(count_rows, "files long").collect()]
    assert sum(found) == 5
    assert max(found) == 2


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b/%E4", "file:/a b/\ufffd"),
        ("FILE:/a%20b", "file:/a b"),
        ("/a%20b?c#d", "/a%20b?c#d"),
        ("s3a://bucket/a%20b/?sig=x#y", "s3a://bucket/a b/"),
        ("gcs://bucket/t", "gs://bucket/t"),
        ("abfss://box@acc.dfs.core.windows.net/t%25", "abfss://box@acc.dfs.core.windows.net/t%"),
        ("dbfs:/mnt/t", "dbfs:/mnt/t"),
    ],
)
def test_uri_is_converted_to_the_form_of_hadoop(uri: str, path: str) -> None:
    assert build_hadoop_uri(uri) == path


def may_read(file: Path) -> bool:
    try:
        file.read_bytes()
    except PermissionError:
        return False
    return True
