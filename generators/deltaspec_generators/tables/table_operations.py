"""Operations that change properties, features, transactions and domains."""

from dataclasses import replace

from deltaspec.model.schema import column_mapping
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.table_files import domain_action, txn_action
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.operations import is_after_first_commit, operation
from deltaspec_generators.tables.row_operations import add_rows
from deltaspec_generators.tables.table_specs import PROPERTIES, build_protocol

IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"
CHANGE_FEED = "delta.enableChangeDataFeed"
CLUSTERING = "delta.clustering"
_ENABLED_LATER = ("deletionVectors", "changeDataFeed", "inCommitTimestamp", "rowTracking", "v2Checkpoint")


@operation(is_after_first_commit)
def describe(builder: DataTableBuilder) -> None:
    """Change the description of the table."""
    builder.description = f"described {builder.next_number()}"
    builder.actions.append(builder.metadata_action())


@operation(is_after_first_commit, extra="properties")
def write_transaction(builder: DataTableBuilder) -> None:
    """Record a transaction of an application, perhaps with new rows."""
    name = builder.choices.pick(("app", "é/app 1", "app"))
    before = builder.state.transactions.get(name, {}).get("version", -1)
    more = {"lastUpdated": builder.timestamp_ms} if builder.choices.chance(1, 2) else {}
    builder.actions.append(txn_action(name, before + builder.choices.pick((1, 10, 2**40)), **more))
    if builder.choices.chance(1, 2):
        add_rows(builder)


@operation(lambda builder: builder.version > 0 and "domainMetadata" in builder.features, extra="properties", weight=2)
def change_domain(builder: DataTableBuilder) -> None:
    """Set or remove a metadata domain of a user."""
    name = builder.choices.pick(("user.one", "é two"))
    if name in builder.state.domains and builder.choices.chance(2, 3):
        body = builder.state.domains[name]
        builder.actions.append(domain_action(name, body["configuration"], removed=True))
        builder.record("domain:removed")
    else:
        builder.actions.append(domain_action(name, encode_json({"number": builder.next_number()})))


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
    lambda builder: builder.version > 0 and bool(_list_features_to_enable(builder)), extra="properties", weight=3
)
def enable_feature(builder: DataTableBuilder) -> None:
    """Upgrade the protocol and enable a feature on an existing table."""
    name = builder.choices.pick(_list_features_to_enable(builder))
    builder.record(f"enabled-later:{name}")
    features = {*builder.state.features, *builder.features, name}
    builder.features = frozenset({*builder.features, name})
    builder.actions.append({"protocol": build_protocol(features, reader=builder.state.protocol["minReaderVersion"])})
    builder.configuration |= PROPERTIES.get(name, {})
    if name == "inCommitTimestamp":
        builder.configuration |= {
            "delta.inCommitTimestampEnablementVersion": str(builder.version),
            "delta.inCommitTimestampEnablementTimestamp": str(builder.timestamp_ms),
        }
    builder.actions.append(builder.metadata_action())
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


@operation(lambda builder: builder.version > 0 and "changeDataFeed" in builder.features, extra="properties")
def toggle_change_feed(builder: DataTableBuilder) -> None:
    """Disable the change data feed, or enable it again."""
    builder.configuration[CHANGE_FEED] = "false" if builder.is_enabled(CHANGE_FEED) else "true"
    builder.actions.append(builder.metadata_action())


def build_clustering_action(builder: DataTableBuilder) -> Body:
    """Build the domain that makes `id` the clustering column."""
    field = next(each for each in builder.schema.fields if each.name == "id")
    columns = [[column_mapping.physical_name(field, builder.mapping)]]
    return domain_action(CLUSTERING, encode_json({"clusteringColumns": columns, "domainName": CLUSTERING}))
