"""What needs a feature is found without it, whichever side of the state changes; each cause has one finding."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, txn_action, write_table
from planted_tables.bases.feature_uses import FEATURE_USES, FeatureUse, append_commit

USES = st.sampled_from(sorted(FEATURE_USES))
LEGACY = protocol_action(1, 1)


def validate(files: TableFiles, revision: str = "current", **options: Any) -> Report:
    with TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        return deltaspec.validate(directory, level="log", revision=revision, **options)


def draw_other_commits(data: st.DataObject, files: TableFiles, use: FeatureUse) -> None:
    """Append commits that change neither the use nor the protocol."""
    for kind in data.draw(st.lists(st.sampled_from(["nothing", "application", "property", "same"]), max_size=3)):
        version = len(files.commits)
        if kind == "application":
            append_commit(files, txn_action("loader", version))
        elif kind in ("property", "same"):
            comment = {"comment": str(version)} if kind == "property" else {}
            configuration = {**use.configuration, **comment}
            append_commit(files, metadata_action(use.fields, use.partition_columns, configuration))
        else:
            append_commit(files)


def draw_checkpoint(data: st.DataObject, files: TableFiles) -> None:
    """Perhaps add a checkpoint of the latest version, so that the validated history begins with it."""
    if not data.draw(st.booleans()):
        return
    state: dict[str, dict[str, Any]] = {}
    for version, lines in files.commits.items():
        for line in lines:
            assert isinstance(line, dict), f"{version=}"
            (kind, body) = next(iter(line.items()))
            if kind != "commitInfo":
                state[kind + str(body.get("domain", body.get("appId", "")))] = line
    files.checkpoints.append(CheckpointFiles(len(files.commits) - 1, "classic", rows=list(state.values())))


@given(name=USES, data=st.data())
@example_settings(60)
def test_dropped_feature_that_is_still_used_is_reported_once(name: str, data: st.DataObject) -> None:
    use = FEATURE_USES[name]
    revision = data.draw(st.sampled_from(use.revisions))
    files = use.build_table()
    draw_other_commits(data, files, use)
    draw_checkpoint(data, files)
    dropped_at = len(files.commits)
    append_commit(files, data.draw(st.sampled_from([use.build_protocol(supported=False), LEGACY])))
    draw_other_commits(data, files, use)
    report = validate(files, revision, history=data.draw(st.sampled_from(["latest", "all"])))
    assert (report.verdict, dict(report.totals)) == ("violations", {"PRO008": 1})
    (finding,) = report.findings
    assert (finding.version, finding.evidence["last_legal_version"]) == (dropped_at, dropped_at - 1)
    uses = finding.evidence["uses_without_feature"]
    assert [text for text in uses if text.startswith(f"{use.feature}: ")], uses


@given(name=USES.filter(lambda name: name != "timestamps of commits"), data=st.data())
@example_settings(30)
def test_feature_that_is_dropped_again_is_another_cause(name: str, data: st.DataObject) -> None:
    """In-commit timestamps are left out, because adding the feature again must be recorded."""
    use = FEATURE_USES[name]
    files = use.build_table()
    for _ in range(2):
        append_commit(files, use.build_protocol(supported=False))
        draw_other_commits(data, files, use)
        append_commit(files, use.build_protocol(supported=True))
    assert dict(validate(files, history="all").totals) == {"PRO008": 2}


@given(name=USES, is_one_commit=st.booleans(), protocol_is_first=st.booleans())
@example_settings(40)
def test_feature_may_be_dropped_with_its_uses(name: str, is_one_commit: bool, protocol_is_first: bool) -> None:
    use = FEATURE_USES[name]
    files = use.build_table()
    protocol = use.build_protocol(supported=False)
    if is_one_commit:
        actions = [protocol, *use.build_unused_state()] if protocol_is_first else [*use.build_unused_state(), protocol]
        # a domain is removed by a commit that still supports domains
        if use.feature == "domainMetadata":
            return
        append_commit(files, *actions)
    else:
        append_commit(files, *use.build_unused_state())
        append_commit(files, protocol)
    report = validate(files, history="all")
    is_domain_removed_first = use.feature == "clustering" and not is_one_commit
    expected = {"PRO006": 1} | ({"CLU004": 1} if is_domain_removed_first else {})
    assert (report.verdict, dict(report.totals)) == ("conforms", expected)


@given(name=USES, data=st.data())
@example_settings(40)
def test_use_without_its_feature_is_reported_where_it_begins(name: str, data: st.DataObject) -> None:
    use = FEATURE_USES[name]
    files = TableFiles()
    append_commit(files, use.build_protocol(supported=False), metadata_action([("id", "long")]))
    append_commit(files, *use.build_state())
    draw_other_commits(data, files, use)
    assert dict(validate(files, history="all").totals) == {use.rule: 1}


@pytest.mark.parametrize("name", sorted(FEATURE_USES))
def test_use_of_a_base_checkpoint_is_reported(name: str) -> None:
    """The checkpoint is the first known version: no legal version is known."""
    use = FEATURE_USES[name]
    files = TableFiles()
    append_commit(files, use.build_protocol(supported=False), *use.build_state())
    rows = [line for line in files.commits[0] if isinstance(line, dict) and "commitInfo" not in line]
    files.checkpoints.append(CheckpointFiles(0, "classic", rows=rows))
    append_commit(files, txn_action("loader", 1))
    (finding,) = validate(files).findings
    assert finding.rule == use.rule
    assert finding.evidence.get("last_legal_version") is None


@given(name=USES, data=st.data())
@example_settings(20)
def test_fault_of_earlier_commits_is_not_new_in_the_base(name: str, data: st.DataObject) -> None:
    """The default history reads the commits before the base too, as far as they exist."""
    use = FEATURE_USES[name]
    files = use.build_table()
    append_commit(files, use.build_protocol(supported=False))
    draw_other_commits(data, files, use)
    draw_checkpoint(data, files)
    append_commit(files, txn_action("loader", 100))
    assert dict(validate(files).totals) == {"PRO008": 1}


@given(name=USES)
@example_settings(20)
def test_protocol_after_an_undecodable_one_reports_the_uses_it_leaves(name: str) -> None:
    """Support is unknown in between: nothing is known to have been legal."""
    use = FEATURE_USES[name]
    files = use.build_table()
    files.commits[1] = [files.commits[0][0], {"protocol": {"minReaderVersion": "three"}}]
    append_commit(files, use.build_protocol(supported=False))
    report = validate(files, history="all")
    found = {finding.rule: finding for finding in report.findings}
    assert "PRO008" in found
    assert found["PRO008"].evidence.get("last_legal_version") is None
