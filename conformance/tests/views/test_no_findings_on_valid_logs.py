"""No rule finds anything in a valid table, whatever form its log has: a false alarm is as bad as a missed fault."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import RecordingRun
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import deltaspec
from deltaspec.model.log.segment import find_readable_versions
from deltaspec.model.revisions import Revision
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.logs.strategies import logs
from deltaspec_generators.table_files import LOG, TableFiles, encode_table, write_table

DOCUMENTED = {"LIN005"}
"""Divergences that `logs()` draws on purpose: blank lines (S21)."""
DEPRECATED = {"CKP070"}
"""Warnings of what `logs()` draws although it is deprecated: checkpoints in several parts."""


ONLY_WHERE_ODD = {
    "added_vectors",
    "adds_without_stats",
    "checkpoint_columns",
    "replay_differences",
    "row_id_columns",
    "row_id_conflicts",
    "log_starts",
}
"""Views that have rows only where something is amiss, or may be."""

MUCH_SEEN = (
    ("deletionVectors",),
    ("rowTracking", "domainMetadata"),
    ("catalogManaged", "inCommitTimestamp"),
    ("typeWidening", "clustering", "domainMetadata", "identityColumns"),
    ("variantType", "variantShredding"),
    ("icebergCompatV2", "columnMapping"),
)
"""Features that fill views which few logs of all features fill."""


def write_and_validate(
    files: TableFiles, history: str = "latest", at: int | None = None, revision: str = Revision.CURRENT
) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return deltaspec.validate(
            str(Path(directory) / "table"), level="log", history=history, at=at, revision=str(revision)
        )


def assert_clean(report: Report, *, but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    assert set(report.totals) <= but | DEPRECATED
    assert report.checked.not_checked == []
    assert report.verdict == "conforms"


@pytest.mark.parametrize("history", ["latest", "all", "2"])
@example_settings(15)
@given(files=logs(blank_lines=False))
def test_no_rule_finds_anything_in_a_valid_log(history: str, files: TableFiles) -> None:
    assert_clean(write_and_validate(files, history))


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
@example_settings(15)
@given(data=st.data())
def test_an_older_text_finds_nothing_in_the_logs_that_keep_it(revision: Revision, data: st.DataObject) -> None:
    files = data.draw(logs(blank_lines=False, revision=revision))
    assert_clean(write_and_validate(files, data.draw(st.sampled_from(["latest", "all"])), revision=revision))


@example_settings(15)
@given(files=logs(), data=st.data())
def test_older_versions_are_as_clean(files: TableFiles, data: st.DataObject) -> None:
    names = [path.removeprefix(LOG) for path in encode_table(files) if path.startswith(LOG)]
    at = data.draw(st.integers(*find_readable_versions(names)))
    report = write_and_validate(files, data.draw(st.sampled_from(["latest", "all", "1"])), at)
    assert report.version == at
    assert_clean(report, but=DOCUMENTED)


def test_blank_lines_are_the_one_divergence_drawn() -> None:
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
    def look(files: TableFiles) -> None:
        totals.update(write_and_validate(files, "all").totals)

    look()
    assert set(totals) - DEPRECATED == DOCUMENTED
    assert all(RULES[code].severity == "divergence" for code in DOCUMENTED)


def test_rows_of_every_view_that_a_rule_reads_are_drawn() -> None:
    recorded: Counter[str] = Counter()

    for features in (None, *MUCH_SEEN):

        @settings(
            max_examples=2,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(files=logs(features=features))
        def look(files: TableFiles) -> None:
            frames = RecordingRun(files).recorded.frames
            recorded.update(name for name, each in frames.items() if sum(map(len, each)))

        for number in range(
            30 if features and "icebergCompatV2" in features else 8
        ):  # the second of two examples is drawn afresh, later ones resemble it
            seed(number)(look)()
    of_the_log = {rule.view.name for rule in RULES.values() if rule.level == "log"}
    # Names of materialized columns stand in tables with data only (`data_tables`).
    assert of_the_log - ONLY_WHERE_ODD <= set(recorded)
