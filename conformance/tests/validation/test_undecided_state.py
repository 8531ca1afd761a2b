"""Of a history that is lost in part: what is not known is held against nothing, and stands in the ledger."""

from pathlib import Path

import pytest

import deltaspec
from deltaspec.wire.storage.interface import Entry
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.bases.data_files import build_table_with_stored_vectors
from deltaspec_generators.bases.log_only import build_checkpointed_table, build_state_rows
from deltaspec_generators.table_files import CheckpointFiles, TableFiles, write_table

TRANSACTION = {"txn": {"appId": "loader", "version": 7}}
DOMAIN = {"domainMetadata": {"domain": "of.user", "configuration": "{}", "removed": False}}


def two_checkpoints() -> TableFiles:
    """Checkpoints of versions 1 and 2; a transaction and a domain come in version 0."""
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}}
    files = build_checkpointed_table(protocol=protocol, last_remove=False)
    files.commits[0] += [TRANSACTION, DOMAIN]
    rows = build_state_rows(files)
    files.checkpoints[0].rows[:] = rows
    later = [line for line in files.commits[2] if isinstance(line, dict) and "commitInfo" not in line]
    files.checkpoints.append(CheckpointFiles(2, "classic", rows=[*rows, *later]))
    return files


def remove_once_listed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file of the log go as soon as it was listed."""
    listed = LocalStore.list_log

    def list_and_remove(self: LocalStore) -> list[Entry]:
        found = listed(self)
        file.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(LocalStore, "list_log", list_and_remove)


def test_checkpoints_are_held_to_what_is_known(tmp_path: Path) -> None:
    files = two_checkpoints()
    write_table(files, tmp_path / "sound")
    assert deltaspec.validate(str(tmp_path / "sound"), level="log").verdict == "conforms"
    files.checkpoints[1].rows = [row for row in files.checkpoints[1].rows if row not in (TRANSACTION, DOMAIN)]
    write_table(files, tmp_path / "lacking")
    assert {"CKP037", "CKP038"} <= deltaspec.validate(str(tmp_path / "lacking"), level="log").totals.keys()


@pytest.mark.parametrize("level", ["log", "rows"])
@pytest.mark.parametrize("version", [0, 1, 3])
def test_what_a_lost_commit_leaves_unasked_stands_in_the_ledger(
    tmp_path: Path, level: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that its actions would have been asked, also where no other commit has such actions."""
    write_table(build_table_with_stored_vectors(((1, 3), (2,))), tmp_path)
    sound = deltaspec.validate(str(tmp_path), level=level)
    assert (sound.verdict, "DVX001" in sound.checked.run) == ("conforms", True)
    remove_once_listed(tmp_path / "_delta_log" / f"{version:020}.json", monkeypatch)
    found = deltaspec.validate(str(tmp_path), level=level)
    assert found.totals == {}
    unsaid = {entry.rule for entry in found.checked.not_checked}
    assert set(sound.checked.run) - set(found.checked.run) <= unsaid


@pytest.mark.parametrize("is_gone", [False, True])
def test_checkpoint_is_not_held_to_a_base_that_cannot_be_read(
    tmp_path: Path, is_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(two_checkpoints(), tmp_path / "table")
    base = tmp_path / "table" / "_delta_log" / f"{1:020}.checkpoint.parquet"
    if is_gone:
        remove_once_listed(base, monkeypatch)
    else:
        base.write_bytes(b"no Parquet")
    report = deltaspec.validate(str(tmp_path / "table"), level="log")
    assert set(report.totals) <= {"CKP001"}
    assert {"CKP037", "CKP038"} <= {entry.rule for entry in report.checked.not_checked}
