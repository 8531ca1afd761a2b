"""Readers of a revision ignore the fields and actions that it does not define, whatever they contain."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.actions import is_field_defined
from deltaspec.protocol.revisions import Revision
from deltaspec_generators.table_files import TableFiles, get_action, write_table
from planted_tables.bases import log_only

LATER_FIELDS = (
    ("add", "defaultRowCommitVersion", Revision.R2),
    ("add", "clusteringProvider", Revision.R3),
    ("remove", "defaultRowCommitVersion", Revision.R2),
    ("remove", "stats", Revision.R3),
)
"""Action, field, and the first revision that defines it."""
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text('ab\\"é', max_size=4) | st.just("{}"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)


def count_findings(files: TableFiles, revision: Revision) -> dict[str, int]:
    with TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        report = deltaspec.validate(directory, level="log", history="all", revision=str(revision))
    assert report.checked.not_checked == []
    return dict(report.totals)


@example_settings(60)
@given(st.sampled_from(LATER_FIELDS), st.sampled_from([Revision.R1, Revision.R2]), JSON_VALUES, st.booleans())
def test_fields_of_later_revisions_are_ignored_in_commits(
    later: tuple[str, str, Revision], revision: Revision, value: Any, is_compacted: bool
) -> None:
    action, field, since = later
    files = log_only.build_table()
    get_action(files, 2, action)[field] = value
    if is_compacted:
        files.compactions[0, 2] = [line for version in range(3) for line in files.commits[version]]
    if not revision.since(since):
        assert count_findings(files, revision) == {}
    assert is_field_defined(action, field, revision) == revision.since(since)


@pytest.mark.parametrize(("revision", "expected"), [("r1", set()), ("r2", {"CKP001"})])
def test_columns_of_later_revisions_are_ignored_in_checkpoints(
    revision: str, expected: set[str], tmp_path: Path
) -> None:
    write_table(log_only.build_checkpointed_table(), tmp_path)
    path = tmp_path / "_delta_log" / f"{1:020}.checkpoint.parquet"
    rows = pq.read_table(path)
    add = rows["add"].combine_chunks()
    members = {field.name: add.field(field.name) for field in add.type}
    members["defaultRowCommitVersion"] = pa.array(["seven"] * len(add))
    changed = pa.StructArray.from_arrays(members.values(), members.keys(), mask=add.is_null())
    pq.write_table(rows.set_column(rows.schema.get_field_index("add"), "add", changed), path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all", revision=revision)
    assert report.totals.keys() == expected


@pytest.mark.parametrize(("revision", "expected"), [("r1", {}), ("r2", {}), ("r3", {"LCP001": 1})])
def test_tags_of_the_hint_are_defined_since_r3(revision: str, expected: dict[str, int]) -> None:
    files = log_only.build_checkpointed_table()
    files.last_checkpoint = json.dumps({"version": 1, "size": 4, "tags": 5})
    assert count_findings(files, Revision(revision)) == expected


@pytest.mark.parametrize("action", ["sidecar", "checkpointMetadata"])
@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_actions_of_later_revisions_are_unknown(action: str, revision: Revision) -> None:
    files = log_only.build_table()
    files.commits[2].append({action: {"path": 5}})
    assert count_findings(files, revision) == {}
