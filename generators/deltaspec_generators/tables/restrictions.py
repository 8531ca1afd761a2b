"""Restrictions of drawn tables: only tables of the features, types and layouts that somebody works on."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from deltaspec.protocol.features.table_features import FEATURES, get_known_features
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec_generators.choices import Choices
from deltaspec_generators.tables.corpus import draw_options, draw_table
from deltaspec_generators.tables.dimensions import NAMES as DIMENSION_NAMES
from deltaspec_generators.tables.earlier_forms import restate_row_tracking
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.table_specs import ALL_FEATURES, NAMES

CHECKPOINT_KINDS: tuple[str, ...] = (
    *("classic", "multipart", "classic-v2", "v2-parquet", "v2-json", "v2-sidecars"),
    *("parsed-statistics", "parsed-only"),
)
"""Kinds of checkpoints that a drawn table can be required to have; see `dimensions.NAMES`."""
_ATTEMPTS = 200
assert {*CHECKPOINT_KINDS} <= {*DIMENSION_NAMES["checkpoint"]}


class NoSuchTable(ValueError):
    """No drawn table meets the restrictions."""


class Restrictions(msgspec.Struct, frozen=True, kw_only=True):
    """What drawn tables have in common. The default restricts nothing."""

    required: tuple[str, ...] = ()
    """Features that the newest version of every table supports, a subset of `ALL_FEATURES`."""
    allowed: tuple[str, ...] | None = None
    """Further features that tables may support; None for all of `ALL_FEATURES`."""
    forbidden: tuple[str, ...] = ()
    """Features that no version of a table supports, even if another one needs them."""
    types: tuple[str, ...] | None = None
    """Types of columns: primitive types, `decimal`, `struct`, `array` and `map`; None for all. `long` always occurs."""
    depth: int | None = None
    """Maximum nesting depth of structs, arrays and maps; None for at most 3."""
    partitioned: bool | None = None
    """Whether tables are partitioned; None for both."""
    checkpoints: tuple[str, ...] = ()
    """Kinds of checkpoints, from `CHECKPOINT_KINDS`; every table has at least one of them. Empty for no restriction."""
    encodings: tuple[str, ...] = ()
    """Encodings, compressions and other properties of Parquet files, as `dimensions.NAMES` lists them below
    `encoding`, `compression` and `parquet`; every table has at least one of them. Empty for no restriction."""
    versions: tuple[int, int] | None = None
    """Minimum and maximum number of versions that can be read; None for no restriction."""
    revision: str = "current"
    """Revision that defines every feature of the tables."""

    @property
    def given(self) -> dict[str, Any]:
        """Fields that differ from their default, so that later fields do not change what names a restriction."""
        default = asdict(Restrictions())
        return {name: value for name, value in sorted(asdict(self).items()) if value != default[name]}

    def describe_fault(self) -> str:
        """Return what is wrong with the restrictions; empty if nothing is."""
        known = (
            ("feature", (*self.required, *(self.allowed or ()), *self.forbidden), ALL_FEATURES),
            ("type", self.types or (), LIST_TYPES),
            ("kind of checkpoint", self.checkpoints, CHECKPOINT_KINDS),
            ("encoding", self.encodings, LIST_ENCODINGS),
        )
        for what, given, names in known:
            unknown = [name for name in given if name not in names]
            if unknown:
                return f"unknown {what} {unknown[0]!r}; choose from {', '.join(names)}"
        contradicting = {*self.required} & {*self.forbidden}
        if contradicting:
            return f"{min(contradicting)} is both required and forbidden"
        if self.versions is not None and not 1 <= self.versions[0] <= self.versions[1]:
            return "the minimum number of versions is at least 1 and at most the maximum"
        undefined = [name for name in self.required if name not in list_drawn_features(self.revision)]
        return f"no table of revision {self.revision} is drawn with {undefined[0]}" if undefined else ""


LIST_TYPES = (*NAMES, "decimal", "struct", "array", "map")
"""Names of types that tables can be restricted to."""
LIST_ENCODINGS = tuple(name for kind in ("encoding", "compression", "parquet") for name in DIMENSION_NAMES[kind])
"""Properties of Parquet files that tables can be required to have."""


def draw_restricted_table(choices: Choices, restrictions: Restrictions, *, attempts: int = _ATTEMPTS) -> ReadableTable:
    """Draw a table that meets restrictions.

    Raises:
        NoSuchTable: `attempts` tables in a row do not meet them.
    """
    for _ in range(attempts):
        table = _draw_table(choices, restrictions)
        fault = next(_find_violations(table, restrictions), None)
        if fault is None:
            return restate_row_tracking(table) if restrictions.revision == "r2" else table
    raise NoSuchTable(f"{attempts} tables were drawn, and none meets the restrictions; the last {fault}")


def _draw_table(choices: Choices, restrictions: Restrictions) -> ReadableTable:
    """Draw a table with options that make it likely to meet the restrictions.

    Timestamps of partition values have a zone, so that every answer is defined.
    """
    known = list_drawn_features(restrictions.revision)
    allowed = {*(ALL_FEATURES if restrictions.allowed is None else restrictions.allowed)} - {*restrictions.forbidden}
    features = [name for name in ALL_FEATURES if name in {*allowed, *restrictions.required} and name in known]
    options = draw_options(choices, features)
    types = LIST_TYPES if restrictions.types is None else restrictions.types
    names = [name for name in options.names if name in types] or [name for name in NAMES if name in types]
    nested = {"struct", "array", "map"} & {*types}
    depth = min(options.depth, 3 if restrictions.depth is None else restrictions.depth) if nested else 0
    commits = options.max_commits
    if restrictions.versions is not None:
        low, high = restrictions.versions
        commits = max(low, min(commits, high)) - 1
    return draw_table(
        choices,
        replace(
            options,
            required=tuple(dict.fromkeys((*options.required, *restrictions.required))),
            names=tuple(names) or ("long",),
            depth=depth,
            partitioned=options.partitioned and restrictions.partitioned is not False,
            extras=tuple(dict.fromkeys((*options.extras, *(("layout",) if restrictions.checkpoints else ())))),
            rare_encodings=options.rare_encodings or bool(restrictions.encodings),
            times=("micros", "int96") if "int96" in restrictions.encodings else options.times,
            max_commits=commits,
            timestamp_texts="zoned",
        ),
    )


def _find_violations(table: ReadableTable, restrictions: Restrictions) -> Iterator[str]:
    """Yield the restrictions that a table does not meet."""
    newest, every = table.versions[-1].state.features, {each for one in table.versions for each in one.state.features}
    yield from (f"does not support {name}" for name in restrictions.required if name not in newest)
    yield from (f"supports {name}" for name in restrictions.forbidden if name in every)
    if restrictions.allowed is not None:
        companions = _add_needed_features({*restrictions.required, *restrictions.allowed})
        yield from (f"supports {name}" for name in sorted(every & {*ALL_FEATURES} - companions))
    undefined = every - list_drawn_features(restrictions.revision)
    yield from (f"supports {name}" for name in sorted(undefined))
    if restrictions.revision != "current" and _has_partition_of_timestamps(table):
        yield "has timestamps as partition values, which earlier revisions write without a zone"
    if restrictions.types is not None:
        yield from (f"has the type {name}" for name in sorted(table.types - {*restrictions.types, "long"}))
    if restrictions.partitioned is not None and restrictions.partitioned is not bool(
        table.versions[-1].partition_columns
    ):
        yield "is not partitioned" if restrictions.partitioned else "is partitioned"
    for kinds, wanted in ((("checkpoint",), restrictions.checkpoints), (_PARQUET, restrictions.encodings)):
        if wanted and not {f"{kind}:{name}" for kind in kinds for name in wanted} & table.dimensions:
            yield f"has none of {', '.join(wanted)}"
    if restrictions.versions is not None:
        low, high = restrictions.versions
        if not low <= len(table.versions) <= high:
            yield f"has {len(table.versions)} versions"


def list_drawn_features(revision: str) -> frozenset[str]:
    """Return the features of a revision that drawn tables can have."""
    return get_known_features(revision)


def _has_partition_of_timestamps(table: ReadableTable) -> bool:
    newest = table.versions[-1]
    kinds = {field.name: field.type for field in newest.schema.fields}
    return any(kinds[name] == Primitive("timestamp") for name in newest.partition_columns)


_PARQUET = ("encoding", "compression", "parquet")


def _add_needed_features(features: Collection[str]) -> set[str]:
    """Return features with all that they need."""
    found: set[str] = set()
    left = list(features)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += FEATURES[name].requires if name in FEATURES else ()
    return found
