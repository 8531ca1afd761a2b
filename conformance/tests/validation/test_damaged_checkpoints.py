"""`show` replays the log without checkpoints that cannot be read, as `validate` does, whatever is wrong with them."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from helpers.cli import run, single_error_line
from helpers.raw_logs import PLAIN_CHECKPOINT_ROWS, RawLog, write_sidecar_checkpoint

import deltaspec


def write_v2(log: RawLog) -> str:
    return next(name for name in write_sidecar_checkpoint(log) if name.endswith(".json"))


def corrupt_parquet(log: RawLog) -> None:
    (name,) = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    log.put(name, log.files[name][:-9])


def change_size(log: RawLog) -> None:
    """Change the size of a file in a page that has a checksum and can still be decoded."""
    (name,) = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    sink = io.BytesIO()
    table = pq.read_table(io.BytesIO(log.files[name]))
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_page_checksum=True)
    content, columns = bytearray(sink.getvalue()), pq.read_metadata(sink).row_group(0).to_dict()["columns"]
    (size,) = [each for each in columns if each["path_in_schema"] == "add.size"]
    content[size["data_page_offset"] + size["total_compressed_size"] - 8] ^= 1
    log.put(name, bytes(content))


def corrupt_part(log: RawLog) -> None:
    names = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS), naming="multipart", parts=2)
    log.put(names[1], b"PAR1")


def lose_part(log: RawLog) -> None:
    names = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS), naming="multipart", parts=2)
    del log.files[names[1]]


def lose_sidecar(log: RawLog) -> None:
    names = write_sidecar_checkpoint(log)
    del log.files[next(name for name in names if name.startswith("_sidecars/"))]


def corrupt_sidecar(log: RawLog) -> None:
    names = write_sidecar_checkpoint(log)
    log.put(next(name for name in names if name.startswith("_sidecars/")), b"PAR1")


def corrupt_json(log: RawLog) -> None:
    name = write_v2(log)
    log.put(name, log.files[name].replace(b'"sidecar"', b'"sidecar', 1))


def cut_json(log: RawLog) -> None:
    name = write_v2(log)
    log.put(name, log.files[name][:40])


def name_missing_checkpoint(log: RawLog) -> None:
    log.hint('{"version":1,"size":3}')


def corrupt_hint(log: RawLog) -> None:
    log.hint('{"version":')


DAMAGES: dict[str, tuple[str, Callable[[RawLog], None], bool]] = {
    "corrupt Parquet": ("plain", corrupt_parquet, True),
    "page with a wrong checksum": ("plain", change_size, True),
    "corrupt part": ("plain", corrupt_part, True),
    "missing part": ("plain", lose_part, False),
    "missing sidecar": ("rich", lose_sidecar, True),
    "corrupt sidecar": ("rich", corrupt_sidecar, True),
    "corrupt line of a JSON checkpoint": ("rich", corrupt_json, True),
    "JSON checkpoint cut off": ("rich", cut_json, True),
    "hint of a missing checkpoint": ("plain", name_missing_checkpoint, False),
    "corrupt hint": ("plain", corrupt_hint, False),
}


def show(table: Path, *options: str) -> Any:
    result = run("show", table, "--format", "json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(("name", "damage", "is_unread"), DAMAGES.values(), ids=list(DAMAGES))
def test_state_equals_that_of_the_commits(
    tmp_path: Path, name: str, damage: Callable[[RawLog], None], is_unread: bool
) -> None:
    sound, damaged = RawLog(name), RawLog(name)
    damage(damaged)
    sound.write(tmp_path / "sound")
    damaged.write(tmp_path / "damaged")
    for options in ([], ["--files"]):
        expected, found = show(tmp_path / "sound", *options), show(tmp_path / "damaged", *options)
        assert bool(found.pop("unread_checkpoints")) == is_unread, f"{options=}"
        for values in (expected, found):
            values.pop("unread_checkpoints", None)
            values.pop("table", None)
            values.pop("log", None)
        assert found == expected, f"{options=}"
    assert deltaspec.validate(str(tmp_path / "damaged"), level="log").version == found["version"]


def test_reason_is_named_if_no_other_checkpoint_and_no_commits_are_left(tmp_path: Path) -> None:
    log = RawLog("plain")
    corrupt_parquet(log)
    log.drop(0, 1, 2)
    log.write(tmp_path / "table")
    result = run("show", tmp_path / "table")
    assert result.exit_code == 2
    assert "00000000000000000002.checkpoint.parquet" in single_error_line(result)
