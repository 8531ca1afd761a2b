"""An unknown reader feature is not a violation. Rules that may depend on it are not checked; the others run."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import assume, given
from hypothesis import strategies as st

import deltaspec
from deltaspec.protocol.features.table_features import (
    CHECKED_PREVIEWS,
    FEATURES,
    find_intended_name,
    get_unchecked_effect,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import PRIMITIVES
from deltaspec.report import Report
from deltaspec_generators.table_files import commit_info_action, protocol_action, write_table
from planted_tables.bases import log_only


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


@pytest.mark.parametrize("feature", CHECKED_PREVIEWS)
def test_previews_that_engines_write_are_checked(tmp_path: Path, feature: str) -> None:
    others = ["variantType-preview"] if feature.startswith("variantShredding") else []
    assert _validate_with_features(tmp_path, feature, *others).verdict == "conforms"


@pytest.mark.parametrize("feature", ["timestampNanos", "typeWidening-dev", "inCommitTimestamp-preview"])
def test_other_proposals_leave_the_run_incomplete_but_not_replay(tmp_path: Path, feature: str) -> None:
    report = _validate_with_features(tmp_path, feature)
    assert report.verdict == "incomplete"
    assert [each.rule for each in report.checked.not_checked] == [f"feature:{feature}"]
    assert "may affect" in report.checked.not_checked[0].reason


@st.composite
def unchecked_features(draw: st.DrawFn) -> str:
    """Draw a feature name that the kit does not check: known proposals, and names that nobody knows."""
    known = st.sampled_from([name for name in FEATURES if get_unchecked_effect(name) is not None])
    name = draw(known | st.text('abXY-. "é', min_size=1, max_size=12))
    assume(get_unchecked_effect(name) is not None and find_intended_name(name) is None)
    return name


@example_settings(12)
@given(unchecked_features(), st.sampled_from(["reader", "writer", "both"]), st.sampled_from(["latest", "all"]))
def test_a_table_with_an_unchecked_feature_conforms_only_if_it_is_accepted(name: str, where: str, history: str) -> None:
    readers, writers = [name] if where != "writer" else [], [name] if where != "reader" else []
    files = log_only.build_checkpointed_table(protocol=protocol_action(3, 7, readers, writers))
    with TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        for revision in Revision:
            options = {"level": "log", "history": history, "revision": str(revision)}
            report = deltaspec.validate(directory, **options)
            assert report.exit_code != 0, f"{revision=}"
            accepted = deltaspec.validate(directory, **options, accept_unchecked=[f"feature:{name}"])
            is_legal = where != "reader" and revision is Revision.CURRENT
            assert (accepted.verdict == "conforms") == is_legal, f"{revision=}"


def test_feature_of_an_earlier_version_is_reported(tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(3, 7, ["fromTheFuture"], ["fromTheFuture"]))
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, [], [])]
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert "feature:fromTheFuture" in {each.rule for each in report.checked.not_checked}


def test_many_features_are_reported_in_bounded_space_and_none_is_accepted_by_mistake(tmp_path: Path) -> None:
    names = [f"feature{number:05}" for number in range(5000)]
    files = log_only.build_table(protocol=protocol_action(1, 7, None, names))
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", accept_unchecked=[f"feature:{each}" for each in names[1:]])
    assert report.verdict == "incomplete"
    assert [each.rule for each in report.checked.not_checked if not each.accepted] == ["feature:feature00000"]
    assert len(report.checked.not_checked) <= 20


PROPOSED_TYPES = {
    "geometry(OGC:CRS84)": "geospatial",
    "geography": "geospatial",
    "timestamp_nanos": "timestampNanos",
    "string collate ICU.de_DE": "collations",
    "interval year to month": None,
    "time(6)": None,
}
"""Type to the feature that defines it; None if no feature does."""


def _nest(kind: object, depth: int) -> object:
    return kind if depth == 0 else {"type": "array", "elementType": _nest(kind, depth - 1), "containsNull": True}


@example_settings(40)
@given(
    st.sampled_from(sorted(PROPOSED_TYPES)) | st.text("abcdxyz", min_size=1, max_size=9),
    st.integers(0, 2),
    st.sampled_from(["geospatial", "timestampNanos", "collations", None]),
    st.sampled_from(list(Revision)),
)
def test_an_undefined_type_without_its_feature_is_a_violation(
    name: str, depth: int, listed: str | None, revision: Revision
) -> None:
    assume(name not in PRIMITIVES and name != "decimal")
    is_reader_feature = listed in ("geospatial", "timestampNanos")
    names = [] if listed is None else [listed]
    protocol = protocol_action(3, 7, names if is_reader_feature else [], [*names, "domainMetadata"])
    files = log_only.build_table(protocol=protocol, fields=[("id", "long"), ("c", _nest(name, depth))])
    with TemporaryDirectory() as directory:
        write_table(files, Path(directory))
        report = deltaspec.validate(directory, level="log", history="all", revision=str(revision))
    is_defined = listed is not None and PROPOSED_TYPES.get(name) == listed
    is_divergent = name.startswith("interval") and revision is Revision.CURRENT  # a proposal reads them (S44)
    if report.verdict != "refused":
        assert ("PRP001" in report.totals) is is_divergent
        assert ("MET003" in report.totals) is not (is_defined or is_divergent)
    assert report.exit_code != 0 or is_divergent


def test_type_is_a_violation_once_its_feature_is_dropped(tmp_path: Path) -> None:
    files = log_only.build_table_with_features("geospatial", fields=[("id", "long"), ("g", "geometry(OGC:CRS84)")])
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, [], [])]
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert [each.version for each in report.findings if each.rule == "MET003"] == [3]


def test_a_feature_that_nobody_knows_may_define_types(tmp_path: Path) -> None:
    for number, kind in enumerate(("time(6)", "vector(3)")):
        files = log_only.build_table_with_features("fromTheFuture", fields=[("id", "long"), ("c", kind)])
        write_table(files, tmp_path / str(number))
        report = deltaspec.validate(str(tmp_path / str(number)), level="log", history="all")
        assert (report.verdict, report.totals) == ("incomplete", {}), f"{number=}, {kind=}"


def test_accepted_rules_do_not_make_a_run_incomplete(tmp_path: Path) -> None:
    unchecked = {entry.rule for entry in _validate_with_features(tmp_path, "fromTheFuture").checked.not_checked}
    chapters = sorted({rule[:3] for rule in unchecked if not rule.startswith("feature:")})
    assert {"CKP", "COM", "COP", "CRC", "FIL"} <= {*chapters}
    assert not {"DVX", "RID"} & {*chapters}, "the table has neither vectors nor row ids"
    accepted = deltaspec.validate(
        str(tmp_path), level="log", history="all", accept_unchecked=[*chapters, "feature:fromTheFuture"]
    )
    assert accepted.verdict == "conforms"
    assert [entry for entry in accepted.checked.not_checked if not entry.accepted] == []
