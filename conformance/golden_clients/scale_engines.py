"""Ask an engine about a large golden table, in a process whose time and memory are measured.

python -m golden_clients.scale_engines ENGINE CASE      (prints what is wrong, and its memory, as JSON)

kernel-rs is the program of `nox -s harness_rust`. It returns rows as an Arrow file, which DuckDB aggregates: the time
includes both, and the memory is that of the program alone.
"""

import datetime
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Query = Callable[[str], pa.Table]
"""Run SQL over the table `t`."""
PeakReader = Callable[[], int]
"""Return the largest resident memory of the engine in megabytes."""
_COLUMNS_AT_A_TIME = 200
"""Columns that one query aggregates."""
KERNEL_RS = "kernel_rust"
"""Name of the candidate."""
_ROWS_LIMIT = 16 * 1024**3
"""Bytes of an Arrow file."""
_NAME = re.compile(r"\((\w+)")
"""Name of a column in a function of SQL."""
BUILD = "build"
"""Stands for an engine: build the case with the sizes given instead of a path."""


def _open_delta_rs(table: Path) -> tuple[Query, PeakReader]:
    from deltalake import DeltaTable, QueryBuilder

    builder = QueryBuilder().register("t", DeltaTable(table))
    return lambda sql: pa.table(builder.execute(sql).read_all()), read_peak_megabytes


def _open_duckdb(table: Path) -> tuple[Query, PeakReader]:
    from deltaspec.candidates.adapters.duckdb import open_database

    connection = open_database()
    connection.execute(f"CREATE VIEW t AS SELECT * FROM delta_scan('{table}')")
    return lambda sql: connection.sql(sql).to_arrow_table(), read_peak_megabytes


def _open_kernel_rs(table: Path) -> tuple[Query, PeakReader]:
    import duckdb

    from deltaspec.candidates.messages import Scan, Snapshot
    from deltaspec.candidates.registry import open_candidate
    from deltaspec.golden.importing.sql_predicates import build_predicate_tree
    from deltaspec.protocol.schema.schema_string import parse_schema

    host = open_candidate(KERNEL_RS, timeout_scale=60.0)
    metadata = host.snapshot(Snapshot(str(table))).metadata
    assert metadata is not None
    schema = parse_schema(metadata["schemaString"])

    def query(sql: str) -> pa.Table:
        where = sql.partition(" WHERE ")[2]
        if where:
            request = Scan(str(table), "", predicate=where, predicate_tree=build_predicate_tree(where, schema))
        else:
            named = {*_NAME.findall(sql)}
            columns = tuple((each.name,) for each in schema.fields if each.name in named)
            request = Scan(str(table), "", columns=columns)
        with ExitStack() as stack:
            connection = stack.enter_context(duckdb.connect())
            rows = stack.enter_context(host.open_rows(request, _ROWS_LIMIT))
            batches = (batch for part in rows for batch in part.to_batches())
            connection.register("t", pa.RecordBatchReader.from_batches(rows.schema, batches))
            return connection.sql(sql).to_arrow_table()

    def read_peak() -> int:
        assert host.process_group is not None
        return read_peak_megabytes(host.process_group)

    return query, read_peak


ENGINES: dict[str, Callable[[Path], tuple[Query, PeakReader]]] = {
    "delta-rs": _open_delta_rs,
    "DuckDB": _open_duckdb,
    "kernel-rs": _open_kernel_rs,
}


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


def ask(engine: str, argument: str) -> tuple[list[str], int]:
    """Return what is wrong, and the largest resident memory of the engine in megabytes.

    The engine `build` builds a case; the argument has its sizes and directory, separated by `@`.
    """
    if engine == BUILD:
        from deltaspec.golden.scale.case import write_scale_case
        from deltaspec.golden.scale.options import parse_scale

        sizes, _, directory = argument.partition("@")
        write_scale_case(parse_scale(sizes), Path(directory))
        return [], read_peak_megabytes()
    case = Path(argument)
    query, read_peak = ENGINES[engine](case / "delta")
    return list(iter_problems(query, case)), read_peak()


def read_peak_megabytes(process: int | str = "self") -> int:
    """Return the largest resident memory of a process; `ru_maxrss` would include the process that forked it."""
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


if __name__ == "__main__":
    found, peak = ask(*sys.argv[1:])
    print(json.dumps({"problems": found, "megabytes": peak}))
