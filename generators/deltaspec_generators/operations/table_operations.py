"""Operations that change properties, features, transactions and domains."""

from msgspec.structs import replace

from deltaspec_generators.operations.registry import can_change_metadata, operation
from deltaspec_generators.table_files import txn_action
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.builder import DataTableBuilder, TableBuilder
from deltaspec_generators.tables.features import (
    CHANGE_FEED,
    build_domain,
    build_properties,
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
    add_transaction(builder)
    if builder.choices.chance(1, 2):
        builder.writer.draw_new_file()


def add_transaction(builder: TableBuilder) -> None:
    """Record a transaction of an application in the current commit."""
    name = builder.choices.pick(("app", "é/app 1", "app"))
    before = builder.state.transactions.get(name, {}).get("version", -1)
    more = {"lastUpdated": builder.timestamp_ms} if builder.choices.chance(1, 2) else {}
    builder.actions.append(txn_action(name, before + builder.choices.pick((1, 10, 2**40)), **more))


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
    builder.support_features([name])
    enablement = builder.build_enablement(builder.timestamp_ms) if name == "inCommitTimestamp" else {}
    builder.write_properties(build_properties(name) | enablement)
    if name == "rowTracking":
        _assign_row_ids(builder)


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
    builder.toggle(CHANGE_FEED)
