"""Operations of logs on constraints and defaults.

The rows of tables with data are not drawn to satisfy constraints.
"""

from msgspec.structs import replace

from deltaspec.protocol.property_names import CONSTRAINT_PREFIX
from deltaspec_generators.operations.registry import SEEDS_KEEP_TABLES, can_change_metadata, operation
from deltaspec_generators.schemas.column_features import (
    DEFAULT,
    can_have_default,
    list_conditions,
    list_defaults,
    with_metadata,
)
from deltaspec_generators.tables.log_builder import LogBuilder


@operation(
    lambda builder: can_change_metadata(builder) and "checkConstraints" in builder.features,
    log_only="rows with data are not drawn to satisfy constraints",
    weight=6,
)
def change_constraint(builder: LogBuilder) -> None:
    """Add or drop a constraint that all rows satisfy."""
    named = sorted(name for name in builder.configuration if name.startswith(CONSTRAINT_PREFIX))
    if named and builder.choices.chance(1, 2):
        builder.write_properties({builder.choices.pick(named): None})
    else:
        name = builder.choices.pick(("first", "second", "odd name"))
        condition = builder.choices.pick(list_conditions(builder.spec.positive))
        builder.write_properties({CONSTRAINT_PREFIX + name: condition})


def _can_change_default(builder: LogBuilder) -> bool:
    return (
        can_change_metadata(builder)
        and "allowColumnDefaults" in builder.features
        and any(map(can_have_default, builder.schema.fields))
    )


@operation(_can_change_default, log_only=SEEDS_KEEP_TABLES, weight=12)
def change_default(builder: LogBuilder) -> None:
    """Add, change or drop the default of an existing column."""
    plain = [each for each in builder.schema.fields if can_have_default(each)]
    column = builder.choices.pick([each for each in plain if DEFAULT in each.metadata] * 3 + plain)
    before = column.metadata.get(DEFAULT)
    chosen = builder.choices.pick([each for each in (*list_defaults(column.type), None) if each != before])
    if chosen is None:
        new = replace(column, metadata={name: each for name, each in column.metadata.items() if name != DEFAULT})
    else:
        new = with_metadata(column, {DEFAULT: chosen})
    builder.replace_field(column.name, new)
    builder.actions.append(builder.metadata_action())
