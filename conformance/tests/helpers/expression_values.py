"""Rows with values of every type, and the embedded evaluation of expressions over them."""

import io
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.protocol.schema.data_types import Decimal as DecimalType
from deltaspec.protocol.schema.data_types import Struct, get_type_name
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.sql.evaluation import compile_expression
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.parser import SupportedExpression, parse_expression
from deltaspec.sql.terms import Undecided

COLUMNS: dict[str, tuple[Any, pa.DataType]] = {
    "i8": ("byte", pa.int8()),
    "i16": ("short", pa.int16()),
    "i32": ("integer", pa.int32()),
    "i64": ("long", pa.int64()),
    "d": ("decimal(10,2)", pa.decimal128(10, 2)),
    "e": ("decimal(38,10)", pa.decimal128(38, 10)),
    "f": ("float", pa.float32()),
    "g": ("double", pa.float64()),
    "h": ("double", pa.float64()),
    "s": ("string", pa.string()),
    "t": ("string", pa.string()),
    "b": ("boolean", pa.bool_()),
    "c": ("boolean", pa.bool_()),
    "x": ("binary", pa.binary()),
    "day": ("date", pa.date32()),
    "at": ("timestamp", pa.timestamp("us", "UTC")),
    "nz": ("timestamp_ntz", pa.timestamp("us")),
    "st": (
        {
            "type": "struct",
            "fields": [
                {"name": "In", "type": "integer", "nullable": True, "metadata": {}},
                {"name": "te.xt", "type": "string", "nullable": True, "metadata": {}},
            ],
        },
        pa.struct([("In", pa.int32()), ("te.xt", pa.string())]),
    ),
    "li": ({"type": "array", "elementType": "integer", "containsNull": True}, pa.list_(pa.int32())),
}


def build_schema(names: Mapping[str, Any]) -> Struct:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, (kind, _) in names.items()]
    return parse_schema(json.dumps({"type": "struct", "fields": fields}))


SCHEMA = build_schema(COLUMNS)
NAN = float("nan")


def at(text: str) -> datetime:
    """Return a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def at_no_zone(text: str) -> datetime:
    """Return a time without zone."""
    return datetime.fromisoformat(text)


def build_rows(*tuples: tuple[Any, ...]) -> pa.Table:
    """Return a table of `COLUMNS` with one more row of nulls at the end."""
    columns = zip(*tuples, (None,) * len(COLUMNS), strict=True)
    arrays = [pa.array(values, kind) for values, (_, kind) in zip(columns, COLUMNS.values(), strict=True)]
    return pa.table(arrays, names=list(COLUMNS))


_D, _E = Decimal("12345678.90"), Decimal("1234567890123456789012345678.0123456789")
PLAIN_ROWS = build_rows(
    (
        *(1, 2, 3, 4, Decimal("5.00"), Decimal("5"), 0.5, 0.5, 2.0, "ab", "ab", True, False, b"ab", date(2020, 2, 29)),
        *(at("2020-02-29T23:30:00"), at_no_zone("2020-02-29T23:30:00"), {"In": 3, "te.xt": "ab"}, [1]),
    ),
    (
        *(-5, -300, -70_000, -(2**40), Decimal("-0.01"), Decimal("-0.01"), -1.25, 0.1, -3.5, "a b ", "ba", False, True),
        *(b"", date(1999, 12, 31), at("1970-01-01T00:00:00"), at_no_zone("1999-12-31T00:00:00"), {"te.xt": ""}, []),
    ),
    (
        *(7, 7, 7, 7, Decimal("7.10"), Decimal("7.1"), 7.0, 7.0, 7.0, "", "x_%y", None, None, b"\xff"),
        *(date(1970, 1, 1), at("2024-07-01T12:00:00.000001"), at_no_zone("1970-01-01T00:00:00.000001"), None, None),
    ),
    (
        *(2, 3, 2, 3, Decimal("2.50"), Decimal("2.5"), 2.5, 2.5, 3.0, "  trim  ", "tRIM", True, None, b"ab"),
        *(date(2024, 1, 1), at("2024-01-01T04:59:59"), at_no_zone("2024-01-01T12:34:56.000789"), {"In": 2}, [None]),
    ),
)
EDGE_CASE_ROWS = build_rows(
    (
        *(127, 32767, 2**31 - 1, 2**63 - 1, _D, _E, NAN, NAN, NAN, "é", "e\u0301", True, True, b"\x00"),
        *(date(9999, 12, 31), at("9999-12-31T23:59:59.999999"), at_no_zone("9999-12-31T23:59:59.999999")),
        *({"In": 1, "te.xt": "a\nb"}, [1]),
    ),
    (
        *(-128, -32768, -(2**31), -(2**63), -_D, -_E, float("inf"), float("-inf"), NAN, "\U0001f600", "\ufffd"),
        *(False, False, b"", date(1, 1, 1), at("0001-01-02T00:00:00"), at_no_zone("0001-01-01T00:00:00")),
        *({"In": 0, "te.xt": "a%b"}, [2]),
    ),
    (
        *(0, 0, 0, 0, Decimal("0.00"), Decimal("0"), -0.0, 0.0, -0.0, "Z", "a", None, True, b"a", date(1582, 10, 15)),
        *(at("1900-01-02T00:00:00"), at_no_zone("1582-10-04T05:00:00"), {"In": 5, "te.xt": "."}, []),
    ),
    (
        *(1, 1, 1, 2**53 + 1, Decimal("0.30"), Decimal("0.3"), 0.1, 0.1 + 0.2, 0.3, "ß", "SS", False, None, b"b"),
        *(date(1969, 12, 31), at("1969-12-31T23:59:59.999999"), at_no_zone("1969-12-31T23:59:59.999999"), None, None),
    ),
)


def build_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False)
    return sink.getvalue()


def evaluate(text: str, table: pa.Table, schema: Struct = SCHEMA) -> list[Any] | str:
    """Return the values of an expression without Spark, one per row, or why it is undecided."""
    answer = parse_expression(text)
    if not isinstance(answer, SupportedExpression):
        return answer.reason
    columns = ExpressionColumns(schema, None, [], {}, table.schema, {})
    try:
        compiled = compile_expression(answer.tree, columns)
        (batch,) = table.combine_chunks().to_batches()
        frame = columns.build_frame({name: batch.column(name) for name in columns.file_columns}, batch.num_rows)
    except Undecided as error:
        return str(error)
    for name, values in compiled.steps:
        frame = frame.with_columns(values.alias(name))
    for guard in (*compiled.guards, *columns.guards):
        if not frame.select(guard.holds.fill_null(True).all()).item():
            return f"in some rows, {guard.reason}"
    results = frame.with_columns(result=compiled.term.values)["result"].to_list()
    return [to_python(each, compiled.term.type) for each in results]


def to_python(value: Any, kind: Any) -> Any:
    """Return a value as Spark returns it in Python."""
    if value is None:
        return None
    if isinstance(kind, DecimalType):
        return Decimal(value).scaleb(-kind.scale, Context(prec=100))
    if get_type_name(kind) == "date":
        return date(1970, 1, 1) + timedelta(days=value)
    return value
