"""Actions of the transaction log with all their fields. Source: chapter Actions, all revisions.

Class names are the wire names; field names are the wire names in snake case. A field that the protocol calls optional
defaults to None, and JSON null equals absence. Unknown fields and unknown actions are ignored, as the protocol
requires. Integers have the bounds of the protocol's `int` (32 bits) and `long` (64 bits).
"""

import json
from collections.abc import Collection
from typing import Annotated, Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Meta, convert, defstruct, to_builtins
from msgspec.structs import fields, replace

from deltaspec.protocol.revisions import Revision

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
PartitionValues: TypeAlias = dict[str, str | None]
"""Physical column name to serialized value; None and the empty string both mean SQL NULL."""
Tags: TypeAlias = dict[str, str | None]


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base class of every JSON structure in the log: camelCase on the wire, None is omitted."""


class Format(WireStruct, frozen=True):
    """Encoding of a table's data files. Source: Change Metadata, Format Specification."""

    provider: str
    options: dict[str, str]


class MetaData(WireStruct, frozen=True):
    """A table's identity, schema and configuration. Source: Change Metadata."""

    id: str
    format: Format
    schema_string: str
    partition_columns: list[str]
    configuration: dict[str, str]
    name: str | None = None
    description: str | None = None
    created_time: Int64 | None = None
    """Milliseconds since the epoch."""


class Protocol(WireStruct, frozen=True):
    """Versions and features a client needs. Source: Protocol Evolution."""

    min_reader_version: Int32
    min_writer_version: Int32
    reader_features: list[str] | None = None
    """Exists only with reader version 3."""
    writer_features: list[str] | None = None
    """Exists only with writer version 7."""


class DeletionVectorDescriptor(WireStruct, frozen=True):
    """Where the deleted row indexes of a data file are. Source: Deletion Vector Descriptor Schema."""

    storage_type: str
    """`u` (file named by a UUID), `i` (inline) or `p` (absolute path)."""
    path_or_inline_dv: str
    size_in_bytes: Int32
    cardinality: Int64
    offset: Int32 | None = None

    @property
    def unique_id(self) -> str:
        """Id that, together with the data file's path, identifies a logical file. Source: Derived Fields."""
        plain = self.storage_type + self.path_or_inline_dv
        return plain if self.offset is None else f"{plain}@{self.offset}"


class Add(WireStruct, frozen=True):
    """A logical file that belongs to the table from this version on. Source: Add File and Remove File."""

    path: str
    partition_values: PartitionValues
    size: Int64
    modification_time: Int64
    data_change: bool
    stats: str | None = None
    tags: Tags | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: Int64 | None = None
    default_row_commit_version: Int64 | None = None
    clustering_provider: str | None = None


class Remove(WireStruct, frozen=True):
    """A logical file that no longer belongs to the table. Source: Add File and Remove File."""

    path: str
    data_change: bool
    deletion_timestamp: Int64 | None = None
    extended_file_metadata: bool | None = None
    partition_values: PartitionValues | None = None
    size: Int64 | None = None
    stats: str | None = None
    tags: Tags | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: Int64 | None = None
    default_row_commit_version: Int64 | None = None


class Cdc(WireStruct, frozen=True):
    """A file of row changes of this version. Source: Add CDC File."""

    path: str
    partition_values: PartitionValues
    size: Int64
    data_change: bool
    tags: Tags | None = None


class Txn(WireStruct, frozen=True):
    """Progress marker of an application. Source: Transaction Identifiers."""

    app_id: str
    version: Int64
    last_updated: Int64 | None = None


class DomainMetadata(WireStruct, frozen=True):
    """Configuration of a named domain, or its tombstone. Source: Domain Metadata (a string since r3)."""

    domain: str
    configuration: str
    """A map, as older logs store it, becomes its JSON text."""
    removed: bool


class DomainMetadataMap(WireStruct, frozen=True):
    """Domain metadata as r1 and r2 define it: a map of strings, or the string of later revisions (E14).

    Source: Domain Metadata (r1, r2).
    """

    domain: str
    configuration: dict[str, str | None] | str
    removed: bool


class CommitInfo(WireStruct, frozen=True):
    """Provenance of a commit: any JSON. Only fields that the protocol gives a meaning are listed.

    `normalize_action` replaces a field whose type is not the protocol's by None, because only the features that need
    the field restrict its type.

    Source: Commit Provenance Information; In-Commit Timestamps; Catalog-managed tables.
    """

    in_commit_timestamp: Any = None
    """Milliseconds since the epoch, a 64-bit integer."""
    txn_id: Any = None
    """A string."""
    operation: Any = None
    engine_info: Any = None
    tags: Any = None
    timestamp: Any = None


class CheckpointMetadata(WireStruct, frozen=True):
    """First row of a checkpoint with V2 content. Source: Checkpoint Metadata (since r3)."""

    version: Int64
    tags: Tags | None = None


class Sidecar(WireStruct, frozen=True):
    """A file in `_sidecars` that holds file actions of a V2 checkpoint. Source: Sidecar File Information (since r3)."""

    path: str
    size_in_bytes: Int64
    modification_time: Int64
    tags: Tags | None = None


class RowIdHighWaterMark(WireStruct, frozen=True):
    """Largest row id assigned so far. Source: Increase Row ID High-water Mark (r1, r2 only)."""

    high_water_mark: Int64
    preserved_row_ids: bool | None = None
    """Required in r1, removed in r2."""


class RowIdHighWaterMarkR1(WireStruct, frozen=True):
    """High-water mark as r1 defines it; states whether row ids were preserved. Source: the same chapter (r1)."""

    high_water_mark: Int64
    preserved_row_ids: bool


class RowIdHighWaterMarkR2(WireStruct, frozen=True):
    """High-water mark as r2 defines it. Source: the same chapter (r2)."""

    high_water_mark: Int64


Action: TypeAlias = (
    MetaData
    | Protocol
    | Add
    | Remove
    | Cdc
    | Txn
    | DomainMetadata
    | CommitInfo
    | CheckpointMetadata
    | Sidecar
    | RowIdHighWaterMark
)

ACTION_TYPES: dict[str, type[WireStruct]] = {
    "commitInfo": CommitInfo,
    "protocol": Protocol,
    "metaData": MetaData,
    "add": Add,
    "remove": Remove,
    "cdc": Cdc,
    "txn": Txn,
    "domainMetadata": DomainMetadata,
    "checkpointMetadata": CheckpointMetadata,
    "sidecar": Sidecar,
}
"""Wire name of every action of the current revision."""

_DEFINED_SINCE: dict[tuple[str, str], Revision] = {
    ("add", "defaultRowCommitVersion"): Revision.R2,
    ("add", "clusteringProvider"): Revision.R3,
    ("remove", "defaultRowCommitVersion"): Revision.R2,
    ("remove", "stats"): Revision.R3,
}
"""First revision that defines a field, by wire names of action and field; r1 defines the others.

The fields of commitInfo are free-form in every revision.
"""
_ACTIONS_SINCE_R3 = ("checkpointMetadata", "sidecar")


_Kind = TypeVar("_Kind", bound=WireStruct)


def is_field_defined(action: str, field: str, revision: Revision) -> bool:
    """Return whether a revision defines a field, by wire names; readers ignore fields that it does not define."""
    return revision.since(_DEFINED_SINCE.get((action, field), Revision.R1))


def omit_fields(kind: type[_Kind], names: Collection[str]) -> type[_Kind]:
    """Return a class without the fields of these wire names: decoding ignores them, and they are None in any object."""
    omitted = {each.name for each in fields(kind) if each.encode_name in names}
    if not omitted:
        return kind
    remaining: list[Any] = [
        (each.name, each.type) if each.required else (each.name, each.type, each.default)
        for each in fields(kind)
        if each.name not in omitted
    ]
    smaller: Any = defstruct(
        kind.__name__,
        remaining,
        bases=(WireStruct,),
        module=__name__,
        namespace={"__doc__": kind.__doc__, **dict.fromkeys(omitted)},
        frozen=True,
        kw_only=True,
        rename="camel",
        omit_defaults=True,
    )
    return cast(type[_Kind], smaller)  # it has the same attributes


def _build_types(revision: Revision) -> dict[str, type[WireStruct]]:
    types = {
        name: omit_fields(
            kind, [each.encode_name for each in fields(kind) if not is_field_defined(name, each.encode_name, revision)]
        )
        for name, kind in ACTION_TYPES.items()
        if revision.since(Revision.R3) or name not in _ACTIONS_SINCE_R3
    }
    # [Changed in r3] no rowIdHighWaterMark; the configuration of a domain is a string
    match revision:
        case Revision.R1:
            types |= {"domainMetadata": DomainMetadataMap, "rowIdHighWaterMark": RowIdHighWaterMarkR1}
        case Revision.R2:
            types |= {"domainMetadata": DomainMetadataMap, "rowIdHighWaterMark": RowIdHighWaterMarkR2}
    return types


_TYPES = {revision: _build_types(revision) for revision in Revision}


def get_action_types(revision: Revision = Revision.CURRENT) -> dict[str, type[WireStruct]]:
    """Return the actions that a revision defines, as wire name to the class with the fields that it defines."""
    return _TYPES[revision]


_COMPLETE = {_TYPES[each][name]: ACTION_TYPES[name] for each in Revision for name in ("add", "remove")}
"""Class without the fields that a revision does not define to the complete one."""


def normalize_action(action: WireStruct) -> WireStruct:
    """Convert an action class of an older revision to the current one, and drop free-form values of commitInfo.

    Any other action is returned unchanged.
    """
    complete = _COMPLETE.get(type(action), type(action))
    if complete is not type(action):
        return convert(to_builtins(action), complete)
    match action:
        case DomainMetadataMap(domain=domain, configuration=configuration, removed=removed):
            if isinstance(configuration, dict):
                configuration = json.dumps(configuration, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            return DomainMetadata(domain=domain, configuration=configuration, removed=removed)
        case RowIdHighWaterMarkR1(high_water_mark=mark, preserved_row_ids=preserved):
            return RowIdHighWaterMark(high_water_mark=mark, preserved_row_ids=preserved)
        case RowIdHighWaterMarkR2(high_water_mark=mark):
            return RowIdHighWaterMark(high_water_mark=mark)
        case CommitInfo(in_commit_timestamp=timestamp, txn_id=txn_id):
            is_long = type(timestamp) is int and -(2**63) <= timestamp < 2**63
            if (timestamp is not None and not is_long) or not isinstance(txn_id, str | None):
                return replace(
                    action,
                    in_commit_timestamp=timestamp if is_long else None,
                    txn_id=txn_id if isinstance(txn_id, str) else None,
                )
    return action


WIRE_NAMES: dict[type[WireStruct], str] = {kind: name for name, kind in ACTION_TYPES.items()}
