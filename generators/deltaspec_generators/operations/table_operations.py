"""Operations that change properties, features, transactions and domains."""

from collections.abc import Collection

from msgspec.structs import replace

from deltaspec.model.property_names import IN_COMMIT_TIMESTAMPS_SINCE_TIME, IN_COMMIT_TIMESTAMPS_SINCE_VERSION
from deltaspec_generators.operations.registry import can_change_metadata, operation
from deltaspec_generators.table_files import txn_action
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.builder import DataTableBuilder, TableBuilder
from deltaspec_generators.tables.features import (
    CHANGE_FEED,
    IN_COMMIT_TIMESTAMPS,
    build_domain,
    build_properties,
    build_protocol,
)

_ENABLED_LATER = ("deletionVectors", "changeDataFeed", "inCommitTimestamp", "rowTracking", "v2Checkpoint")


@operation(can_change_metadata)
def describe(builder: TableBuilder) -> None:
    """Change the description of the table."""
    builder.description = f"described {builder.next_number()}"
    builder.actions.append(builder.metadata_action())


@operation(lambda builder: builder.version > 0 and "txn" not in builder.action_kinds, extra="properties", log_weight=3)
def write_transaction(builder: TableBuilder) -> None:
    """Record a transaction of an application, perhaps with new rows."""
    name = builder.choices.pick(("app", "é/app 1", "app"))
    before = builder.state.transactions.get(name, {}).get("version", -1)
    more = {"lastUpdated": builder.timestamp_ms} if builder.choices.chance(1, 2) else {}
    builder.actions.append(txn_action(name, before + builder.choices.pick((1, 10, 2**40)), **more))
    if builder.choices.chance(1, 2):
        builder.writer.draw_new_file()


def can_set_domain(builder: TableBuilder) -> bool:
    """Return whether the current commit may set a domain."""
    return "domainMetadata" in builder.features and "domainMetadata" not in builder.action_kinds


@operation(lambda builder: builder.version > 0 and can_set_domain(builder), extra="properties", weight=2)
def change_domain(builder: TableBuilder) -> None:
    """Set or remove a metadata domain of a user."""
    name = builder.choices.pick(("user.one", "é two"))
    if name in builder.state.domains and builder.choices.chance(2, 3):
        builder.actions.append({"domainMetadata": {**builder.state.domains[name], "removed": True}})
        builder.record("domain:removed")
    else:
        body = build_domain(builder.revision, name, {"number": builder.next_number()})
        builder.actions.append({"domainMetadata": body})


def _list_features_to_enable(builder: DataTableBuilder) -> list[str]:
    allowed = builder.options.features
    counted = all("stats" in stored.add for stored in builder.live.values())
    return [
        name
        for name in _ENABLED_LATER
        if name in allowed
        and name not in builder.features
        and (counted or name in ("inCommitTimestamp", "changeDataFeed"))
    ]


@operation(
    lambda builder: builder.version > 0 and bool(_list_features_to_enable(builder)),
    extra="properties",
    weight=3,
    data_only="logs support features first and enable them later",
)
def enable_feature(builder: DataTableBuilder) -> None:
    """Upgrade the protocol and enable a feature on an existing table."""
    name = builder.choices.pick(_list_features_to_enable(builder))
    builder.record(f"enabled-later:{name}")
    support_features(builder, [name])
    builder.configuration |= build_properties(name)
    if name == "inCommitTimestamp":
        record_enablement(builder, builder.timestamp_ms)
    builder.actions.append(builder.metadata_action())
    if name == "rowTracking":
        _assign_row_ids(builder)


def support_features(builder: TableBuilder, names: Collection[str]) -> None:
    """Upgrade the protocol to one that also supports these features."""
    reader = builder.state.protocol["minReaderVersion"]
    protocol = build_protocol({*builder.state.features, *builder.features, *names}, reader=reader)
    builder.features = frozenset({*builder.features, *names})
    builder.actions.append({"protocol": protocol})


def record_enablement(builder: TableBuilder, timestamp_ms: int) -> None:
    """Enable in-commit timestamps in the current commit, which has this timestamp."""
    builder.configuration |= {
        IN_COMMIT_TIMESTAMPS: "true",
        IN_COMMIT_TIMESTAMPS_SINCE_VERSION: str(builder.version),
        IN_COMMIT_TIMESTAMPS_SINCE_TIME: str(timestamp_ms),
    }


def _assign_row_ids(builder: DataTableBuilder) -> None:
    """Add every live file again with fresh row ids."""
    for path, stored in builder.live.items():
        base = builder.high_water_mark + 1
        builder.high_water_mark += len(stored.rows)
        add: Body = {
            **stored.add,
            "dataChange": False,
            "baseRowId": base,
            "defaultRowCommitVersion": builder.version,
        }
        builder.live[path] = replace(
            stored,
            add=add,
            row_ids=list(range(base, base + len(stored.rows))),
            row_commit_versions=[builder.version] * len(stored.rows),
        )
        builder.actions.append({"add": add})


@operation(
    lambda builder: can_change_metadata(builder) and "changeDataFeed" in builder.features,
    extra="properties",
    log_weight=3,
)
def toggle_change_feed(builder: TableBuilder) -> None:
    """Disable the change data feed, or enable it again."""
    builder.configuration[CHANGE_FEED] = "false" if builder.is_enabled(CHANGE_FEED) else "true"
    builder.actions.append(builder.metadata_action())
