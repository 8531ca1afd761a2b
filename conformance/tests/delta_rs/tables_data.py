"""Tables of delta-rs with special values and special Parquet files."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delta_rs.tables_plain import rows

if TYPE_CHECKING:
    import pyarrow as pa
    from delta_rs.tables_plain import Writer

NINES = "9" * 38
LAST = tuple(chr(point) for point in (0x61, 0x7F, 0x7FF, 0xD7FF, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF))


def edge_columns() -> pa.Table:
    """Lowest and highest values, values around 1582 and 1970, NaN and both zeros, and a row of nulls."""
    import pyarrow as pa

    nan, inf = float("nan"), float("inf")
    utc, plain = pa.timestamp("us", "UTC"), pa.timestamp("us")
    timestamps = [
        datetime(1, 1, 1),  # noqa: DTZ001 - must have no time zone
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        datetime(1582, 10, 4, 0, 0, 0, 1),  # noqa: DTZ001
        None,
    ]
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "by": (pa.int8(), [-128, 127, -1, 0, None]),
        "sh": (pa.int16(), [-32768, 32767, -1, 0, None]),
        "i": (pa.int32(), [-(2**31), 2**31 - 1, -1, 0, None]),
        "l": (pa.int64(), [-(2**63), 2**63 - 1, -1, 0, None]),
        "f": (pa.float32(), [-inf, inf, -0.0, nan, None]),
        "d": (pa.float64(), [-inf, inf, -0.0, nan, None]),
        "d9": (
            pa.decimal128(9, 2),
            [Decimal("-9999999.99"), Decimal("9999999.99"), Decimal("-0.01"), Decimal(0), None],
        ),
        "d38": (pa.decimal128(38, 0), [Decimal(f"-{NINES}"), Decimal(NINES), Decimal(-1), Decimal(0), None]),
        "f38": (
            pa.decimal128(38, 38),
            [Decimal(f"-0.{NINES}"), Decimal(f"0.{NINES}"), Decimal("1e-38"), Decimal(0), None],
        ),
        "s": (pa.string(), ["", chr(0x10FFFF), "é", "a", None]),
        "bi": (pa.binary(), [b"", b"\xff\xff", b"\x00", b"a", None]),
        "bo": (pa.bool_(), [False, True, False, None, None]),
        "da": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 4), date(1970, 1, 1), None]),
        "ts": (utc, [None if each is None else each.replace(tzinfo=UTC) for each in timestamps]),
        "tn": (plain, timestamps),
    }
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


def edge_values(path: str) -> None:
    from deltalake import DeltaTable, write_deltalake

    data = edge_columns()
    write_deltalake(path, data)
    for number in range(len(data)):
        write_deltalake(path, data.slice(number, 1), mode="append")
    DeltaTable(path).create_checkpoint()


def edge_values_nested(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    data = edge_columns()
    struct = pa.array(data.to_pylist(), pa.struct(list(data.schema)))
    table = pa.table(
        {
            "id": pa.array(range(len(data)), pa.int32()),
            "st": struct,
            "li": pa.array([[row] for row in struct.to_pylist()[:4]] + [None], pa.list_(struct.type)),
            "m": pa.array(
                [[("k", 1.5)], [], None, [("a", None), ("b", float("nan"))], None], pa.map_(pa.string(), pa.float64())
            ),
            "deep": pa.array(
                [{"a": {"b": [[1, None], None, []]}}, {"a": None}, {"a": {"b": None}}, None, {"a": {"b": []}}],
                pa.struct([("a", pa.struct([("b", pa.list_(pa.list_(pa.int32())))]))]),
            ),
        }
    )
    write_deltalake(path, table)
    write_deltalake(path, table.take([4]), mode="append")
    DeltaTable(path).delete("id = 2")
    DeltaTable(path).create_checkpoint()


def strings_at_the_truncation_limit(path: str) -> None:
    """Strings around the length at which delta-rs truncates bounds."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    texts = [f"{'a' * (length - 2)}{each}{each}" for length in (31, 32, 33, 34) for each in LAST]
    texts += [chr(0xFFFF) * 33, chr(0x10FFFF) * 33, chr(0x10FFFF) * 100, "a" * 64, "a" * 65, "é" * 200]
    for group in (texts, *([each] for each in texts[-14:])):
        data = pa.table({"s": group, "bi": [each.encode() for each in group]})
        write_deltalake(path, data, mode="append")
    DeltaTable(path).create_checkpoint()


def not_a_number(path: str) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    nan = float("nan")
    for values in ([nan], [nan, 1.0], [nan, None], [-0.0, 0.0], [None, None]):
        data = pa.table({"d": pa.array(values, pa.float64()), "f": pa.array(values, pa.float32())})
        write_deltalake(path, data, mode="append")


def extreme_values(path: str) -> None:
    """Numbers at the limits of floats, strings that JSON must escape, and a write without rows."""
    import pyarrow as pa
    from deltalake import write_deltalake

    texts = ["\0", "\x01\x1f", '"\\', "\x7f\x80", "\u2028", "\ufeff", "\U0001f600"]
    floats = [1.4e-45, -1.4e-45, 3.4028234663852886e38, -3.4028234663852886e38, 0.1, 1e10, 16777217.0]
    doubles = [4.9e-324, -4.9e-324, 1.7976931348623157e308, -1.7976931348623157e308, 0.1, 1e22, 1e-7]
    data = pa.table({"s": texts, "f": pa.array(floats, pa.float32()), "d": doubles})
    write_deltalake(path, data)
    for number in range(len(texts)):
        write_deltalake(path, data.take([number]), mode="append")
    write_deltalake(path, data.schema.empty_table(), mode="append")


def arrow_encodings(path: str) -> None:
    """Several Arrow types of one Delta type: large, view, dictionary-encoded, other units of time."""
    import pyarrow as pa
    from deltalake import write_deltalake

    moment = datetime(1969, 12, 31, 23, 59, 59, 123456, UTC)
    data = pa.table(
        {
            "ls": pa.array(["a", None, "é" * 40], pa.large_string()),
            "vs": pa.array(["a", None, "é" * 40], pa.string_view()),
            "di": pa.array(["a", None, "a"]).dictionary_encode(),
            "lb": pa.array([b"a", None, b"\xff"], pa.large_binary()),
            "fb": pa.array([b"ab", None, b"cd"], pa.binary(2)),
            "ll": pa.array([[1], None, []], pa.large_list(pa.int32())),
            "ms": pa.array([moment, None, moment], pa.timestamp("ms", "UTC")),
            "s_": pa.array([moment, None, moment], pa.timestamp("s", "UTC")),
            "ns": pa.array([moment, None, moment], pa.timestamp("ns", "UTC")),
            "zone": pa.array([moment, None, moment], pa.timestamp("us", "America/New_York")),
            "d64": pa.array([date(1500, 1, 1), None, date(2024, 2, 29)], pa.date64()),
        }
    )
    write_deltalake(path, data)


def no_statistics(path: str) -> None:
    """One write without any statistics, and one without those of a column."""
    from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake

    none = ColumnProperties(statistics_enabled="NONE")
    write_deltalake(path, rows(1, 2, name="a"), writer_properties=WriterProperties(default_column_properties=none))
    only = WriterProperties(column_properties={"name": none})
    write_deltalake(path, rows(3, name="b"), mode="append", writer_properties=only)
    DeltaTable(path).create_checkpoint()


def added_without_statistics(path: str) -> None:
    """Files written by another program and registered without statistics, or only with a row count."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

    kind = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.string())])
    DeltaTable.create(path, kind, partition_by=["p"])
    actions = []
    for number in range(3):
        file = Path(path) / f"own-{number}.parquet"
        pq.write_table(rows(number, name="a"), file)
        size = file.stat().st_size
        statistics = "{}" if number < 2 else '{"numRecords":1}'
        actions.append(AddAction(file.name, size, {"p": "x"}, 1_700_000_000_000, True, statistics))
    table = DeltaTable(path)
    table.create_write_transaction(actions, mode="append", schema=table.schema(), partition_by=["p"])


def parquet_encodings(path: str) -> None:
    """All compressions, small row groups and pages, no dictionaries, truncated statistics, Bloom filters."""
    from deltalake import BloomFilterProperties, ColumnProperties, WriterProperties, write_deltalake

    options: list[dict[str, Any]] = [
        {"compression": name} for name in ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4_RAW", "ZSTD")
    ]
    small = {"max_row_group_size": 10, "write_batch_size": 5, "data_page_size_limit": 64}
    options += [{"statistics_truncate_length": 3}, small]
    options.append(
        {"column_properties": {"name": ColumnProperties(dictionary_enabled=False, encoding="DELTA_BYTE_ARRAY")}}
    )
    filtered = ColumnProperties(bloom_filter_properties=BloomFilterProperties(True, 0.01, 50))
    options.append({"default_column_properties": filtered})
    for each in options:
        write_deltalake(
            path,
            rows(*range(35), name="a long text that is truncated"),
            mode="append",
            writer_properties=WriterProperties(**each),
        )


def small_files(path: str) -> None:
    """One write whose rows are split over several files, with nulls and partitions."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    count = 20_000
    data = pa.table(
        {
            "id": range(count),
            "text": [None if number % 4 == 0 else f"{number:x}" * 6 for number in range(count)],
            "p": [f"{number % 3}" for number in range(count)],
        }
    )
    write_deltalake(path, data, partition_by="p", target_file_size=20_000)
    DeltaTable(path).delete("id = 17")
    DeltaTable(path).optimize.compact()


def not_null(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    inner = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.int32())])
    kind = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("st", inner)])
    data = pa.Table.from_pylist([{"id": 1, "st": {"a": 1, "b": None}}, {"id": 2, "st": None}], kind)
    write_deltalake(path, data)
    DeltaTable(path).update(updates={"id": "id + 10"}, predicate="id = 1")


def older_schema(path: str) -> None:
    """Files from before columns were added, including fields of structs."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, pa.table({"id": [1, 2], "st": [{"a": 1}, None]}))
    wider = pa.table({"id": [3], "st": [{"a": 1, "b": "x"}], "more": [1.5]})
    write_deltalake(path, wider, mode="append", schema_mode="merge")
    DeltaTable(path).update(updates={"more": "2.5"}, predicate="id = 1")
    write_deltalake(path, pa.table({"more": [9.5]}), mode="append", schema_mode="merge")


def generated_columns(path: str) -> None:
    from deltalake import DeltaTable, Field, Schema, write_deltalake
    from deltalake.schema import PrimitiveType

    made = Field("twice", PrimitiveType("long"), metadata={"delta.generationExpression": "id * 2"})
    schema = Schema([Field("id", PrimitiveType("long")), made])
    DeltaTable.create(path, schema, configuration={"delta.minWriterVersion": "7"})
    write_deltalake(path, rows(1, 2), mode="append", schema_mode="merge")


def change_data_of_every_operation(path: str) -> None:
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    data = pa.table(
        {"id": range(12), "d": [float("nan")] * 12, "p": [None if n < 4 else f"{n % 2} " for n in range(12)]}
    )
    write_deltalake(path, data, partition_by="p", configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).update(updates={"d": "-0.0"}, predicate="id = 1")
    DeltaTable(path).update(updates={"p": "'moved'"}, predicate="id = 5")
    DeltaTable(path).delete("id in (2, 7)")
    merge = DeltaTable(path).merge(
        data.slice(3, 2).cast(data.schema), "t.id = s.id", source_alias="s", target_alias="t"
    )
    merge.when_matched_delete("s.id = 3").when_matched_update_all().when_not_matched_by_source_delete(
        "t.id = 9"
    ).execute()
    DeltaTable(path).optimize.compact()
    write_deltalake(path, data.slice(0, 1), mode="overwrite", predicate="p is null")
    DeltaTable(path).delete()


def vacuumed_since(path: str) -> None:
    """Files of old versions, including change files, were vacuumed."""
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(path, rows(1, 2, 3), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).delete("id = 1")
    write_deltalake(path, rows(9), mode="overwrite")
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    write_deltalake(path, rows(10), mode="append")


def converted_without_partitions(path: str) -> None:
    """Files of pyarrow with its variants of timestamps, converted unchanged."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import convert_to_deltalake

    Path(path).mkdir()
    moment = datetime(2024, 1, 2, 3, 4, 5, 123456, UTC)
    data = pa.table({"id": [1, 2], "ts": pa.array([moment, None], pa.timestamp("us", "UTC")), "s": ["a", "é" * 40]})
    pq.write_table(data, Path(path) / "one.parquet")
    pq.write_table(data, Path(path) / "two.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(data, Path(path) / "three.parquet", data_page_version="2.0", use_dictionary=False, version="1.0")
    convert_to_deltalake(path)


def _convert(path: str, *tables: pa.Table, **options: Any) -> None:
    """Write one file per table with pyarrow and convert the directory."""
    import pyarrow.parquet as pq
    from deltalake import convert_to_deltalake

    Path(path).mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, Path(path) / f"{number}.parquet", **options)
    convert_to_deltalake(path)


def converted_encodings(path: str) -> None:
    """Output of pyarrow and pandas: lists of `item`, decimals as integers, views, an index column, missing columns."""
    import pyarrow as pa

    first = pa.table(
        {
            "id": pa.array([1, None]),
            "days": pa.array([date(1500, 1, 1), None], pa.date64()),
            "f": pa.array([0.1, None], pa.float32()),
            "small": pa.array([1, None], pa.decimal128(5, 2)),
            "middle": pa.array([1, None], pa.decimal128(18, 2)),
            "viewed": pa.array([b"a", None], pa.binary_view()),
            "fixed": pa.array([[1], [2]], pa.list_(pa.int8(), 1)),
            "li": [[1, None], None],
            "di": pa.array(["a", None]).dictionary_encode(),
            "__index_level_0__": [0, 1],
        }
    )
    required = pa.table([pa.array([3])], schema=pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    _convert(path, first, required, store_decimal_as_integer=True, use_compliant_nested_type=False)


def converted_times(path: str) -> None:
    """Timestamps in other units than microseconds, which delta-rs reads."""
    import pyarrow as pa

    moment = datetime(1969, 12, 31, 23, 59, 59, 123456, UTC)
    columns = {
        "nanos": pa.array([moment, None], pa.timestamp("ns", "UTC")),
        "millis": pa.array([moment, None], pa.timestamp("ms", "UTC")),
        "plain": pa.array([moment.replace(tzinfo=None), None], pa.timestamp("ns")),
    }
    _convert(path, pa.table(columns))


def converted_odd_types(path: str) -> None:
    """Columns of types that Delta does not have: delta-rs uses the closest type that it has."""
    import pyarrow as pa

    columns = {
        "id": [1, 2],
        "uuid": pa.array([bytes(16), None], pa.uuid()),
        "json": pa.array(["{}", None], pa.json_()),
        "fixed": pa.array([b"ab", None], pa.binary(2)),
        "unsigned": pa.array([1, 2**32 - 1], pa.uint32()),
        "nothing": pa.nulls(2),
    }
    _convert(path, pa.table(columns))


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        edge_values,
        edge_values_nested,
        strings_at_the_truncation_limit,
        not_a_number,
        extreme_values,
        arrow_encodings,
        no_statistics,
        added_without_statistics,
        parquet_encodings,
        small_files,
        not_null,
        older_schema,
        generated_columns,
        change_data_of_every_operation,
        vacuumed_since,
        converted_without_partitions,
        converted_encodings,
        converted_times,
        converted_odd_types,
    )
}
