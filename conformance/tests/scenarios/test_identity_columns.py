"""A table of tickets over several versions: the values and marks of its two identity columns.

`number` goes up from 100 by 10, and users may not give it. `rank` goes down from -1 by 1, and they may.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from helpers.scenario import Scenario, add, commit_info, field, metadata, protocol, remove, schema
from msgspec.structs import replace

from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.features.identity_values import allows_explicit_values, find_value_faults, generate_values
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.features.identity_columns import (
    Identity,
    find_changed_properties,
    is_illegal_high_water_mark,
    read_identity,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema

NUMBER = Identity(start=100, step=10, explicit=False)
RANK = Identity(start=-1, step=-1, explicit=True)


def tickets(number: Identity = NUMBER, rank: Identity = RANK) -> Any:
    """Build metadata with two identity columns."""
    return metadata(schema=schema(column("number", number), column("rank", rank), field("text", "string")))


def column(name: str, identity: Identity) -> dict[str, Any]:
    properties = {
        "delta__identity__start": identity.start,
        "delta__identity__step": identity.step,
        "delta__identity__highWaterMark": identity.high_water_mark,
        "delta__identity__allowExplicitInsert": identity.explicit,
    }
    return field(name, **{key: value for key, value in properties.items() if value is not None})


def identities(snapshot: Snapshot) -> tuple[Identity, Identity]:
    assert snapshot.metadata is not None
    number, rank, _ = (read_identity(each.metadata) for each in parse_schema(snapshot.metadata.schema_string).fields)
    assert number is not None
    assert rank is not None
    return number, rank


@dataclass
class Tickets:
    """The log together with the values of each version."""

    scenario: Scenario
    numbers: list[list[int]]
    ranks: list[list[int]]

    def write(self, count: int, ranks: list[int] | None = None, *more: Any, skip: int = 0, deleted: int = 0) -> None:
        """Insert rows, and delete the last that are there.

        `ranks` are given by the user, or generated. `skip` numbers are left out.
        """
        number, rank = identities(self.scenario.now)
        numbers = generate_values(number, count + skip)
        assert not isinstance(numbers, Refused)
        numbers = numbers[skip:]
        assert find_value_faults(number, self.numbers[-1], numbers) == []
        number = replace(number, high_water_mark=numbers[-1])
        new = ranks
        if new is None:
            generated = generate_values(rank, count)
            assert not isinstance(generated, Refused)
            rank, new = replace(rank, high_water_mark=generated[-1]), generated
        else:
            assert allows_explicit_values(rank) == Accepted()
        left = len(self.numbers[-1]) - deleted
        columns = [*self.numbers[-1][:left], *numbers], [*self.ranks[-1][:left], *new]
        self.commit(*columns, tickets(number, rank), *more)

    def commit(self, numbers: list[int], ranks: list[int], *actions: Any) -> None:
        self.scenario.commit(*actions, add(f"file-{self.scenario.version + 1}"))
        self.numbers.append(numbers)
        self.ranks.append(ranks)


@pytest.fixture(scope="module", params=list(Revision))
def table(request: pytest.FixtureRequest) -> Tickets:
    # 0: the columns are created without rows
    scenario = Scenario(protocol(1, 6), tickets(), revision=request.param)
    found = Tickets(scenario, [[]], [[]])
    # 1: three rows, all values generated
    found.write(3)
    # 2: users insert explicit ranks; the mark stays at the last generated value
    found.write(2, [7, -2])
    # 3: two concurrent writers, one of which uses every other number
    found.write(1, skip=2)
    # 4: a merge updates a row, deletes the last, and inserts one
    found.write(1, None, remove("file-3"), deleted=1)
    # 5: an optimization moves rows, and no value
    found.commit(
        found.numbers[-1], found.ranks[-1], remove("file-1", data_change=False), remove("file-2", data_change=False)
    )
    # 6: the owner moves the mark of `rank` to the explicit values
    number, rank = identities(scenario.now)
    found.commit(found.numbers[-1], found.ranks[-1], tickets(number, replace(rank, high_water_mark=-5)))
    # 7
    found.write(1)
    # 8: rows are restored to version 2; the marks stay
    marks = identities(scenario.now)
    found.commit(found.numbers[2], found.ranks[2], commit_info(operation="RESTORE"), tickets(*marks))
    # 9
    found.write(1)
    return found


@pytest.mark.parametrize(
    ("version", "number_mark", "rank_mark", "numbers"),
    [
        (0, None, None, []),
        (1, 120, -3, [100, 110, 120]),
        (2, 140, -3, [100, 110, 120, 130, 140]),
        (3, 170, -4, [100, 110, 120, 130, 140, 170]),
        (4, 180, -5, [100, 110, 120, 130, 140, 180]),
        (5, 180, -5, [100, 110, 120, 130, 140, 180]),
        (6, 180, -5, [100, 110, 120, 130, 140, 180]),
        (7, 190, -6, [100, 110, 120, 130, 140, 180, 190]),
        (8, 190, -6, [100, 110, 120, 130, 140]),
        (9, 200, -7, [100, 110, 120, 130, 140, 200]),
    ],
)
def test_marks_and_numbers_of_each_version(
    table: Tickets, version: int, number_mark: int | None, rank_mark: int | None, numbers: list[int]
) -> None:
    number, rank = identities(table.scenario[version])
    assert (number.high_water_mark, rank.high_water_mark) == (number_mark, rank_mark)
    assert table.numbers[version] == numbers


def test_explicit_ranks_may_repeat(table: Tickets) -> None:
    """-2 was generated and later inserted by a user; 7 is not in the sequence."""
    assert table.ranks[9] == [-1, -2, -3, 7, -2, -7]


def test_marks_never_move_back_and_other_properties_stay(table: Tickets) -> None:
    for version in range(1, 10):
        for before, after in zip(
            identities(table.scenario[version - 1]), identities(table.scenario[version]), strict=True
        ):
            assert not is_illegal_high_water_mark(before, after), f"{version=}"
            assert find_changed_properties(before, after) == [], f"{version=}"


def test_restore_that_resets_the_mark_repeats_numbers() -> None:
    """The commit is accepted: advancing the mark is only a SHOULD."""
    scenario = Scenario(protocol(1, 6), tickets())
    scenario.commit(tickets(replace(NUMBER, high_water_mark=120)), add("a"))
    scenario.commit(tickets(replace(NUMBER, high_water_mark=150)), add("b"))
    scenario.commit(commit_info(operation="RESTORE"), tickets(replace(NUMBER, high_water_mark=120)), remove("b"))
    number, _ = identities(scenario.now)
    assert is_illegal_high_water_mark(identities(scenario[2])[0], number)
    assert generate_values(number, 2) == [130, 140]


def test_faults_of_a_careless_writer() -> None:
    number = replace(NUMBER, high_water_mark=140)
    stored = [100, 110, 140]
    assert find_value_faults(number, stored, [150, 160]) == []
    assert find_value_faults(number, stored, [110]) == [(110, "identity-columns.unique")]
    assert find_value_faults(number, stored, [155]) == [(155, "identity-columns.sequence")]
    assert find_value_faults(number, stored, [90]) == [(90, "identity-columns.sequence")]
    assert find_value_faults(number, stored, [130]) == [(130, "identity-columns.beyond-mark")]


def test_users_may_insert_ranks_but_not_numbers() -> None:
    assert allows_explicit_values(RANK) == Accepted()
    answer = allows_explicit_values(NUMBER)
    assert isinstance(answer, Refused)
    assert answer.requirement == "identity-columns.explicit-values"


def test_numbers_at_the_limit_of_long() -> None:
    nearly = replace(NUMBER, high_water_mark=2**63 - 28)
    assert generate_values(nearly, 2) == [2**63 - 18, 2**63 - 8]
    answer = generate_values(nearly, 3)
    assert isinstance(answer, Refused)
    assert answer.requirement == "identity-columns.overflow"


def test_step_0_is_refused() -> None:
    scenario = Scenario(protocol(1, 6), tickets())
    assert scenario.expect_refusal(tickets(replace(NUMBER, step=0))) == "identity-columns.properties"


def test_identity_properties_without_the_feature_are_ignored() -> None:
    """Versions before 6 do not support identity columns, so their metadata has no effect."""
    Scenario(protocol(2, 5), tickets(replace(NUMBER, step=0)))
