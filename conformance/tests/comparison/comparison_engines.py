"""Engines for `deltaspec compare`, each with one fault in what the reference reader returns.

`Chosen` is an engine whose fault the file `TABLE.fault` next to a table names, so that one process serves many tests.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.serve import EngineError


class Sound(Engine):
    """The reference reader, which returns the right rows in another order and in other Arrow types."""

    def scan(self, table: str, **request: Any) -> Any:
        found = super().scan(table, **request)
        rows = found["rows"] if isinstance(found, dict) else found
        if rows is None or not rows.num_columns:
            return found
        if request["columns"] is None:
            rows = rows.select(rows.column_names[::-1])
        return change_rows(found, rows.take(list(range(rows.num_rows))[::-1]))


class _Changed(Engine):
    """Returns changed rows for a scan of columns."""

    def scan(self, table: str, **request: Any) -> Any:
        found = super().scan(table, **request)
        rows = found["rows"] if isinstance(found, dict) else found
        if rows is None or not rows.num_columns:
            return found
        return change_rows(found, self.change(rows))

    def change(self, rows: pa.Table) -> pa.Table:
        raise NotImplementedError


def change_rows(found: Any, rows: pa.Table) -> Any:
    """Return an answer with other rows."""
    return {**found, "rows": rows, "num_rows": rows.num_rows} if isinstance(found, dict) else rows


class LosesARow(_Changed):
    def change(self, rows: pa.Table) -> pa.Table:
        return rows.slice(1)


class RepeatsARow(_Changed):
    def change(self, rows: pa.Table) -> pa.Table:
        return pa.concat_tables([rows, rows.slice(0, 1)])


class ChangesAValue(_Changed):
    """The largest value of `amount` is one more."""

    def change(self, rows: pa.Table) -> pa.Table:
        amount = rows.column("amount")
        largest = pc.max(amount)
        changed = pc.if_else(pc.equal(amount, largest), pc.add(amount, 1), amount)
        return rows.set_column(rows.column_names.index("amount"), "amount", changed)


class MovesValues(_Changed):
    """Each column has the right values, in other rows."""

    def change(self, rows: pa.Table) -> pa.Table:
        shifted = pa.concat_tables([rows.slice(1), rows.slice(0, 1)]).column("amount")
        return rows.set_column(rows.column_names.index("amount"), "amount", shifted)


class LosesTheSignOfZero(_Changed):
    def change(self, rows: pa.Table) -> pa.Table:
        place = rows.column_names.index("amount")
        return rows.set_column(place, "amount", pc.add(rows.column("amount"), 0.0))


class LosesAColumn(_Changed):
    def change(self, rows: pa.Table) -> pa.Table:
        return rows.drop_columns(["amount"])


class WrongType(_Changed):
    """A long becomes a double, which has the same values here."""

    def change(self, rows: pa.Table) -> pa.Table:
        place = rows.column_names.index("amount")
        return rows.set_column(place, "amount", rows.column("amount").cast(pa.float64()))


class WrongCount(Engine):
    def scan(self, table: str, **request: Any) -> Any:
        found = super().scan(table, **request)
        return {"num_rows": 1} if request["columns"] == [] else found


class WrongVersion(Engine):
    def snapshot(self, table: str, **request: Any) -> Any:
        return {**super().snapshot(table, **request), "version": 17}


class WrongSchema(Engine):
    def snapshot(self, table: str, **request: Any) -> Any:
        found = super().snapshot(table, **request)
        text = found["metadata"]["schemaString"].replace('"long"', '"integer"')
        return {**found, "metadata": {**found["metadata"], "schemaString": text}}


class LosesChanges(Engine):
    def changes(self, table: str, **request: Any) -> Any:
        found = super().changes(table, **request)
        rows = found["rows"] if isinstance(found, dict) else found
        return change_rows(found, rows.slice(1))


class Refuses(Engine):
    """Declares no feature and refuses every table."""

    def hello(self) -> dict[str, Any]:
        return {**super().hello(), "reader_features": []}

    def snapshot(self, table: str, **request: Any) -> Any:
        raise EngineError("unsupported", "cannot read secret-value")

    def scan(self, table: str, **request: Any) -> Any:
        raise EngineError("unsupported", "cannot read secret-value")


class RefusesWhatItDeclares(Refuses):
    def hello(self) -> dict[str, Any]:
        return Engine.hello(self)


class Crashes(Engine):
    def scan(self, table: str, **request: Any) -> Any:
        os.abort()


class Hangs(Engine):
    def scan(self, table: str, **request: Any) -> Any:
        time.sleep(3600)


class PrintsWithoutEnd(Engine):
    def scan(self, table: str, **request: Any) -> Any:
        while True:
            sys.stderr.write("x" * 65536)


class ReturnsWithoutEnd(Engine):
    """Writes rows until it is killed."""

    def scan(self, table: str, **request: Any) -> Any:
        schema = pa.schema([("id", pa.int64())])
        batch = pa.record_batch([pa.array(range(65536), pa.int64())], schema=schema)

        def iterate() -> Iterator[pa.RecordBatch]:
            while True:
                yield batch

        return pa.RecordBatchReader.from_batches(schema, iterate())


class WritesIntoTheTable(Engine):
    def scan(self, table: str, **request: Any) -> Any:
        (Path(table) / "_delta_log" / "leftover.tmp").write_bytes(b"x")
        return super().scan(table, **request)


class CommitsMeanwhile(Engine):
    """Another writer adds a version before the first scan."""

    def scan(self, table: str, **request: Any) -> Any:
        log = Path(table) / "_delta_log"
        versions = sorted(path for path in log.glob("*.json") if path.stem.isdecimal())
        if len(versions) == 1:
            first = (log / f"{0:020}.json").read_text("utf-8")
            add = next(line for line in first.splitlines() if '"add"' in line)
            path = add.partition('"path":"')[2].partition('"')[0]
            remove = f'{{"remove":{{"path":"{path}","dataChange":true,"deletionTimestamp":1}}}}\n'
            (log / f"{1:020}.json").write_text(remove, "utf-8")
        return super().scan(table, **request)


class Chosen:
    """The engine that the file next to the table names."""

    def hello(self) -> dict[str, Any]:
        return Engine().hello()

    def snapshot(self, table: str, **request: Any) -> Any:
        return choose(table).snapshot(table, **request)

    def scan(self, table: str, **request: Any) -> Any:
        return choose(table).scan(table, **request)

    def changes(self, table: str, **request: Any) -> Any:
        return choose(table).changes(table, **request)


def choose(table: str) -> Engine:
    """Return the engine for a table."""
    engine: Engine = globals()[Path(f"{table}.fault").read_text("utf-8")]()
    return engine
