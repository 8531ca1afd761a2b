"""`describe_table`: the state of a table at a version, from the same replay that validation uses."""

from collections.abc import Callable

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.features.table_features import get_feature
from deltaspec.protocol.features.table_properties import find_active_features
from deltaspec.protocol.log.file_names import ChecksumName, CommitName, CompactionName, parse_log_file_name
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint
from deltaspec.protocol.log.segment import find_readable_ranges
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import render_tree
from deltaspec.report.description import FeatureState, LogFiles, TableDescription
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import replay_log
from deltaspec.validation.instants import AtArgument, parse_at
from deltaspec.validation.log.catalog import describe_unasked_catalog, open_catalog
from deltaspec.validation.log.concurrent_writes import load_pinned_listing
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.staged_files import list_unpublished
from deltaspec.validation.log.version_at import resolve_at
from deltaspec.validation.options import Options
from deltaspec.validation.plan import EmptiedLog, Plan, build_plan
from deltaspec.validation.progress import ignore_progress
from deltaspec.validation.unity_tables import resolve_table
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.wire.catalog.names import is_catalog_table
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.ratified_store import RatifiedStore
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_HINT_BYTES = 64 << 20
MAX_UNREAD = 16
"""Checkpoints to leave out before giving up."""


def describe_table(
    uri: str,
    *,
    at: AtArgument = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    catalog: str | None = None,
) -> TableDescription:
    """Describe the state of a table.

    Args:
        uri: path or URI of the table's root, or its name in a catalog.
        at: the version, or a time with a time zone; None for the latest version.
        progress: as in `deltaspec.validate`.
        catalog: address of the catalog that knows the name.

    Raises:
        InvalidUsage: the table has no such version, or the name or the address of the catalog is not valid.
        TableUnreadable: there is no table, or its log cannot be replayed.
    """
    replayed = replay_table(uri, at, progress, catalog=catalog)
    facts, live = replayed.facts, replayed.live
    store, plan, state = facts.store, facts.plan, facts.state
    rows = live["num_records"]
    deleted = int(live["cardinality"].sum())
    protocol, metadata = state.protocol, state.metadata
    schema = state.schema if isinstance(state.schema, Struct) else None
    active = find_active_features(protocol, metadata, schema) if protocol and metadata and schema else None
    is_managed = bool(state.supports(FEATURE))
    log = _list_log_files(store, replayed.whole_log, catalog_managed=is_managed)
    readable = find_readable_ranges(plan.entries)
    return TableDescription(
        table=uri if is_catalog_table(uri) else store.uri,
        version=plan.version,
        earliest_version=readable[0][0] if readable else None,
        latest_version=readable[-1][1] if readable else None,
        readable_versions=readable,
        min_reader_version=protocol.min_reader_version if protocol else None,
        min_writer_version=protocol.min_writer_version if protocol else None,
        features=[_describe_feature(name, active) for name in sorted(state.supported or ())],
        id=metadata.id if metadata else None,
        name=metadata.name if metadata else None,
        schema_tree=render_tree(schema or Struct(())),
        partition_columns=metadata.partition_columns if metadata else [],
        configuration=dict(sorted(metadata.configuration.items())) if metadata else {},
        files=len(live),
        bytes=int(live["size"].sum()),
        records=None if rows.null_count() else int(rows.sum()) - deleted,
        files_with_deletion_vector=len(live) - live["deletion_vector_id"].null_count(),
        deleted_records=deleted,
        tombstones=len(find_live_files(replayed.intervals, plan.version, "remove")),
        domains={name: each.configuration for name, each in sorted(state.domains.items())},
        transactions={app: each.version for app, each in sorted(state.transactions.items())},
        log=log,
        catalog=describe_unasked_catalog(plan.entries) if is_managed and not isinstance(store, RatifiedStore) else None,
        unread_checkpoints=replayed.unread_checkpoints,
    )


class Replayed(msgspec.Struct, frozen=True):
    """A replayed log."""

    facts: LogFacts
    live: pl.DataFrame
    """Live files, with the columns of replay."""
    intervals: pl.DataFrame
    """File actions with the versions in which they are valid."""
    whole_log: Plan
    """The plan that does not leave out a checkpoint."""
    unread_checkpoints: dict[str, str]
    """Checkpoints that cannot be read, newest first, with the reason; the log was replayed without them."""


def replay_table(
    uri: str,
    at: AtArgument,
    progress: Callable[[str, int, int | None], None] | None,
    storage: StorageSettings = ENVIRONMENT,
    *,
    compares_files: bool = False,
    buckets_type: type[LocalBuckets] = LocalBuckets,
    catalog: str | None = None,
    options: Options | None = None,
) -> Replayed:
    """Replay the log without evaluating rules, from the newest checkpoint that can be read.

    Args:
        uri: path or URI of the table's root, or its name in a catalog.
        at: the version, or a time with a time zone; None for the latest version.
        progress: as in `deltaspec.validate`.
        storage: settings of storage clients.
        compares_files: whether live files have the columns that are compared with derived files.
        buckets_type: receives the file actions.
        catalog: address of the catalog that knows the name.
        options: their level decides which columns live files have; None for level `log`.

    Raises:
        InvalidUsage: the table has no such version.
        TableUnreadable: there is no table, or its log cannot be replayed.
    """
    ratified = None
    if is_catalog_table(uri):
        found = resolve_table(uri, catalog, storage)
        uri, storage, ratified = found.location, found.storage, found.catalog
    store = open_store(uri, storage)
    listed, unread = load_pinned_listing(store), dict[str, str]()
    store = open_catalog(store, ratified)
    listed = store.select(listed) if isinstance(store, RatifiedStore) else listed
    version, _ = resolve_at(store, listed, parse_at(at))
    plan = whole_log = build_plan(store.uri, listed, at=version, history="snapshot")
    while True:
        if plan.missing:
            problem = next(iter(unread.values()), f"commit {plan.missing[0]} is missing")
            raise TableUnreadable(f"{store.uri}: {problem}; run `deltaspec validate` to see what else is wrong")
        context = build_read_context(store, plan, options or Options.create(level="log"))
        context = replace(context, compares_files=compares_files or context.compares_files)
        facts, intervals = replay_log(context, buckets_type(rows_in_memory=None), progress or ignore_progress)
        reason = facts.replay_blocked_reason
        if reason is None:
            return Replayed(facts, find_live_files(intervals, plan.version), intervals, whole_log, unread)
        if plan.base is None or len(unread) == MAX_UNREAD or _is_commit(facts.replay_blocked_file):
            raise TableUnreadable(f"{store.uri}: {reason}; run `deltaspec validate` to see where")
        unread[plan.base.files[0]] = reason
        listed = [entry for entry in listed if entry.name not in plan.base.files]
        try:
            plan = build_plan(store.uri, listed, at=version, history="snapshot")
        except (EmptiedLog, InvalidUsage) as fault:  # no other checkpoint leads to the version
            raise TableUnreadable(f"{store.uri}: {reason}; run `deltaspec validate` to see where") from fault


def _is_commit(file: str | None) -> bool:
    return isinstance(parse_log_file_name((file or "").removeprefix(f"{LOG_DIRECTORY}/")), CommitName)


def _describe_feature(name: str, active: set[str] | None) -> FeatureState:
    known = get_feature(name) is not None
    return FeatureState(name=name, known=known, active=name in active if known and active is not None else None)


def _list_log_files(store: Store, plan: Plan, *, catalog_managed: bool) -> LogFiles:
    names = [parse_log_file_name(name) for name in plan.entries]
    return LogFiles(
        commits=sorted(name.version for name in names if isinstance(name, CommitName)),
        checkpoints=[(each.version, each.naming) for each in plan.all_checkpoints],
        compactions=sorted((name.start, name.end) for name in names if isinstance(name, CompactionName)),
        checksums=sorted(name.version for name in names if isinstance(name, ChecksumName)),
        hint=_read_hint_version(store) if plan.has_hint else None,
        staged=sorted({version for _, version in list_unpublished(plan.entries)}) if catalog_managed else [],
    )


def _read_hint_version(store: Store) -> int | None:
    try:
        return msgspec.json.decode(
            store.read(f"{LOG_DIRECTORY}/_last_checkpoint", _HINT_BYTES), type=LastCheckpoint
        ).version
    except (StorageError, msgspec.DecodeError, RecursionError, ValueError):
        return None
