"""Ask an engine about a large golden table, in a process whose time and memory are measured.

python -m golden_clients.scale_engines ENGINE CASE      (prints what is wrong, and its memory, as JSON)
"""

import datetime
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Query = Callable[[str], pa.Table]
"""Run SQL over the table `t`."""
_COLUMNS_AT_A_TIME = 200
"""Columns that one query aggregates."""
BUILD = "build"
"""Stands for an engine: build the case with the sizes given instead of a path."""


def _open_delta_rs(table: Path) -> Query:
    from deltalake import DeltaTable, QueryBuilder

    builder = QueryBuilder().register("t", DeltaTable(table))
    return lambda sql: pa.table(builder.execute(sql).read_all())


def _open_duckdb(table: Path) -> Query:
    from deltaspec.candidates.adapters.duckdb import open_database

    connection = open_database()
    connection.execute(f"CREATE VIEW t AS SELECT * FROM delta_scan('{table}')")
    return lambda sql: connection.sql(sql).to_arrow_table()


ENGINES: dict[str, Callable[[Path], Query]] = {"delta-rs": _open_delta_rs, "DuckDB": _open_duckdb}


def iter_problems(query: Query, case: Path) -> Iterator[str]:
    """Yield the differences between the answers of an engine and those of a case."""
    expected = json.loads((case / "specs-x/aggregates.json").read_bytes())["expected"]
    columns = expected["columns"]
    for start in range(0, len(columns), _COLUMNS_AT_A_TIME):
        names = list(columns)[start : start + _COLUMNS_AT_A_TIME]
        yield from _compare_aggregates(query, {name: columns[name] for name in names}, expected["rows"])
    for path in sorted(case.glob("specs/row-*.json")):
        where = json.loads(path.read_bytes())["predicate"]
        wanted = pq.read_table(case / f"expected/{path.stem}/expected_data/rows.parquet").to_pylist()
        found = query(f"SELECT * FROM t WHERE {where}").to_pylist()
        if found != wanted:
            yield f"{path.stem}: {len(found)} rows that differ from the {len(wanted)} expected"


def _compare_aggregates(query: Query, columns: dict[str, Any], rows: int) -> Iterator[str]:
    parts = ["count(*) AS n"]
    for number, (name, each) in enumerate(columns.items()):
        functions = ["count", "min", "max", *(["sum"] if each["sum"] is not None else [])]
        parts += [f"{function}({name}) AS {function}_{number}" for function in functions]
    (found,) = query(f"SELECT {', '.join(parts)} FROM t").to_pylist()
    if found["n"] != rows:
        yield f"{found['n']:,} rows instead of {rows:,}"
    for number, (name, each) in enumerate(columns.items()):
        wanted = {"count": each["values"], "min": each["min"], "max": each["max"], "sum": each["sum"]}
        for function, value in wanted.items():
            answer = _normalize(found.get(f"{function}_{number}"))
            if answer != value and not (function == "sum" and value is None):
                yield f"{function}({name}) is {answer}, expected {value}"


def _normalize(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return int(value) if value is not None and not isinstance(value, float | int | str) else value


def main(engine: str, argument: str) -> Sequence[str]:
    """Return what is wrong; build a case if the engine is `build`, with sizes and directory separated by `@`."""
    if engine == BUILD:
        from deltaspec.golden.scale.case import write_scale_case
        from deltaspec.golden.scale.options import parse_scale

        sizes, _, directory = argument.partition("@")
        write_scale_case(parse_scale(sizes), Path(directory))
        return []
    case = Path(argument)
    return list(iter_problems(ENGINES[engine](case / "delta"), case))


def read_peak_megabytes() -> int:
    """Return the largest resident memory of this process; `ru_maxrss` would include the process that forked it."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


if __name__ == "__main__":
    print(json.dumps({"problems": main(*sys.argv[1:]), "megabytes": read_peak_megabytes()}))
