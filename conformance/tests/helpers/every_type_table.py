"""A table with a column of every comparable type, and a literal of each."""

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec_generators.table_files import TableFiles, add_action, metadata_action, protocol_action, write_table

_STRUCT_TYPE = pa.struct([("a b", pa.struct([("c", pa.int64())]))])
ROWS = pa.table(
    {
        "byte": pa.array([-128, 1, None], pa.int8()),
        "short": pa.array([-5, 1, None], pa.int16()),
        "integer": pa.array([-(2**31), 1, None], pa.int32()),
        "long": pa.array([-(2**63), 1, None], pa.int64()),
        "float": pa.array([0.5, 1, None], pa.float32()),
        "double": pa.array([0.5, 1, None], pa.float64()),
        "decimal(20,2)": pa.array([Decimal("-1.50"), Decimal(1), None], pa.decimal128(20, 2)),
        "boolean": pa.array([True, False, None]),
        "string": pa.array(["it's \\n", "1", None]),
        "binary": pa.array([b"\x00\xff", b"1", None]),
        "date": pa.array([-1, 1, None], pa.date32()),
        "timestamp": pa.array([-1, 1, None], pa.timestamp("us", "UTC")),
        "timestamp_ntz": pa.array([-1, 1, None], pa.timestamp("us")),
        "struct": pa.array([{"a b": {"c": 7}}, {"a b": None}, None], _STRUCT_TYPE),
    }
)
"""Two rows and a row of nulls; the columns are named after their types."""
LITERALS = {
    "byte": "-128",
    "short": "-5",
    "integer": "-2147483648",
    "long": "-9223372036854775808",
    "float": "0.5",
    "double": "0.5",
    "decimal(20,2)": "-1.50",
    "boolean": "true",
    "string": "it's \\n",
    "binary": "00ff",
    "date": "1969-12-31",
    "timestamp": "1969-12-31T23:59:59.999999Z",
    "timestamp_ntz": "1969-12-31 23:59:59.999999",
}
"""The value of the first row, as the text of a literal, by type."""
_STRUCT = {
    "type": "struct",
    "fields": [
        {
            "name": "a b",
            "type": {"type": "struct", "fields": [{"name": "c", "type": "long", "nullable": True, "metadata": {}}]},
            "nullable": True,
            "metadata": {},
        }
    ],
}


def write_every_type_table(directory: Path) -> str:
    """Write the rows as a table of two versions, the second of which holds them, and return its path."""
    buffer = io.BytesIO()
    pq.write_table(ROWS, buffer)
    fields: list[tuple[str, Any]] = [(name, _STRUCT if name == "struct" else name) for name in ROWS.column_names]
    files = TableFiles(data={"rows.parquet": buffer.getvalue()})
    features = ["timestampNtz"]
    files.commits[0] = [protocol_action(3, 7, features, features), metadata_action(fields)]
    files.commits[1] = [add_action("rows.parquet", rows=ROWS.num_rows, size=len(buffer.getvalue()))]
    write_table(files, directory)
    return str(directory)
