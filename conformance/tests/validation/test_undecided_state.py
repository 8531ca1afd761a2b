"""Partly lost history: unknown state is compared with nothing and is listed in the ledger."""

from pathlib import Path

import pytest

import deltaspec
from deltaspec.validation.ledger import find_unused_rules
from deltaspec.wire.storage.interface import Entry
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import build_table_with_stored_vectors
from deltaspec_generators.table_files import CheckpointFiles, TableFiles, write_table
from planted_tables.bases.log_only import build_checkpointed_table, build_state_rows

FEATURES = {"deletionVectors", "appendOnly", "invariants"}
"""Features of the table with deletion vectors."""
TRANSACTION = {"txn": {"appId": "loader", "version": 7}}
DOMAIN = {"domainMetadata": {"domain": "of.user", "configuration": "{}", "removed": False}}


def build_table_with_two_checkpoints() -> TableFiles:
    """Build checkpoints of versions 1 and 2; version 0 has a transaction and a domain."""
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["domainMetadata"]}}
    files = build_checkpointed_table(protocol=protocol, last_remove=False)
    files.commits[0] += [TRANSACTION, DOMAIN]
    rows = build_state_rows(files)
    files.checkpoints[0].rows[:] = rows
    later = [line for line in files.commits[2] if isinstance(line, dict) and "commitInfo" not in line]
    files.checkpoints.append(CheckpointFiles(2, "classic", rows=[*rows, *later]))
    return files


def remove_once_listed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete a file of the log as soon as it was listed."""
    list_log = LocalStore.list_log

    def list_and_remove(self: LocalStore) -> list[Entry]:
        entries = list_log(self)
        file.unlink(missing_ok=True)
        return entries

    monkeypatch.setattr(LocalStore, "list_log", list_and_remove)


def test_checkpoint_is_compared_with_known_state(tmp_path: Path) -> None:
    files = build_table_with_two_checkpoints()
    write_table(files, tmp_path / "complete")
    assert deltaspec.validate(str(tmp_path / "complete"), level="log").verdict == "conforms"
    files.checkpoints[1].rows = [row for row in files.checkpoints[1].rows if row not in (TRANSACTION, DOMAIN)]
    write_table(files, tmp_path / "incomplete")
    assert {"CKP037", "CKP038"} <= deltaspec.validate(str(tmp_path / "incomplete"), level="log").totals.keys()


@pytest.mark.parametrize("level", ["log", "rows"])
@pytest.mark.parametrize("version", [0, 1, 3])
def test_rules_for_a_lost_commit_are_in_the_ledger(
    tmp_path: Path, level: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger has every rule for its actions, even if no other commit has such actions."""
    write_table(build_table_with_stored_vectors(((1, 3), (2,))), tmp_path)
    complete = deltaspec.validate(str(tmp_path), level=level)
    assert (complete.verdict, "DVX001" in complete.checked.run) == ("conforms", True)
    remove_once_listed(tmp_path / "_delta_log" / f"{version:020}.json", monkeypatch)
    report = deltaspec.validate(str(tmp_path), level=level)
    assert report.totals == {}
    unchecked = {entry.rule for entry in report.checked.not_checked}
    evaluated = set(complete.checked.run) - find_unused_rules(complete.checked.run, FEATURES)
    assert evaluated - set(report.checked.run) <= unchecked


@pytest.mark.parametrize("is_missing", [False, True])
def test_checkpoint_is_not_compared_with_an_unreadable_base(
    tmp_path: Path, is_missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(build_table_with_two_checkpoints(), tmp_path / "table")
    base = tmp_path / "table" / "_delta_log" / f"{1:020}.checkpoint.parquet"
    if is_missing:
        remove_once_listed(base, monkeypatch)
    else:
        base.write_bytes(b"no Parquet")
    report = deltaspec.validate(str(tmp_path / "table"), level="log")
    assert set(report.totals) <= {"CKP001"}
    assert {"CKP037", "CKP038"} <= {entry.rule for entry in report.checked.not_checked}
