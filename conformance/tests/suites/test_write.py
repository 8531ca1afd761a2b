"""Suite write: the reference writer passes, every faulty writer is caught, and failures can be replayed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from suites.faulty_writers import FAULTY_WRITERS, WritesWrongBounds, WritesWrongCardinality, build_engine

from deltaspec.candidates.host import Died
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Apply, ApplyAnswer
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.writer import Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.property_names import ROW_TRACKING
from deltaspec.requirements import load_requirements
from deltaspec.suites.cases import list_cases, run_case
from deltaspec.suites.checks import WRITE_SUITES
from deltaspec.suites.mixed_engines import MixedEngines
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.runner import SuitePlan, build_suite_plan, run_table
from deltaspec.suites.saved_histories import load_history, save_history
from deltaspec.suites.subjects import Corpus, build_history_subject
from deltaspec.suites.write_history import HistoryUnderTest, perform_history
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories import conditions
from deltaspec_generators.histories.drawing import RARE_DRAWERS, Offer, Step, draw_history
from deltaspec_generators.histories.kinds import AGE_LOG, CLUSTERED_BY_OTHERS
from deltaspec_generators.histories.plain_table import Column, Forbidden, PlainTable, perform
from deltaspec_generators.histories.purposes import list_purposes
from deltaspec_generators.histories.written import WRITTEN_HISTORIES

CAPABILITIES = InProcess(Engine()).capabilities
OFFER = Offer.of(CAPABILITIES.drawn_kinds, CAPABILITIES.writer_features)


def build_faulted_history() -> tuple[Step, ...]:
    """Return a history on which every fault of `FAULTY_WRITERS` shows."""
    properties = {"delta.enableDeletionVectors": "true", "delta.feature.domainMetadata": "supported"}
    table = PlainTable((Column("id", "long"), Column("must", "long", nullable=False)))
    tree = conditions.compare("id", "=", "long", 1)
    where = {"sql": conditions.render_sql(tree), "tree": tree}
    rows = [{"id": number, "must": number} for number in range(4)]
    return (
        Step({"kind": "create", "schema": table.render_schema(), "properties": properties}),
        Step({"kind": "append", "rows": rows}, {"domains": {"kit.a": "1"}}),
        Step({"kind": "delete", "where": where}),
        Step({"kind": "append", "rows": [{"id": 9, "must": None}]}),
    )


def perform_steps(engine: Engine, steps: tuple[Step, ...], directory: Path) -> dict[str, CaseResult]:
    candidate = InProcess(engine)
    subject = build_history_subject("history.0.0", HistoryUnderTest(0, 0, directory, steps))
    cases = list_cases(candidate.capabilities, [subject], WRITE_SUITES)
    return {each.check.name: run_case(candidate, each) for each in cases}


def test_reference_writer_passes(tmp_path: Path) -> None:
    plan = SuitePlan(Corpus(seed=11, tables=0, written=False, histories=2), WRITE_SUITES)
    candidate = InProcess(Engine())
    tables = [run_table(candidate, each, plan, tmp_path) for each in plan.corpus.list_ids()]
    results = [each for table in tables for each in table.results]
    assert [each.message for each in results if each.outcome.is_bad] == []
    assert {each.check for each in results if each.outcome is Outcome.PASSED} >= {"write.rows", "write.valid"}
    assert sum(each.counts.get("rows compared", 0) for each in results) > 10


def test_sound_writer_passes_the_history_of_the_faulty_ones(tmp_path: Path) -> None:
    results = perform_steps(Engine(), build_faulted_history(), tmp_path)
    assert {name: each.message for name, each in results.items() if each.outcome is not Outcome.PASSED} == {
        "write.changes": "no operation of the history is recorded in a change data feed",
        "write.row-ids": "the history does not enable row tracking",
        "write.timestamps": "the history does not enable in-commit timestamps",
        "write.cleanup": "no operation of the history deletes old files of the log",
        "write.clustering": "the history does not compact a table that another engine has clustered",
        "write.type-changes": "no operation of the history changes a type",
        "write.readers": "only one engine writes (--with names others)",
    }
    assert {each.outcome for each in results.values()} == {Outcome.PASSED, Outcome.NOT_ASKED}
    assert results["write.operations"].counts == {
        "operations": 4, "create: done": 1, "append: done": 1, "delete: done": 1, "append: refused": 1,
    }  # fmt: skip


@pytest.mark.parametrize("properties", [{}, {"delta.enableDeletionVectors": "true"}])
def test_reference_writer_divides_checkpoints_as_spark_does(tmp_path: Path, properties: dict[str, str]) -> None:
    table = PlainTable((Column("id", "long"),))
    tree = conditions.compare("id", ">=", "long", 4)
    steps = [Step({"kind": "create", "schema": table.render_schema(), "properties": properties})]
    steps += [Step({"kind": "append", "rows": [{"id": 2 * number}, {"id": 2 * number + 1}]}) for number in range(4)]
    steps += [Step({"kind": "delete", "where": {"sql": conditions.render_sql(tree), "tree": tree}})]
    steps += [Step({"kind": "checkpoint", "form": "multipart"}), Step({"kind": "append", "rows": [{"id": 99}]})]
    results = perform_steps(Engine(), tuple(steps), tmp_path)
    assert [each.message for each in results.values() if each.outcome.is_bad] == []
    assert results["write.operations"].counts["checkpoint: done"] == 1
    names = sorted(each.name for each in (tmp_path / "table/_delta_log").glob("*.checkpoint.*.parquet"))
    assert names == [f"{5:020d}.checkpoint.{part:010d}.{2:010d}.parquet" for part in (1, 2)]
    assert '"parts":2' in (tmp_path / "table/_delta_log/_last_checkpoint").read_text("utf-8")


class _SecondEngine(Engine):
    """Loses a row of tables with deleted rows when it reads them."""

    def hello(self) -> dict[str, Any]:
        return {**super().hello(), "name": "second"}

    def scan(self, table: str, **request: Any) -> dict[str, Any]:
        found = super().scan(table, **request)
        is_short = found["rows"].num_rows == 3
        return {**found, "rows": found["rows"].slice(1), "num_rows": 2} if is_short else found


def test_violation_after_another_one_is_counted_with_its_writer(tmp_path: Path) -> None:
    class Both(WritesWrongCardinality):
        def change(self, action: Any) -> list[Any]:
            (changed,) = super().change(action)
            return WritesWrongBounds.change(self, changed)

    result = perform_steps(build_engine(Both), build_faulted_history(), tmp_path)["write.valid"]
    assert result.message.startswith("append: violates ")
    found = [name.partition(" violates ")[0] for name in result.counts if " violates " in name]
    assert set(found) == {"append by deltaspec reference", "delete by deltaspec reference"}


def test_engines_write_in_turn_and_read_each_other(tmp_path: Path) -> None:
    mixed = MixedEngines([InProcess(Engine()), InProcess(_SecondEngine())])
    subject = build_history_subject("history.0.0", HistoryUnderTest(0, 0, tmp_path, build_faulted_history()))
    (case,) = [each for each in list_cases(CAPABILITIES, [subject], WRITE_SUITES) if each.check.name == "write.readers"]
    result = run_case(mixed, case)
    first, used = "deltaspec reference", "deletionVectors"
    assert {name: count for name, count in result.counts.items() if used in name} == {
        f"{first} > {first}: {used}: equal": 2,
        f"{first} > second: {used}: equal": 1,
        f"{first} > second: {used}: wrong rows": 1,
        f"second > {first}: {used}: equal": 1,
        f"second > second: {used}: equal": 1,
    }
    assert result.outcome is Outcome.FAILED
    assert "second cannot read what deltaspec reference wrote: wrong rows" in result.message
    assert result.message.splitlines()[1] == "operation 2: delete where `id` = 1  [deltaspec reference]"


def test_message_names_the_engine_that_died(tmp_path: Path) -> None:
    class Dying(InProcess):
        def apply(self, _: Apply) -> ApplyAnswer:
            raise Died("crash", "the engine ended with exit code 1")

    mixed = MixedEngines([InProcess(Engine()), Dying(_SecondEngine())])
    results = perform_history(mixed, build_faulted_history(), tmp_path)
    assert results.problems["operations"].message.endswith("\noperation 1: append 4 rows; with domains  [second]")


def test_declared_operation_that_is_refused_as_unsupported_is_no_pass(tmp_path: Path) -> None:
    def refuse(writer: Writer, *_: object, **__: object) -> None:
        raise EngineError("unsupported", "no deletes today", phase="commit")

    results = perform_steps(build_engine(type("_NoDelete", (Writer,), {"delete": refuse})), build_faulted_history(),
                            tmp_path)  # fmt: skip
    assert results["write.operations"].outcome is Outcome.NOT_ASKED
    assert results["write.operations"].message == "declared, but refused as unsupported: delete"
    assert results["write.operations"].counts["delete: not supported"] == 1


def test_table_that_cannot_be_created_counts_as_an_operation_that_is_not_supported(tmp_path: Path) -> None:
    def refuse(writer: Writer, *_: object, **__: object) -> None:
        raise EngineError("unsupported", "no tables today", phase="commit")

    results = perform_steps(build_engine(type("_NoCreate", (Writer,), {"create": refuse})), build_faulted_history(),
                            tmp_path)  # fmt: skip
    assert {each.outcome for each in results.values()} == {Outcome.NOT_ASKED}
    assert results["write.operations"].counts == {"operations": 1, "create: not supported": 1}


def test_kinds_that_are_not_declared_are_left_out(tmp_path: Path) -> None:
    class WithoutDelete(Engine):
        def hello(self) -> dict[str, Any]:
            return {**super().hello(), "kinds": ["create", "append"]}

    results = perform_steps(WithoutDelete(), build_faulted_history(), tmp_path)
    assert results["write.operations"].outcome is Outcome.PASSED
    assert results["write.operations"].counts == {
        "operations": 3, "create: done": 1, "append: done": 1, "append: refused": 1,
    }  # fmt: skip


def test_history_with_a_feature_that_is_not_declared_is_not_asked(tmp_path: Path) -> None:
    class WithoutVectors(Engine):
        def hello(self) -> dict[str, Any]:
            return {**super().hello(), "writer_features": ["domainMetadata", "invariants"]}

    results = perform_steps(WithoutVectors(), build_faulted_history(), tmp_path)
    assert {each.message for each in results.values()} == {"the candidate does not declare the feature deletionVectors"}


def test_suite_performs_the_written_histories_and_as_many_drawn_ones() -> None:
    ids = build_suite_plan(WRITE_SUITES, seed=1, tables=2).corpus.list_ids()
    assert ids == [*(f"history.{name}" for name in WRITTEN_HISTORIES), "history.1.0", "history.1.1"]


@pytest.mark.parametrize(("kind", "check"), FAULTY_WRITERS.items(), ids=lambda each: getattr(each, "__name__", each))
def test_faulty_writer_is_caught(tmp_path: Path, kind: type[Writer], check: str) -> None:
    results = perform_steps(build_engine(kind), build_faulted_history(), tmp_path)
    assert results[check].outcome is Outcome.FAILED, {name: each.message for name, each in results.items()}
    counts = results["write.operations"].counts
    assert any(name.endswith(": failed") for name in counts), counts
    assert "operation " in results[check].message


def test_same_seed_gives_the_same_history() -> None:
    first, second = (draw_history(SeededChoices(5, 3), OFFER) for _ in range(2))
    assert first == second
    assert draw_history(SeededChoices(5, 4), OFFER) != first


def test_twenty_of_sixty_histories_have_each_purpose() -> None:
    asked: Counter[str] = Counter()
    for number in range(60):
        purposes = list_purposes(number, OFFER.kinds, OFFER.features)
        steps = draw_history(SeededChoices(1, number), OFFER, purposes)
        kinds = [step.kind for step in steps]
        clusters = CLUSTERED_BY_OTHERS in kinds and "optimize" in kinds[kinds.index(CLUSTERED_BY_OTHERS) :]
        aged = AGE_LOG in kinds and "cleanup-log" in kinds[kinds.index(AGE_LOG) :]
        asked.update(
            {
                "clustering": clusters,
                "cleanup": aged,
                "type changes": "widen-column" in kinds,
                "row ids": steps[0].operation["properties"].get(ROW_TRACKING) == "true",
            }
        )
    assert {name for name, number in asked.items() if number < 20} == set(), asked


def test_purposes_follow_from_what_a_writer_offers() -> None:
    assert list_purposes(1, {"append"}, ()) == set()
    assert list_purposes(1, {"append", "cleanup-log", "checkpoint"}, ["rowTracking"]) == {"cleanup", "row ids"}
    assert list_purposes(2, {"append", "cleanup-log", "checkpoint"}, ["rowTracking"]) == {"cleanup"}


def test_histories_use_every_kind_and_forbidden_writes() -> None:
    histories = [
        draw_history(SeededChoices(1, number), OFFER, list_purposes(number, OFFER.kinds, OFFER.features))
        for number in range(300)
    ]
    kinds = {step.kind for steps in histories for step in steps}
    rare = {*RARE_DRAWERS, "convert"} - kinds  # drawn only on request, and in written histories
    # the suite of catalogs asks the first, a written history the second
    assert set(OFFER.kinds) - kinds == {"publish", "drop-feature", *rare}
    known = load_requirements()
    forbidden: set[str] = set()
    for steps in histories:
        past: list[PlainTable | None] = []
        for step in steps:
            found = perform(past[-1] if past else None, step.operation, step.commit, past)
            if isinstance(found, Forbidden):
                forbidden.add(found.requirement)
            past.append(past[-1] if isinstance(found, Forbidden) else found.table)
    assert forbidden <= set(known)
    assert len(forbidden) >= 6


def test_saved_history_is_short_and_fails_again(tmp_path: Path) -> None:
    (kind,) = [each for each in FAULTY_WRITERS if each.__name__ == "_LosesARow"]
    candidate = InProcess(build_engine(kind))
    plan = build_suite_plan(WRITE_SUITES, seed=1, tables=20)
    failed = next(
        each
        for identity in plan.corpus.list_ids()
        for each in run_table(candidate, identity, plan, tmp_path).results
        if each.check == "write.rows" and each.outcome is Outcome.FAILED
    )
    saved = save_history(candidate, failed, tmp_path / "saved")
    failure, subject = load_history(saved, tmp_path / "again")
    assert len(failure.result.history) == 2
    (case,) = [each for each in list_cases(candidate.capabilities, [subject], WRITE_SUITES)
               if each.check.name == "write.rows"]  # fmt: skip
    assert run_case(candidate, case).message == failure.result.message
