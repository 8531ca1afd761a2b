"""Conversions, clones, columns of rows, replaced partitions, defaults and clusters: each fault is caught."""

from pathlib import Path

import msgspec
import pytest
from suites.faulty_writers import build_engine

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Operation, Writer
from deltaspec.differential.performing import compare_history
from deltaspec.protocol.actions import Add
from deltaspec.suites.write_history import perform_history
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.histories.drawing import Offer, draw_history
from deltaspec_generators.histories.purposes import RARE_OPERATIONS
from deltaspec_generators.histories.written import WRITTEN_HISTORIES


class _ChangesAdds(Writer):
    """Changes the add actions of a conversion or a clone."""

    def convert(self, transaction: Transaction, operation: Operation) -> None:
        super().convert(transaction, operation)
        self._change(transaction)

    def clone(self, transaction: Transaction, operation: Operation) -> None:
        super().clone(transaction, operation)
        self._change(transaction)

    def _change(self, transaction: Transaction) -> None:
        transaction.actions = [self.change(each) if isinstance(each, Add) else each for each in transaction.actions]

    def change(self, add: Add) -> Add:
        raise NotImplementedError


class _ConvertsWithoutNulls(_ChangesAdds):
    def change(self, add: Add) -> Add:
        values = {name: text or "__HIVE_DEFAULT_PARTITION__" for name, text in add.partition_values.items()}
        return msgspec.structs.replace(add, partition_values=values)


class _ClonesWithoutVectors(_ChangesAdds):
    def change(self, add: Add) -> Add:
        return msgspec.structs.replace(add, deletion_vector=None)


class _ClonesWithRelativePaths(_ChangesAdds):
    def change(self, add: Add) -> Add:
        return msgspec.structs.replace(add, path=add.path.rpartition("/")[2])


class _EvolvesWithoutRows(Writer):
    def append_with_evolution(self, transaction: Transaction, operation: Operation) -> None:
        self.add_columns_of_rows(transaction, operation)


class _OverwritesEveryPartition(Writer):
    def overwrite_partitions(self, transaction: Transaction, operation: Operation) -> None:
        self.overwrite(transaction, operation)


class _KeepsDefaults(Writer):
    def set_default(self, transaction: Transaction, operation: Operation) -> None:
        if operation.get("sql") is not None:
            super().set_default(transaction, operation)


class _ClustersByOneColumn(Writer):
    def cluster_by(self, transaction: Transaction, operation: Operation) -> None:
        super().cluster_by(transaction, {**operation, "columns": list(operation.get("columns") or ())[:1]})


FAULTS: tuple[tuple[type[Writer], str, int, str], ...] = (
    (_ConvertsWithoutNulls, "converted-table", 1, "rows"),
    (_ClonesWithoutVectors, "cloned-table", 4, "rows"),
    (_ClonesWithRelativePaths, "cloned-table", 4, "valid"),
    (_EvolvesWithoutRows, "columns-of-rows", 3, "rows"),
    (_OverwritesEveryPartition, "replaced-partitions", 4, "rows"),
    (_KeepsDefaults, "changed-defaults-and-clusters", 12, "state"),
    (_ClustersByOneColumn, "changed-defaults-and-clusters", 9, "state"),
)
"""Writer, written history, number of its steps up to the fault, and the aspect that shows it."""


@pytest.mark.slow("conformance/deltaspec/suites", "conformance/deltaspec/candidates")
@pytest.mark.parametrize(("kind", "name", "count", "aspect"), FAULTS, ids=lambda each: getattr(each, "__name__", each))
def test_fault_is_caught_and_the_reference_passes(
    tmp_path: Path, kind: type[Writer], name: str, count: int, aspect: str
) -> None:
    steps = WRITTEN_HISTORIES[name]()[:count]
    sound = perform_history(InProcess(Engine()), steps, tmp_path / "sound")
    assert sound.problems == {}
    assert len(sound.titles) == count
    assert aspect in perform_history(InProcess(build_engine(kind)), steps, tmp_path / "faulty").problems


@pytest.mark.parametrize("count", [4, 6])
def test_equal_writers_agree_on_a_clone(tmp_path: Path, count: int) -> None:
    steps = WRITTEN_HISTORIES["cloned-table"]()[:count]
    done = compare_history(InProcess(Engine()), InProcess(Engine()), steps, tmp_path, validates=False)
    assert done.differences == []
    assert done.counts["operations compared"] == count


@pytest.mark.slow("conformance/deltaspec/differential", "conformance/deltaspec/candidates")
@pytest.mark.parametrize("kind", [_ClonesWithoutVectors, _ClonesWithRelativePaths], ids=lambda each: each.__name__)
def test_faulty_clone_differs(tmp_path: Path, kind: type[Writer]) -> None:
    steps = WRITTEN_HISTORIES["cloned-table"]()[:4]
    second = InProcess(build_engine(kind))
    assert compare_history(InProcess(Engine()), second, steps, tmp_path, validates=False).differences


def test_rare_operations_are_drawn_only_on_request() -> None:
    capabilities = InProcess(Engine()).capabilities
    offer = Offer.of(capabilities.drawn_kinds, capabilities.writer_features)
    rare = {"convert", "clone", "append-with-evolution", "merge-with-evolution", "overwrite-partitions", "set-default",
            "cluster-by"}  # fmt: skip
    drawn = {each.kind for number in range(150) for each in draw_history(SeededChoices(2, number), offer)}
    asked = {each.kind for number in range(150) for each in
             draw_history(SeededChoices(2, number), offer, {RARE_OPERATIONS})}  # fmt: skip
    assert (drawn & rare, rare - asked) == (set(), set())
