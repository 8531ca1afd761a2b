"""What writers have to enforce or generate: constraints, generated and identity columns, columns that are not null."""

from known_bugs.registry import known_bug

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles, protocol_action


@known_bug("wr-005", SCH003=1)
def identity_mark_moved_below_its_start(right: bool) -> TableFiles:
    """A merge that only updates moves the high-water mark of an identity column from 100 by 2 below its start."""
    return _identity(100 if right else 98)


@known_bug("wr-005", SCH003=1)
def identity_mark_moved_to_a_value_of_the_user(right: bool) -> TableFiles:
    """The mark follows a value that a user inserted and that the sequence does not have."""
    return _identity(104 if right else 10_001)


def _identity(mark: int) -> TableFiles:
    properties = {"start": 100, "step": 2, "allowExplicitInsert": True, "highWaterMark": mark}
    metadata = {f"delta.identity.{name}": value for name, value in properties.items()}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": metadata}
    return bases.plain(protocol=protocol_action(1, 6), fields=[field, ("name", "string")])
