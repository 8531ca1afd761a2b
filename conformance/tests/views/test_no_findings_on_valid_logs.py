"""No rule has findings on valid logs: a false positive is as bad as a missed fault."""

import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from helpers.catalog import list_unchecked
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import RecordingRun
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.log.segment import find_readable_versions
from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.table_files import LOG, TableFiles, encode_table, write_table
from deltaspec_generators.tables.strategies import logs

DOCUMENTED = {"LIN005"}
"""Rules of divergences that `logs()` draws on purpose: blank lines (S21)."""
DRAWN = {"CKP070", "CLU004", "FIL066"}
"""Rules about what `logs()` draws: multipart checkpoints, clustering without domain, high bytes in partition values."""


FAULT_ONLY_VIEWS = {
    "added_vectors",
    "adds_without_stats",
    "checkpoint_columns",
    "idle_removes",
    "proposals",
    "proposed_files",
    "replay_differences",
    "row_id_columns",
    "row_id_conflicts",
    "row_id_marks",
    "log_starts",
    "null_columns",
    "outdated_files",
    "typed_copies",
}
"""Views that have rows only for actual or possible faults, or for proposals, which `logs()` does not draw."""

DRAWN_FEATURES = (
    ("deletionVectors",),
    ("rowTracking", "domainMetadata"),
    ("catalogManaged", "inCommitTimestamp"),
    ("typeWidening", "clustering", "domainMetadata", "identityColumns"),
    ("variantType", "variantShredding"),
    ("icebergCompatV2", "columnMapping"),
    ("icebergCompatV3", "columnMapping", "rowTracking", "domainMetadata"),
)
"""Features that fill views which logs with random features rarely fill."""


def write_and_validate(
    files: TableFiles, history: str = "latest", at: int | None = None, revision: str = Revision.CURRENT
) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return deltaspec.validate(
            str(Path(directory) / "table"), level="log", history=history, at=at, revision=str(revision)
        )


def assert_clean(report: Report, *, allowed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    assert set(report.totals) <= allowed | DRAWN
    assert list_unchecked(report) == []
    assert report.verdict == ("incomplete" if report.checked.not_checked else "conforms")


@pytest.mark.parametrize("history", ["latest", "all", "2"])
@example_settings(15)
@given(files=logs(blank_lines=False))
def test_no_rule_finds_anything_in_a_valid_log(history: str, files: TableFiles) -> None:
    assert_clean(write_and_validate(files, history))


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
@example_settings(15)
@given(data=st.data())
def test_older_revision_finds_nothing_in_its_valid_logs(revision: Revision, data: st.DataObject) -> None:
    files = data.draw(logs(blank_lines=False, revision=revision))
    assert_clean(write_and_validate(files, data.draw(st.sampled_from(["latest", "all"])), revision=revision))


@example_settings(15)
@given(files=logs(), data=st.data())
def test_older_versions_have_no_findings(files: TableFiles, data: st.DataObject) -> None:
    names = [path.removeprefix(LOG) for path in encode_table(files) if path.startswith(LOG)]
    at = data.draw(st.integers(*find_readable_versions(names)))
    report = write_and_validate(files, data.draw(st.sampled_from(["latest", "all", "1"])), at)
    assert report.version == at
    assert_clean(report, allowed=DOCUMENTED)


@pytest.mark.slow("generators/deltaspec_generators/operations", "generators/deltaspec_generators/tables")
def test_only_blank_lines_are_drawn_divergences() -> None:
    totals: Counter[str] = Counter()

    @settings(
        max_examples=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files=logs())
    def draw(files: TableFiles) -> None:
        totals.update(write_and_validate(files, "all").totals)

    draw()
    assert set(totals) - DRAWN == DOCUMENTED
    assert [code for code in DOCUMENTED if RULES[code].severity != "divergence"] == []


@pytest.mark.slow(
    "generators/deltaspec_generators/operations",
    "generators/deltaspec_generators/tables",
    "conformance/deltaspec/views",
)
def test_drawn_logs_have_rows_of_every_view() -> None:
    # Names of materialized columns occur only in tables with data (`data_tables`).
    missing = {rule.view.name for rule in RULES.values() if rule.level == "log"} - FAULT_ONLY_VIEWS

    def draw_logs(features: Collection[str] | None, number: int) -> None:
        @settings(
            max_examples=2,  # the second example is drawn independently, later ones resemble it
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(files=logs(features=features))
        def draw(files: TableFiles) -> None:
            frames = RecordingRun(files).recorded.frames
            missing.difference_update(name for name, each in frames.items() if sum(map(len, each)))

        seed(number)(draw)()

    for number in range(60):
        for features in (None, *DRAWN_FEATURES):
            if missing:
                draw_logs(features, number)
    assert missing == set()
