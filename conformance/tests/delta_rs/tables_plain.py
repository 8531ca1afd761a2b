"""Tables that delta-rs writes and reads without table features: appends, rewrites, deletes, restores."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    Writer = Callable[[str], None]

SPECIAL_STRINGS = (None, "", " ", "a b", "a/b", "a=b", "a%20b", "é", "日本😀", "a:b", "#?&+", "'", "\n", '"{}\\|<>^`')


def rows(*ids: int, **columns: object) -> pa.Table:
    """Build a table with a column `id` and constant columns."""
    import pyarrow as pa

    return pa.table({"id": pa.array(ids, pa.int64())} | {name: [value] * len(ids) for name, value in columns.items()})


def plain(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1, 2, name="a"), name="name", description="a description")
    write_deltalake(path, rows(3, name=None).cast(rows(1, name="a").schema), mode="append")
    write_deltalake(path, rows(4, name="b"), mode="append")
    DeltaTable(path).delete("id = 1")
    DeltaTable(path).update(updates={"name": "'u'"}, predicate="id = 2")
    DeltaTable(path).delete()


def empty(path: str) -> None:
    from deltalake import DeltaTable

    DeltaTable.create(path, rows(name="a").schema)


def overwritten(path: str) -> None:
    from deltalake import write_deltalake

    write_deltalake(path, rows(1, 2, 3, p="x"), partition_by=["p"])
    write_deltalake(path, rows(4, p="y"), mode="overwrite")
    write_deltalake(path, rows(5, p="y"), mode="overwrite", predicate="p = 'y'")
    write_deltalake(path, rows(5, p=1.5, q=2), mode="overwrite", schema_mode="overwrite")


def merged(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1, 2, name="a"))
    merge = DeltaTable(path).merge(rows(2, 3, name="m"), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    merge = DeltaTable(path).merge(rows(2, name="m"), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_delete().when_not_matched_by_source_update(updates={"name": "'rest'"}).execute()


def partitioned(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    data = pa.table({"id": list(range(len(SPECIAL_STRINGS))), "s": pa.array(SPECIAL_STRINGS, pa.string())})
    write_deltalake(path, data, partition_by=["s"])
    DeltaTable(path).delete("s = 'a=b'")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).delete("id = 8")


def build_columns_of_every_type() -> pa.Table:
    """All primitive types with a typical row, an extreme row and a row of nulls."""
    import pyarrow as pa

    fields: dict[str, tuple[pa.DataType, object, object]] = {
        "by": (pa.int8(), 127, -128),
        "sh": (pa.int16(), 32767, -32768),
        "i": (pa.int32(), 1, -(2**31)),
        "l": (pa.int64(), 9007199254740993, -(2**63)),
        "f": (pa.float32(), 0.1, float("-inf")),
        "d": (pa.float64(), float("nan"), -0.0),
        "de": (pa.decimal128(20, 4), Decimal("12345678901234.5678"), Decimal("-1.5")),
        "s": (pa.string(), "a", "é" * 40),
        "bi": (pa.binary(), b"a\xfe", b""),
        "bo": (pa.bool_(), True, False),
        "da": (pa.date32(), date(2024, 2, 29), date(1, 1, 1)),
        "ts": (
            pa.timestamp("us", "UTC"),
            datetime(2024, 1, 2, 3, 4, 5, 123456, UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        ),
    }
    columns = {name: pa.array([first, second, None], kind) for name, (kind, first, second) in fields.items()}
    return pa.table({"id": [0, 1, 2]} | columns)


def every_type(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, build_columns_of_every_type())
    DeltaTable(path).create_checkpoint()


def partitioned_by_every_type(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    data = build_columns_of_every_type().drop_columns(["f", "de"])
    write_deltalake(path, data, partition_by=data.column_names[1:])
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).delete("id = 1")


def partitioned_by_floats(path: str) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    values = pa.array([0.1, float("-inf"), float("inf"), float("nan"), 1e30, None], pa.float32())
    write_deltalake(path, pa.table({"id": list(range(6)), "f": values}), partition_by="f")


def partitioned_by_decimals(path: str) -> None:
    """The commit is written, but delta-rs cannot read back a negative decimal."""
    import pyarrow as pa
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    values = pa.array([Decimal("12345678901234.5678"), Decimal("-1.5"), None], pa.decimal128(20, 4))
    with contextlib.suppress(DeltaError):
        write_deltalake(path, pa.table({"id": [0, 1, 2], "de": values}), partition_by="de")


def nested(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    kind = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("s", pa.struct([("a", pa.int32()), ("b", pa.struct([("c.d", pa.string())]))])),
            pa.field("l", pa.list_(pa.struct([("x", pa.int32())]))),
            pa.field("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ]
    )
    first = {"id": 1, "s": {"a": 1, "b": {"c.d": "x"}}, "l": [{"x": 1}, None], "m": [("k", [1, None])]}
    write_deltalake(path, pa.Table.from_pylist([first, {"id": 2}], kind))
    DeltaTable(path).create_checkpoint()


def schema_evolution(path: str) -> None:
    from deltalake import DeltaTable, Field, Schema, write_deltalake
    from deltalake.schema import PrimitiveType

    write_deltalake(path, rows(1))
    write_deltalake(path, rows(2, added="x"), mode="append", schema_mode="merge")
    DeltaTable(path).alter.add_columns(Schema([Field("more", PrimitiveType("double"))]).fields)
    DeltaTable(path).alter.set_column_metadata("added", {"comment": "a comment"})


def optimized(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    for number in range(3):
        write_deltalake(path, rows(number, number + 10, z=number % 2), mode="append")
    DeltaTable(path).optimize.compact()
    write_deltalake(path, rows(7, z=7), mode="append")
    DeltaTable(path).optimize.z_order(["z"])


def vacuumed(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1, 2))
    write_deltalake(path, rows(3), mode="overwrite")
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)


def restored(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1))
    write_deltalake(path, rows(2), mode="append")
    write_deltalake(path, rows(3), mode="overwrite")
    DeltaTable(path).restore(1)
    write_deltalake(path, rows(4), mode="append")


def repaired(path: str) -> None:
    from pathlib import Path

    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1))
    write_deltalake(path, rows(2), mode="append")
    next(Path(path).glob("*.parquet")).unlink()
    DeltaTable(path).repair()


def transactions(path: str) -> None:
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

    for version in (1, 2):
        properties = CommitProperties(
            app_transactions=[Transaction("app", version), Transaction("second/ü", 7 * version, 1_700_000_000_000)],
            custom_metadata={"who": "tests"},
        )
        write_deltalake(path, rows(version), mode="append", commit_properties=properties)
    DeltaTable(path).create_checkpoint()


def converted(path: str) -> None:
    import pyarrow.dataset as ds
    from deltalake import Field, Schema, convert_to_deltalake
    from deltalake.schema import PrimitiveType

    ds.write_dataset(rows(1, 2, 3, p=1), path, format="parquet", partitioning=["p"], partitioning_flavor="hive")
    columns = Schema([Field("p", PrimitiveType("integer"))])
    convert_to_deltalake(path, partition_by=columns, partition_strategy="hive")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        plain,
        empty,
        overwritten,
        merged,
        partitioned,
        every_type,
        partitioned_by_every_type,
        partitioned_by_floats,
        partitioned_by_decimals,
        nested,
        schema_evolution,
        optimized,
        vacuumed,
        restored,
        repaired,
        transactions,
        converted,
    )
}
