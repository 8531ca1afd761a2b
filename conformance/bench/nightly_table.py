"""Write a table that grew since an earlier report: most files are old, and only the new ones exist."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

import deltaspec
from bench.log_tables import File, write_checkpoint_of_adds, write_commit
from deltaspec.commands.printing import encode_json
from deltaspec.rules import RULES

_NEW_FILES = 1_000
_ROWS = 10


def write_nightly_table(log: Path) -> None:
    """Write the table of (b), its report at level rows as `_report.json`, and a commit of new Parquet files.

    The old files do not exist, and both runs accept that their rows are not checked. A run since this report does not
    look for them.
    """
    table = log.parent
    write_checkpoint_of_adds(log)
    of_data = [code for code, rule in RULES.items() if rule.level != "log"]
    report = deltaspec.validate(str(table), level="rows", confirm=False, accept_unchecked=of_data)
    (table / "_report.json").write_bytes(encode_json(report))
    write_commit(log, 12, [_write_file(table, 2_000_000 + number) for number in range(_NEW_FILES)])


def _write_file(table: Path, number: int) -> File:
    """Write a Parquet file of ten rows, and return its action."""
    file = File(number, 100)
    first, day = number * _ROWS, date(2024, 1, 2)
    columns = {
        "id": pa.array(range(first, first + _ROWS), pa.int64()),
        "price": pa.array([1.5] * _ROWS),
        "name": pa.array(["n"] * _ROWS),
        "day": pa.array([day] * _ROWS),
        "at": pa.array([datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)] * _ROWS, pa.timestamp("us", "UTC")),
    }
    path = table / unquote(file.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, compression="snappy", store_schema=False)
    bounds = {"price": 1.5, "name": "n", "day": str(day), "at": "2024-01-02T03:04:05.000Z"}
    file.size = path.stat().st_size
    file.stats = json.dumps(
        {
            "numRecords": _ROWS,
            "minValues": {"id": first, **bounds},
            "maxValues": {"id": first + _ROWS - 1, **bounds},
            "nullCount": dict.fromkeys(columns, 0),
        }
    )
    return file
