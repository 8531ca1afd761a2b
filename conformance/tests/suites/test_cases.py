"""Which cases a candidate gets, and what its report claims."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Capabilities
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable, LogReader
from deltaspec.candidates.serve import EngineError
from deltaspec.errors import InvalidUsage
from deltaspec.protocol.features.table_features import get_known_features
from deltaspec.suites.cases import hide_temporary_directories, list_cases, run_case
from deltaspec.suites.changes import list_change_ranges
from deltaspec.suites.checks import SUITES
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.rendering import render_text
from deltaspec.suites.results import UNDECLARED_FEATURES, DeclaredRefusals, Run, SuiteReport, build_report
from deltaspec.suites.runner import SuitePlan, build_suite_plan, run_suite_plan
from deltaspec.suites.subjects import Corpus, build_subject, describe_subject, is_drawn

TABLE = next(
    subject
    for identity in Corpus(1, 50, written=False).list_ids()
    if (subject := describe_subject(identity)).newest.state.protocol["minReaderVersion"] == 3 and subject.table.features
)
FEATURES = tuple(TABLE.table.features)


def list_names(**declared: object) -> set[str]:
    capabilities = Capabilities("x", "1", ops=("snapshot", "scan", "changes"), **declared)  # type: ignore[arg-type]
    return {case.check.name for case in list_cases(capabilities, [TABLE], SUITES)}


def test_declared_table_is_read() -> None:
    names = list_names(reader_features=FEATURES)
    assert "read.all-rows" in names
    assert [name for name in names if name.startswith("refuse.")] == []


@pytest.mark.parametrize(
    "declared", [{"reader_features": FEATURES[1:]}, {"reader_features": FEATURES, "max_reader_version": 2}]
)
def test_table_that_needs_more_than_declared_must_be_refused(declared: dict[str, object]) -> None:
    assert list_names(**declared) == {UNDECLARED_FEATURES}


class RefusesTypes:
    """The reference reader, which declares that it does not support types, and refuses every table."""

    def __init__(self, *types: str) -> None:
        self._types = types

    def hello(self) -> dict[str, Any]:
        return {**Engine().hello(), "types_not_supported": list(self._types)}

    def scan(self, table: str, **request: Any) -> Any:
        raise EngineError("unsupported", "a type is not supported", phase="scan")


@pytest.mark.parametrize(
    ("types", "outcome", "begin"),
    [
        (("variant",), Outcome.NOT_ASKED, "the candidate does not support the type variant"),
        (("variant", "long"), Outcome.FAILED, "refused (every reader has to read the type long): unsupported"),
        (("void",), Outcome.FAILED, "refused: unsupported"),
    ],
)
def test_only_types_of_table_features_excuse_a_refusal(
    tmp_path: Path, types: tuple[str, ...], outcome: Outcome, begin: str
) -> None:
    subject = build_subject("rare.variant-with-metadata-first", tmp_path)
    candidate = InProcess(RefusesTypes(*types))
    result = run_case(candidate, next(iter(list_cases(candidate.capabilities, [subject], ("read",)))))
    assert result.outcome is outcome
    assert result.message.startswith(begin)


@pytest.mark.parametrize("revision", ["r1", "r2", "r3"])
def test_drawn_tables_of_a_revision_have_only_its_features(revision: str) -> None:
    plan = build_suite_plan(("read",), seed=1, tables=4, revision=revision)
    tables = [describe_subject(identity) for identity in plan.corpus.list_ids()]
    assert [each.id for each in tables] == [f"drawn-{revision}.1.{number}" for number in range(4)]
    features = {name for each in tables for name in each.newest.state.features}
    assert features <= get_known_features(revision)


def test_only_ids_with_seed_and_number_name_drawn_tables() -> None:
    ids = ("drawn.1.3", "drawn-r1.1.3", "written.1.3", "drawn.v2-s54-843e86-000022/snapshot-version-0")
    assert [each for each in ids if is_drawn(each)] == ["drawn.1.3"]


def test_revisions_have_no_written_tables() -> None:
    with pytest.raises(InvalidUsage, match="suite write, catalog are of the current one"):
        build_suite_plan(("read", "write", "catalog"), seed=1, tables=1, revision="r2")
    with pytest.raises(KeyError):
        describe_subject("drawn-r9.1.0")


class WithoutCheckpoints(Engine):
    """Refuses tables whose first commits only a checkpoint has."""

    declares = True

    def hello(self) -> dict[str, Any]:
        kinds = ["classic", "multipart", "v2"] if self.declares else []
        return {**super().hello(), "checkpoints_not_supported": kinds}

    def load(self, log: LogReader, at: dict[str, int] | None) -> LoadedTable:
        if any("checkpoint" in name for name in log.entries):
            raise EngineError("unsupported", "a checkpoint")
        return super().load(log, at)


class WithoutCheckpointsInSilence(WithoutCheckpoints):
    declares = False


@pytest.mark.parametrize(
    ("engine", "outcome"), [(WithoutCheckpoints, Outcome.NOT_ASKED), (WithoutCheckpointsInSilence, Outcome.FAILED)]
)
def test_reader_may_declare_that_it_reads_no_checkpoints(engine: type[Engine], outcome: Outcome) -> None:
    plan = SuitePlan(
        Corpus(1, 0, written=True), ("read",), select=lambda case: case == "read.all-rows/sound.json-checkpoint"
    )
    (result,) = [each for done in run_suite_plan(lambda: InProcess(engine()), plan) for each in done.results]
    assert result.outcome is outcome
    assert ("v2 checkpoints" in result.message) == (outcome is Outcome.NOT_ASKED)


def test_changes_with_an_older_schema_are_left_out() -> None:
    subject = next(
        each
        for identity in Corpus(1, 50, written=False).list_ids()
        if len(list_change_ranges((each := describe_subject(identity)).table)) > 1
    )
    first, *others = subject.table.versions
    renamed = replace(first.schema, fields=tuple(replace(each, name=f"{each.name} 2") for each in first.schema.fields))
    table = replace(subject.table, versions=(replace(first, schema=renamed, plain_changes=[]), *others))
    asked = {each.version for versions in list_change_ranges(table) for each in versions}
    assert asked
    assert first.version not in asked


def test_report_claims_conformance_only_where_all_was_asked() -> None:
    results = [
        CaseResult(case=f"{suite}.x/t", suite=suite, check=f"{suite}.x", table="t", outcome=outcome, seconds=0)
        for suite, outcome in (
            ("read", Outcome.PASSED),
            ("snapshot", Outcome.PASSED),
            ("snapshot", Outcome.NOT_ASKED),
            ("changes", Outcome.EXPECTED_FAILURE),
        )
    ]
    run = Run(deltaspec="0", candidate="x", seed=1, tables=1, suites=SUITES, seconds=1, complete=True)
    report = build_report(run, Capabilities("x", "1"), results)
    assert report.conforming_suites == ["read"]
    assert render_text(report).endswith(
        "PASSED: 2 cases, 1 failed as listed, 1 not asked. Conformance holds for: read."
    )


def build_golden_report(results: list[CaseResult]) -> SuiteReport:
    run = Run(deltaspec="0", candidate="x", seed=0, tables=0, golden=True, suites=SUITES, seconds=1, complete=True)
    return build_report(run, Capabilities("x", "1"), results)


def test_report_counts_outcomes_by_chapter_of_golden_cases() -> None:
    results = [
        CaseResult(case=f"read.x/{table}", suite="read", check="read.x", table=table, outcome=outcome, seconds=0)
        for table, outcome in (
            ("golden.paths.absolute.plain", Outcome.PASSED),
            ("golden.paths.newline", Outcome.FAILED),
            ("golden.log.empty", Outcome.PASSED),
            ("drawn.1.7", Outcome.PASSED),
        )
    ]
    report = build_golden_report(results)
    assert report.chapters == {"log": {"read": {"passed": 1}}, "paths": {"read": {"passed": 1, "failed": 1}}}
    assert "tables     golden cases" in render_text(report)


def test_report_counts_outcomes_by_feature() -> None:
    results = [
        CaseResult(
            case=f"read.x/{number}", suite="read", check="read.x", table="t", outcome=outcome, seconds=0,
            features=features,
        )
        for number, (outcome, features) in enumerate(
            [
                (Outcome.PASSED, ("columnMapping", "deletionVectors")),
                (Outcome.FAILED, ("deletionVectors",)),
                (Outcome.NOT_ASKED, ()),
            ]
        )
    ]  # fmt: skip
    assert build_golden_report(results).features == {
        "columnMapping": {"read": {"passed": 1}},
        "deletionVectors": {"read": {"passed": 1, "failed": 1}},
        "none": {"read": {"not-asked": 1}},
    }


def test_report_counts_declared_refusals_apart() -> None:
    results = [
        CaseResult(
            case=f"{check}/{number}", suite="refuse", check=check, table="t", outcome=outcome, seconds=0,
            features=("columnMapping",) * (number != 3),
        )
        for number, (check, outcome) in enumerate(
            [
                (UNDECLARED_FEATURES, Outcome.PASSED),
                (UNDECLARED_FEATURES, Outcome.FAILED),
                ("refuse.broken-table", Outcome.PASSED),
                (UNDECLARED_FEATURES, Outcome.PASSED),
            ]
        )
    ]  # fmt: skip
    run = Run(deltaspec="0", candidate="x", seed=1, tables=1, suites=SUITES, seconds=1, complete=True)
    found = build_report(run, Capabilities("x", "1"), results).declared_refusals
    assert found == DeclaredRefusals(total=2, features={"columnMapping": 1})


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("not found: {root}/deltaspec-ab_1cd34/tmpr4upwr34/table/x.parquet", "not found: …/table/x.parquet"),
        ("file://{root}/deltaspec-ab_1cd34/tmpr4upwr34/table\nin {root}/deltaspec-xyz_1234", "file://…/table\nin …"),
        ("'{root}/deltaspec-ab_1cd34', {{{root}/deltaspec-candidate-ab_1cd34/work-ab_1cd34/x", "'…', {{…/x"),
        ("{root}/deltaspec-ab_1cd34.txt, {root}/other/table, /var{root}/deltaspec-ab_1cd34",) * 2,
    ],
)
def test_messages_do_not_name_temporary_directories(message: str, shown: str) -> None:
    root = tempfile.gettempdir()
    assert hide_temporary_directories(message.format(root=root)) == shown.format(root=root)
