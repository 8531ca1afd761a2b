"""Checkpoints that store statistics and partition values twice: as text and as typed columns, for every type."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.protocol.property_names import STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming, Row, SidecarFile
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    metadata_action,
    protocol_action,
)

RECORDS = 10
_MOMENT = datetime(2024, 1, 2, 3, 4, 5, 123_000, UTC)


class TypedSample(msgspec.Struct, frozen=True):
    """Two values of a type in both forms, and another value for the typed form."""

    arrow: pa.DataType
    low: Any
    high: Any
    other: Any
    """Between both, so that no rule but a comparison of the copies notices it."""
    low_text: Any
    """JSON value in statistics."""
    high_text: Any
    serialized: str
    """`low` as a partition value."""


def _sample(
    arrow: pa.DataType, values: tuple[Any, Any, Any], *texts: Any, serialized: str | None = None
) -> TypedSample:
    low_text, high_text = texts or (values[0], values[2])
    return TypedSample(arrow, values[0], values[2], values[1], low_text, high_text, serialized or str(low_text))


SAMPLES: Mapping[str, TypedSample] = {
    "byte": _sample(pa.int8(), (-3, 0, 3)),
    "short": _sample(pa.int16(), (-300, 0, 300)),
    "integer": _sample(pa.int32(), (-(2**31), 1 - 2**31, 2**31 - 1)),
    "long": _sample(pa.int64(), (2**62 + 1, 2**62 + 2, 2**62 + 3)),
    "float": _sample(pa.float32(), (3.4000000953674316, 3.5, 4.5), 3.4, 4.5),
    "double": _sample(pa.float64(), (0.1, 0.10000000000000002, 0.2)),
    "decimal(38,18)": _sample(
        pa.decimal128(38, 18),
        (Decimal("1.000000000000000001"), Decimal("1.000000000000000002"), Decimal("2.5")),
        msgspec.Raw(b"1.000000000000000001"),
        msgspec.Raw(b"2.5"),
        serialized="1.000000000000000001",
    ),
    "boolean": _sample(pa.bool_(), (False, True, True), serialized="false"),
    "date": _sample(pa.date32(), (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1)), "2024-02-28", "2024-03-01"),
    "timestamp": _sample(
        pa.timestamp("us", "UTC"),
        tuple(_MOMENT + timedelta(milliseconds=each) for each in range(3)),  # type: ignore[arg-type]
        "2024-01-02T03:04:05.123Z",
        "2024-01-02T05:04:05.125+02:00",
        serialized="2024-01-02T03:04:05.123000Z",
    ),
    "timestamp_ntz": _sample(
        pa.timestamp("us"),
        tuple((_MOMENT + timedelta(milliseconds=each)).replace(tzinfo=None) for each in range(3)),  # type: ignore[arg-type]
        "2024-01-02T03:04:05.123",
        "2024-01-02T03:04:05.125",
        serialized="2024-01-02 03:04:05.123000",
    ),
    "string": _sample(pa.string(), ("ab", 'ac"\n', "zz")),
}
"""By type name in a schema."""
FEATURE_TYPES = frozenset({"timestamp_ntz"})
"""Types that need a table feature."""
TYPES = tuple(SAMPLES)
STATISTICS = ("numRecords", "tightBounds", "nullCount", "minValues", "maxValues")
Layout = str
LAYOUTS: Mapping[Layout, Naming] = {
    "classic": "classic",
    "multipart": "multipart",
    "sidecar": "uuid-parquet",
    "v2": "uuid-parquet",
}
"""Where the adds are, and the naming of the checkpoint."""
_NO_JSON = {STATS_AS_JSON: "false", STATS_AS_STRUCT: "true"}


class CopiedFacts(msgspec.Struct):
    """The copies of the facts of one add; change one to contradict the other."""

    stats: dict[str, Any] | None
    """Statistics in JSON; None leaves them out."""
    typed: dict[str, Any] | None
    """Statistics in `stats_parsed`."""
    values: dict[str, str | None]
    """`partitionValues`."""
    typed_values: dict[str, Any]
    """`partitionValues_parsed`."""


def build_facts(types: tuple[str, ...] = TYPES) -> CopiedFacts:
    """Build equal copies. Of each type, the table has a column, a column in a struct, and a partition column."""

    def spread(values: Mapping[str, Any]) -> dict[str, Any]:
        columns = {get_column_name(kind): values[kind] for kind in types}
        return {**columns, "s": dict(columns)}

    samples = {kind: SAMPLES[kind] for kind in types}

    def statistics(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
        bounds = {"minValues": spread(low), "maxValues": spread(high)}
        return {"numRecords": RECORDS, **bounds, "nullCount": spread(dict.fromkeys(types, 0)), "tightBounds": True}

    return CopiedFacts(
        statistics(
            {kind: each.low_text for kind, each in samples.items()},
            {kind: each.high_text for kind, each in samples.items()},
        ),
        statistics(
            {kind: each.low for kind, each in samples.items()}, {kind: each.high for kind, each in samples.items()}
        ),
        {get_column_name(kind, "p"): each.serialized for kind, each in samples.items()},
        {get_column_name(kind, "p"): each.low for kind, each in samples.items()},
    )


def get_column_name(kind: str, prefix: str = "c") -> str:
    """Return the name of the column of a type; partition columns have the prefix `p`."""
    return f"{prefix}_{kind.partition('(')[0]}"


def build_table_of_copies(
    facts: CopiedFacts,
    types: tuple[str, ...] = TYPES,
    *,
    layout: Layout = "classic",
    committed: CopiedFacts | None = None,
    configuration: Mapping[str, str] | None = None,
) -> TableFiles:
    """Build a table whose checkpoint of version 1 has one add with these facts.

    Args:
        facts: of the add in the checkpoint. Without JSON statistics, table properties leave them out.
        types: types of the columns.
        layout: kind of checkpoint, of `LAYOUTS`.
        committed: facts of the same add in commit 1; None leaves out commit 0 and the actions of commit 1.
        configuration: more table properties.
    """
    as_struct = {} if facts.typed is None else {"delta.checkpoint.writeStatsAsStruct": "true"}
    settings = {**as_struct, **(_NO_JSON if facts.stats is None else {}), **(configuration or {})}
    columns = [(get_column_name(kind), kind) for kind in types]
    nested = {
        "type": "struct",
        "fields": [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in columns],
    }
    partitioned = [(get_column_name(kind, "p"), kind) for kind in types]
    fields: list[tuple[str, Any]] = [*columns, ("s", nested), *partitioned]
    features = [
        name for name, used in (("timestampNtz", FEATURE_TYPES & {*types}), ("v2Checkpoint", _is_v2(layout))) if used
    ]
    protocol = protocol_action(3, 7, features, features) if features else protocol_action(1, 3)
    metadata = metadata_action(fields, [name for name, _ in partitioned], settings)
    add = _build_add(facts)
    files = TableFiles()
    files.commits[1] = [commit_info_action(1)]
    if committed is not None:
        files.commits[0] = [commit_info_action(0), protocol, metadata]
        files.commits[1] = [commit_info_action(1), _build_add(committed, typed=False)]
    files.commits[2] = [commit_info_action(2)]
    checkpoint = CheckpointFiles(1, LAYOUTS[layout], rows=[protocol, metadata], parsed=build_types(types))
    if _is_v2(layout):
        checkpoint.v2 = True
        checkpoint.rows.insert(0, {"checkpointMetadata": {"version": 1}})
    if layout == "sidecar":
        checkpoint.sidecars.append(SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=[add]))
    else:
        checkpoint.rows.append(add)
    if layout == "multipart":
        checkpoint.parts = 2
    files.checkpoints.append(checkpoint)
    return files


def _is_v2(layout: Layout) -> bool:
    return LAYOUTS[layout] == "uuid-parquet"


def _build_add(facts: CopiedFacts, *, typed: bool = True) -> Row:
    more: Row = {}
    if facts.stats is not None:
        more["stats"] = msgspec.json.encode(facts.stats).decode()
    if typed:
        more |= {"stats_parsed": facts.typed, "partitionValues_parsed": facts.typed_values}
    return add_action("a.parquet", partition=facts.values, **more)


def build_types(types: tuple[str, ...] = TYPES) -> dict[str, pa.DataType]:
    """Build the Arrow types of both typed columns."""
    columns = [(get_column_name(kind), SAMPLES[kind].arrow) for kind in types]
    bounds = pa.struct([*columns, ("s", pa.struct(columns))])
    counted = [(name, pa.int64()) for name, _ in columns]
    counts = pa.struct([*counted, ("s", pa.struct(counted))])
    members = [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)]
    return {
        "stats_parsed": pa.struct([*members, ("tightBounds", pa.bool_())]),
        "partitionValues_parsed": pa.struct([(get_column_name(kind, "p"), SAMPLES[kind].arrow) for kind in types]),
    }


def change_typed_statistic(facts: CopiedFacts, statistic: str, kind: str, *, nested: bool = False) -> None:
    """Change one statistic of the typed copy, of a column of a type if the statistic belongs to columns."""
    assert facts.typed is not None
    match statistic:
        case "numRecords":
            facts.typed["numRecords"] = RECORDS + 1
        case "tightBounds":
            facts.typed["tightBounds"] = False
        case _:
            entries = facts.typed[statistic]["s"] if nested else facts.typed[statistic]
            wrong = 1 if statistic == "nullCount" else SAMPLES[kind].other
            sample = SAMPLES[kind]
            entries[get_column_name(kind)] = sample.low if wrong == sample.high and statistic == "maxValues" else wrong
