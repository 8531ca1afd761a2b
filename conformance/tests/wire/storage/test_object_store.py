"""Object stores: listing, reading and messages of S3 and others."""

import io
from pathlib import Path
from typing import Any

import pytest
from helpers.faulty_s3 import KEY_ID, SECRET, TOKEN, Fault, FaultyS3
from wire.s3_tables import COMMIT, list_names, put_table

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.wire.storage.arrow import ArrowStore
from deltaspec.wire.storage.block_reader import BLOCK_BYTES, BlockReader
from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Entry, FileGone, FileTooLarge, NoPermission, StorageError
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.settings import ENVIRONMENT

ODD_NAMES = (
    "a b",
    "p%20q",
    "50%",
    "x+y",
    "s#h?q=1&r",
    "back\\slash",
    '~t{}^`|"<>',
    "*",
    "ü/ß",
    "e\u0301",
    "😀",
    "&amp;",
)


class TestListing:
    def test_decoded_names_read_their_objects(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{name: name.encode() for name in ODD_NAMES})
        assert list_names(store.list_files()) == sorted(ODD_NAMES)
        for name in ODD_NAMES:
            assert store.read(name, 100) == name.encode()

    def test_log_is_excluded_and_lengths_are_listed(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{"day=1/a": b"12345", "_delta_log_not/b": b"", "_change_data/c": b"1"})
        listed = {entry.name: entry.size_bytes for entry in store.list_files() if isinstance(entry, Entry)}
        assert listed == {"day=1/a": 5, "_delta_log_not/b": 0, "_change_data/c": 1}
        assert [entry.name for entry in store.list_log()] == ["00000000000000000000.json"]

    def test_prefix_with_the_name_of_a_log_file_is_a_directory(self, s3: FaultyS3) -> None:
        below = {f"_delta_log/{name}/part": b"1" for name in ("00000000000000000001.json", "_sidecars/a.parquet", "x")}
        store = put_table(s3, **below, **{"_delta_log/00000000000000000002.json/": b""})
        assert [(entry.name, entry.size_bytes) for entry in store.list_log()] == [
            ("00000000000000000000.json", 5),
            ("00000000000000000001.json", 0),
            ("00000000000000000002.json", 0),
            ("_sidecars/a.parquet", 0),
        ]
        for name, reason in (("1.json", "is not a regular file, but a directory"), ("2.json", "does not exist")):
            with pytest.raises(StorageError, match=reason):
                store.read(f"_delta_log/0000000000000000000{name}", 10)

    def test_empty_folder_objects_are_not_listed(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{"": b"", "day=1/": b"", "day=1/a": b"1", "day=1/b/": b"", "day=1/b/c": b"", "z": b""})
        assert list_names(store.list_files()) == ["day=1/a", "day=1/b/c", "z"]

    def test_object_of_the_table_itself_is_not_listed_in_any_order(
        self, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = put_table(s3)
        pages = [(name, Entry(name, 0, 0)) for name in ("b", "", "a")]  # some stores do not sort
        monkeypatch.setattr(store, "iter_entries", lambda *_: iter(pages))
        assert list_names(store.list_files()) == ["a", "b"]

    def test_file_with_the_name_of_a_folder_is_listed(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{"a": b"1", "a/b": b"2", "e": b"", "e-": b"", "f": b""})
        assert list_names(store.list_files()) == ["a", "a/b", "e", "e-", "f"]

    def test_tables_with_the_same_prefix_are_not_listed(self, s3: FaultyS3) -> None:
        store = put_table(s3, a=b"1")
        s3.put("t2/b", b"")
        s3.put("t-old/c", b"")
        assert list_names(store.list_files()) == ["a"]

    def test_listing_has_several_pages(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{f"part-{number:04d}": b"" for number in range(2100)})
        assert len(list_names(store.list_files())) == 2100
        assert s3.count("list") == 3

    def test_log_listing_has_several_pages(self, s3: FaultyS3) -> None:
        store = put_table(s3)
        for version in range(1, 30):
            s3.put(f"t/_delta_log/{version:020d}.json", b"")
        s3.page = 7
        assert len(store.list_log()) == 30
        assert s3.count("list") == 5

    @pytest.mark.parametrize("name", ["a//b", "./c", "tab\tin name"])
    def test_unsupported_name_makes_the_listing_incomplete(self, name: str, s3: FaultyS3) -> None:
        found = list(put_table(s3, **{name: b"1"}).list_files())
        (fault,) = (each for each in found if isinstance(each, StorageError))
        assert "the table cannot be listed" in str(fault)
        assert len(put_table(s3).list_log()) == 1

    def test_arrow_file_system_lists_every_file(self, tmp_path: Path) -> None:
        for name in (*ODD_NAMES, COMMIT, "_delta_log/deep/x", "empty/folder/file"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"12")
        store = ArrowStore(tmp_path.as_uri())
        assert list_names(store.list_files()) == sorted((*ODD_NAMES, "empty/folder/file"))
        assert {entry.size_bytes for entry in store.list_files() if isinstance(entry, Entry)} == {2}

    def test_unlisted_arrow_folder_yields_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"")
        (tmp_path / "b").mkdir()
        store = ArrowStore(tmp_path.as_uri())
        store.system = Refusing(store.system, f"{tmp_path}/b")
        assert [str(each) if isinstance(each, StorageError) else each.name for each in store.list_files()] == [
            "a",
            "b/: cannot be listed: quota exceeded",
        ]


class TestReading:
    def test_bytes_ranges_and_lengths_are_read(self, s3: FaultyS3) -> None:
        store = put_table(s3, digits=b"0123456789", empty=b"")
        assert (store.read("digits", 10), store.size("digits")) == (b"0123456789", 10)
        assert b"".join(store.chunks("digits")) == b"0123456789"
        assert [store.read_range("digits", start, 4) for start in (0, 8, 10, 99)] == [b"0123", b"89", b"", b""]
        assert store.read_range("digits", 3, 0) == b""
        assert (store.read("empty", 10), store.size("empty"), store.read_range("empty", 0, 9)) == (b"", 0, b"")
        assert store.open_seekable("empty").read() == b""

    def test_arrow_file_system_reads_the_same(self, tmp_path: Path) -> None:
        (tmp_path / "digits").write_bytes(b"0123456789")
        store = ArrowStore(tmp_path.as_uri())
        assert [store.read_range("digits", start, 4) for start in (0, 8, 10, 99)] == [b"0123", b"89", b"", b""]
        assert store.size("digits") == 10
        with pytest.raises(FileGone):
            store.size("gone")

    def test_missing_too_large_and_forbidden_files(self, s3: FaultyS3) -> None:
        store = put_table(s3, digits=b"0123456789")
        with pytest.raises(FileTooLarge):
            store.read("digits", 9)
        for ask in (store.size, store.open_seekable, lambda path: store.read(path, 9)):
            with pytest.raises(FileGone):
                ask("gone")
        s3.faults = [Fault("403", key=lambda key: key == "t/digits")]
        for ask in (store.size, store.open_seekable, lambda path: store.read(path, 99)):
            with pytest.raises(NoPermission, match="digits: no permission to read"):
                ask("digits")

    def test_missing_bucket_is_not_a_missing_file(self, s3: FaultyS3) -> None:
        with pytest.raises(StorageError, match=r"404 Not Found \(NoSuchBucket\)") as caught:
            ObjectStore("s3://elsewhere/t").read("a", 10)
        assert not isinstance(caught.value, FileGone)

    @pytest.mark.parametrize("path", ["nul\0", "a//b", "half \udcff", "x" * 2000])
    def test_invalid_object_name_is_a_storage_error(self, path: str, s3: FaultyS3) -> None:
        with pytest.raises(StorageError):
            put_table(s3).read(path, 10)

    def test_store_without_ranges_is_a_storage_error(self, s3: FaultyS3) -> None:
        store = put_table(s3, digits=b"0123456789")
        s3.faults = [Fault("full", kinds=("range",))]
        for ask in (store.open_seekable, lambda path: store.read_range(path, 2, 3)):
            with pytest.raises(StorageError, match="digits: "):
                ask("digits")

    def test_random_access_equals_a_file_in_memory(self, s3: FaultyS3) -> None:
        data = bytes(range(256)) * 12_000
        store = put_table(s3, big=data)
        one, other = store.open_seekable("big"), io.BytesIO(data)
        for whence, offset, length in [
            (0, 0, 10),
            (1, 5, 100_000),
            (2, -8, 8),
            (2, 0, 5),
            (0, 70_000, BLOCK_BYTES * 2),
            (0, len(data) - 3, 50),
            (0, len(data) + 9, 5),
            (0, 12, -1),
        ]:
            assert one.seek(offset, whence) == other.seek(offset, whence)
            assert one.read(length) == other.read(length)
            assert one.tell() == other.tell(), f"{whence=}, {offset=}, {length=}"

    def test_requests_end_at_the_end_of_the_file(self) -> None:
        data, ranges = bytes(300), []

        def fetch(start: int, end: int) -> bytes:
            ranges.append((start, end))
            return data[start:end]

        reader = BlockReader(len(data), fetch, block=200)
        for start, length in ((0, 10), (250, 10), (150, 100)):
            reader.seek(start)
            assert reader.read(length) == data[start : start + length]
        assert ranges == [(0, 200), (250, 300), (150, 300)]

    def test_object_overwritten_during_a_read_is_an_error(self, s3: FaultyS3) -> None:
        store = put_table(s3, big=b"a" * 300_000)
        source = store.open_seekable("big")
        s3.put("t/big", b"b" * 300_000)
        with pytest.raises(StorageError, match="big: changed after it was opened"):
            source.read(10)


class TestEndpoint:
    @pytest.mark.parametrize(
        ("endpoint", "message"),
        [
            ("http://127.0.0.1:1", "no connection to the store, after 2 retries"),
            (f"http://user:{SECRET}@127.0.0.1:1", "no connection to the store, after 2 retries"),
            ("http://nobody.invalid", "no connection to the store, after 2 retries"),
        ],
    )
    def test_unreachable_endpoint(
        self, endpoint: str, message: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(TableUnreadable) as caught:
            ObjectStore("s3://lake/t").list_log()
        assert str(caught.value) == f"s3://lake/t: _delta_log cannot be listed: {message}"

    @pytest.mark.parametrize(
        "endpoint", [f"http://user:{SECRET}@[::", f"user:{SECRET}@host", "host:9000", "ftp://host"]
    )
    def test_endpoint_that_is_not_a_url_is_invalid_usage(
        self, endpoint: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(InvalidUsage, match=r"^AWS_ENDPOINT_URL is not the URL of an endpoint"):
            ObjectStore("s3://lake/t")
        assert capfd.readouterr() == ("", "")

    def test_endpoint_without_tls_needs_permission(self, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("AWS_ALLOW_HTTP")
        with pytest.raises(TableUnreadable, match="set AWS_ALLOW_HTTP=true to use it"):
            ObjectStore("s3://lake/t").list_log()


class TestOtherStores:
    """Messages of Azure and Google without a server contain no keys."""

    @pytest.mark.parametrize(
        ("uri", "variables", "message"),
        [
            (
                "abfss://box@acc.dfs.core.windows.net/t?sig=whispered",
                {"STORAGE_SAS_TOKEN": "sv=1&sig=whispered", "STORAGE_ENDPOINT": "http://127.0.0.1:1"},
                "no connection to the store, after 2 retries",
            ),
            (
                "az://box/t",
                {"STORAGE_ACCOUNT_NAME": "acc", "STORAGE_ACCOUNT_KEY": "whispered, in no base 64"},
                "Invalid Access Key",
            ),
            (
                "az://box/t",
                {"STORAGE_ACCOUNT_NAME": "acc", "STORAGE_SAS_TOKEN": "whispered&&%%"},
                "Missing component in SAS query pair",
            ),
            (
                "gs://box/t",
                {"SERVICE_ACCOUNT_KEY": '{"private_key":"whispered","client_email":"whispered"}'},
                "Generic GCS error",
            ),
        ],
    )
    def test_messages_contain_no_secret(
        self, uri: str, variables: dict[str, str], message: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prefix = "GOOGLE_" if uri.startswith("gs") else "AZURE_"
        for name, value in (variables | {"ALLOW_HTTP": "true"}).items():
            monkeypatch.setenv(prefix + name, value)
        with pytest.raises(TableUnreadable, match=message) as caught:
            open_store(uri).list_log()
        assert "whispered" not in str(caught.value)

    @pytest.mark.parametrize("name", ["AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_REGION"])
    def test_token_with_a_line_break_is_invalid_usage(
        self, name: str, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(name, "whispered\n")
        with pytest.raises(InvalidUsage, match=f"{name} contains a line break") as caught:
            ObjectStore("s3://lake/t")
        assert "whispered" not in str(caught.value)


class TestSecrets:
    def test_secrets_of_the_environment_are_redacted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sig=a/b+c==")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "https://me:hunter22@host")
        said = ENVIRONMENT.redact("signed by sig=a/b+c== or sig%3Da%2Fb%2Bc%3D%3D of hunter22 at AWS")
        assert said == "signed by *** or *** of *** at AWS"

    def test_addresses_and_accounts_are_left_out(self) -> None:
        text = "cannot sign https://host/x?sig=1 for svc@project.example because the key is malformed"
        assert describe_error(OSError(text)) == "cannot sign for because the key is malformed"

    @pytest.mark.parametrize("what", ["403", "503", "reset", "cut"])
    def test_exceptions_and_tracebacks_contain_no_secret(
        self, what: str, s3: FaultyS3, capfd: pytest.CaptureFixture[str]
    ) -> None:
        import traceback

        store = put_table(s3, part=bytes(100_000))
        s3.faults = [Fault(what)]
        told = ""
        for ask in (store.list_log, lambda: store.read("part", 1 << 20), lambda: store.open_seekable("part")):
            try:
                ask()
            except (StorageError, TableUnreadable) as fault:
                told += "".join(traceback.format_exception(fault))
        told += "".join(str(each) for each in store.list_files()) + "".join(capfd.readouterr())
        assert told.count("Traceback") == 3
        assert [secret for secret in (KEY_ID, SECRET, TOKEN, "Signature", "X-Amz") if secret in told] == []


class Refusing:
    """A file system of Arrow that cannot list one folder."""

    def __init__(self, system: Any, refused: str) -> None:
        self.system = system
        self.refused = refused

    def get_file_info(self, selector: Any) -> Any:
        if selector.base_dir == self.refused:
            raise OSError("quota exceeded")
        return self.system.get_file_info(selector)
