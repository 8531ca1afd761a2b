"""Files are created only if they do not exist. A store that cannot do that is refused before it is written."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from repair.conftest import Damaged

from deltaspec.errors import TableUnreadable
from deltaspec.repair.apply import apply_plan
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_writer import LocalTableWriter, open_table_writer, require_exclusive_creation
from deltaspec.wire.storage.interface import StorageError

TOKEN = "0123"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "t/_delta_log").mkdir(parents=True)
    return tmp_path / "t/_delta_log"


def test_file_is_created_once_and_deleted(log: Path) -> None:
    with open_table_writer(str(log.parent), TOKEN) as writer:
        assert [writer.create("_sidecars/a.parquet", data) for data in (b"first", b"second")] == [True, False]
        assert (log / "_sidecars/a.parquet").read_bytes() == b"first"
        assert os.listdir(log / "_sidecars") == ["a.parquet"]
        assert writer.stamp("_sidecars/a.parquet") is not None
        writer.delete("_sidecars/a.parquet")
        writer.delete("_sidecars/a.parquet")
        assert writer.stamp("_sidecars/a.parquet") is None
        assert writer.stamp("_staged_commits/a.json") is None
        assert os.listdir(log) == ["_sidecars"]


def test_stamp_of_a_replaced_file_differs(log: Path) -> None:
    (log / "a").write_bytes(b"x")
    (log / "b").write_bytes(b"y")
    with open_table_writer(str(log.parent), TOKEN) as writer:
        before = writer.stamp("a")
        os.replace(log / "b", log / "a")
        assert writer.stamp("a") not in (before, None)


def test_linked_directory_of_sidecars_is_refused(log: Path, tmp_path: Path) -> None:
    (log / "_sidecars").symlink_to(tmp_path)
    with open_table_writer(str(log.parent), TOKEN) as writer, pytest.raises(PlanRefused, match="is a link"):
        writer.create("_sidecars/a.parquet", b"x")
    assert os.listdir(tmp_path) == ["t"]


def test_file_that_cannot_be_written_leaves_nothing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_table_writer(str(log.parent), TOKEN) as writer:
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="cannot be written: No space left on device"):
            writer.create("a", b"x")
        monkeypatch.undo()
    assert os.listdir(log) == []


def test_full_disk_ends_with_a_hint_to_continue(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bool:
        raise StorageError("a: cannot be written: No space left on device")

    before = damaged.read_log()
    monkeypatch.setattr(LocalTableWriter, "create", fail)
    with pytest.raises(TableUnreadable, match="No space left on device; run the command again to continue"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


def test_file_system_without_links_is_refused(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    before = damaged.read_log()
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(PlanRefused, match="has no hard links"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


def test_store_that_overwrites_files_is_refused(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some object stores ignore the condition."""

    def overwrite(_: LocalTableWriter, name: str, data: bytes) -> bool:
        (damaged.table / "_delta_log" / name).write_bytes(data)
        return True

    before = damaged.read_log()
    monkeypatch.setattr(LocalTableWriter, "create", overwrite)
    with pytest.raises(PlanRefused, match="the store overwrites a file although it must not exist"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


def test_probe_of_a_correct_store_leaves_nothing(log: Path) -> None:
    with open_table_writer(str(log.parent), TOKEN) as writer:
        require_exclusive_creation(writer, TOKEN)
    assert os.listdir(log) == []


def test_store_without_a_conditional_write_is_refused() -> None:
    with pytest.raises(PlanRefused, match="a table in hdfs is not written"), open_table_writer("hdfs://host/t", TOKEN):
        pytest.fail("the store was opened")
