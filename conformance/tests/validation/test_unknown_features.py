"""An unknown reader feature is not a violation. Rules that may depend on it are not checked; the others run."""

from pathlib import Path

import pytest

import deltaspec
from deltaspec.report import Report
from deltaspec_generators.bases import log_only
from deltaspec_generators.table_files import protocol_action, write_table


def _validate_with_features(directory: Path, *features: str) -> Report:
    names = list(features)
    files = log_only.build_checkpointed_table(protocol=protocol_action(3, 7, names, names))
    write_table(files, directory)
    return deltaspec.validate(str(directory), level="log", history="all")


def test_unknown_reader_feature_leaves_the_run_incomplete(tmp_path: Path) -> None:
    report = _validate_with_features(tmp_path, "fromTheFuture")
    assert report.verdict == "incomplete"
    assert report.totals == {}
    unchecked = {entry.rule for entry in report.checked.not_checked}
    assert {"CKP030", "FIL030", "CRC003"} <= unchecked
    assert "LIN010" not in unchecked
    assert "LIN010" in report.checked.run


@pytest.mark.parametrize("feature", ["variantShredding-preview", "timestampNanos", "typeWidening-dev"])
def test_known_proposals_do_not_affect_replay(tmp_path: Path, feature: str) -> None:
    assert _validate_with_features(tmp_path, feature).verdict == "conforms"


def test_accepted_rules_do_not_make_a_run_incomplete(tmp_path: Path) -> None:
    unchecked = {entry.rule for entry in _validate_with_features(tmp_path, "fromTheFuture").checked.not_checked}
    chapters = sorted({rule[:3] for rule in unchecked})
    assert {"CKP", "COM", "COP", "CRC", "DVX", "FIL", "RID"} <= {*chapters}
    accepted = deltaspec.validate(str(tmp_path), level="log", history="all", accept_unchecked=chapters)
    assert accepted.verdict == "conforms"
    assert all(entry.accepted for entry in accepted.checked.not_checked)
