"""Faults planted in the files of drawn tables, as caused by a disk, a faulty writer or a lost update.

Planted faults of `faults` break one known table in one place; these break any drawn table. Several rules may detect one
of them; the named requirement is one that it certainly breaks.
"""

import copy
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import assume
from hypothesis import strategies as st
from msgspec.structs import replace

from deltaspec.protocol.files import paths
from deltaspec.protocol.property_names import COLUMN_ID, COLUMN_MAPPING_MODE
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec_generators.data_files.parquet_encodings import build_parquet_fields, build_rows_table, write_parquet
from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.table_files import TableFiles, inline_vector_descriptor
from deltaspec_generators.table_state import Body
from deltaspec_generators.tables.readable import CHANGE_TYPE
from deltaspec_generators.tables.strategies import GeneratedTable, data_tables_with_states

Break = Callable[[st.DrawFn, "BrokenTable"], None]


class Fault(msgspec.Struct, frozen=True):
    """A way to break a drawn table."""

    name: str
    requirement: str
    level: str
    """Validation level that detects the fault."""
    table_options: Mapping[str, Any]
    """Arguments of `TableOptions` for the tables to break."""
    breaks: Break


FAULTS: dict[str, Fault] = {}
"""Every fault by name."""


class BrokenTable(msgspec.Struct):
    """A drawn table to be broken. Its log has no checkpoints, so every fact is stored once."""

    drawn: GeneratedTable
    files: TableFiles

    @property
    def live(self) -> list[StoredFile]:
        """Live files of the last version that have rows."""
        newest = {stored.add["path"]: stored for stored in self.drawn.stored}
        return [newest[path] for path in self.drawn.states[-1].live if newest[path].rows]

    def iter_actions(self, kind: str, path: str) -> Iterator[Body]:
        """Yield every action of a kind for a path, oldest first, to be edited in place."""
        for version in sorted(self.files.commits):
            for line in self.files.commits[version]:
                if isinstance(line, dict) and kind in line and line[kind]["path"] == path:
                    yield line[kind]

    def replace_data(self, path: str, data: bytes) -> None:
        """Replace the bytes of a file and update its sizes in the log."""
        self.files.data[paths.decode(path)] = data
        for kind in ("add", "remove", "cdc"):
            for body in self.iter_actions(kind, path):
                body["size"] = len(data)

    def read_data(self, path: str) -> bytes:
        """Return the bytes of a file."""
        found = self.files.data[paths.decode(path)]
        assert isinstance(found, bytes)
        return found

    def replace_statistics(self, stored: StoredFile, statistics: Mapping[str, Any]) -> None:
        """Replace the statistics of a live file; `numRecords` stays true."""
        *_, newest = self.iter_actions("add", stored.add["path"])
        newest["stats"] = json.dumps({"numRecords": len(stored.rows), **statistics})


def fault(requirement: str, level: str, **table_options: Any) -> Callable[[Break], Break]:
    """Register a function that breaks a table in place, with the options of the tables to draw."""

    def register(breaks: Break) -> Break:
        name = getattr(breaks, "__name__", "")
        FAULTS[name] = Fault(name, requirement, level, table_options, breaks)
        return breaks

    return register


@st.composite
def broken_tables(draw: st.DrawFn, kind: Fault) -> TableFiles:
    """Draw tables with this fault; discard tables that cannot have it."""
    drawn = draw(data_tables_with_states(**{"max_commits": 3, **kind.table_options}))
    broken = BrokenTable(drawn, copy.deepcopy(drawn.files))
    broken.files.checkpoints.clear()
    broken.files.last_checkpoint = None
    assume(broken.live)
    kind.breaks(draw, broken)
    return broken.files


def _draw_one(draw: st.DrawFn, found: list[Any]) -> Any:
    assume(found)
    return draw(st.sampled_from(found))


@fault("parquet.format", "footers")
def file_cut(draw: st.DrawFn, table: BrokenTable) -> None:
    """A file is truncated; the log has its new size."""
    path = _draw_one(draw, table.live).add["path"]
    data = table.read_data(path)
    table.replace_data(path, data[: draw(st.integers(0, len(data) - 1))])


@fault("parquet.format", "footers")
def footer_length_lies(draw: st.DrawFn, table: BrokenTable) -> None:
    """The footer length is greater than the file."""
    path = _draw_one(draw, table.live).add["path"]
    data = table.read_data(path)
    footer_length = len(data) + draw(st.sampled_from((0, 1, 2**30)))
    table.replace_data(path, data[:-8] + footer_length.to_bytes(4, "little") + data[-4:])


@fault("parquet.format", "footers")
def magic_number_overwritten(draw: st.DrawFn, table: BrokenTable) -> None:
    """The magic number at the end is wrong."""
    path = _draw_one(draw, table.live).add["path"]
    table.replace_data(path, table.read_data(path)[:-4] + draw(st.sampled_from((b"PAR2", bytes(4)))))


@fault("statistics.num-records", "footers", max_commits=4)
def files_swapped(draw: st.DrawFn, table: BrokenTable) -> None:
    """Two files have swapped contents."""
    counted = [stored for stored in table.live if "stats" in stored.add]
    first = _draw_one(draw, counted)
    second = _draw_one(draw, [each for each in counted if len(each.rows) != len(first.rows)])
    one, other = first.add["path"], second.add["path"]
    left, right = table.read_data(one), table.read_data(other)
    table.replace_data(one, right)
    table.replace_data(other, left)


@fault("add.file-exists", "files")
def file_gone(draw: st.DrawFn, table: BrokenTable) -> None:
    """A live file is missing."""
    table.files.missing.add(paths.decode(_draw_one(draw, table.live).add["path"]))


@fault("statistics.num-records", "footers")
def row_count_off(draw: st.DrawFn, table: BrokenTable) -> None:
    """`numRecords` is off by one."""
    stored = _draw_one(draw, [each for each in table.live if "deletionVector" not in each.add])
    *_, newest = table.iter_actions("add", stored.add["path"])
    newest["stats"] = json.dumps({"numRecords": len(stored.rows) + draw(st.sampled_from((1, -1)))})


@fault("column-mapping.field-ids-in-files", "footers", required=("columnMapping",))
def field_ids_of_other_columns(draw: st.DrawFn, table: BrokenTable) -> None:
    """Every column of a file has a field id that no column of the table has."""
    assume(table.drawn.states[-1].configuration.get(COLUMN_MAPPING_MODE) == "id")
    stored = _draw_one(draw, table.live)
    fields = tuple(_change_field_id(each) for each in stored.schema.fields)
    parquet_encoding = replace(stored.parquet_encoding, extra_column=False, field_ids=True)
    written = build_rows_table(stored.rows, build_parquet_fields(Struct(fields), parquet_encoding))
    table.replace_data(stored.add["path"], write_parquet(written, parquet_encoding))


def _change_field_id(field: Field) -> Field:
    number = column_mapping.column_id(field)
    return replace(field, metadata={**field.metadata, COLUMN_ID: 10_000 + (number or 0)})


@fault("deletion-vectors.rows-exist", "files", required=("deletionVectors",), max_commits=4)
def vector_shifted(draw: st.DrawFn, table: BrokenTable) -> None:
    """A deletion vector names rows after the end of the file."""
    stored = _draw_one(draw, [each for each in table.live if each.deleted])
    *_, newest = table.iter_actions("add", stored.add["path"])
    newest["deletionVector"] = inline_vector_descriptor(sorted(row + len(stored.rows) for row in stored.deleted))


@fault("deletion-vectors.file-checksum", "files", required=("deletionVectors",), max_commits=4)
def vector_bit_rotten(draw: st.DrawFn, table: BrokenTable) -> None:
    """One bit of a stored deletion vector is flipped."""
    vectors = [each.add.get("deletionVector", {}) for each in table.live]
    body = _draw_one(draw, [each for each in vectors if each.get("storageType") == "u"])
    prefix = body["pathOrInlineDv"][:-20]
    path = next(name for name in table.files.extra if name.startswith(f"{prefix}/" if prefix else "deletion_vector_"))
    assume(sum(name.endswith(".bin") for name in table.files.extra) == 1)
    data = bytearray(table.files.extra[path])
    data[body["offset"] + 4 + draw(st.integers(0, body["sizeInBytes"] - 1))] ^= 1 << draw(st.integers(0, 7))
    table.files.extra[path] = bytes(data)


def _read_ids(table: BrokenTable, stored: StoredFile) -> tuple[str, list[Any]]:
    """Return the physical name of the column `id` and its values in live rows."""
    schema = table.drawn.versions[-1].schema
    mapping = table.drawn.states[-1].configuration.get(COLUMN_MAPPING_MODE)
    field = next(each for each in schema.fields if each.name == "id")
    name = column_mapping.physical_name(field, mapping)
    return name, [stored.rows[index][name] for index in stored.live_indexes]


@fault("statistics.minimum-bounds-data", "rows")
def minimum_above_a_row(draw: st.DrawFn, table: BrokenTable) -> None:
    """A minimum is greater than a value, with tight or wide bounds."""
    stored = _draw_one(draw, table.live)
    name, ids = _read_ids(table, stored)
    present = [each for each in ids if each is not None]
    assume(present)
    wide: dict[str, Any] = draw(st.sampled_from(({}, {"tightBounds": False})))
    low = min(present)  # a decimal if the column was widened
    assume(low < 2**63 - 1)  # the bound must be a value of the type
    above = math.floor(low) + 1 if isinstance(low, Decimal) else low + 1
    table.replace_statistics(stored, {"minValues": {name: above}, **wide})


@fault("statistics.tight-null-count", "rows")
def nulls_miscounted(draw: st.DrawFn, table: BrokenTable) -> None:
    """A null count is off by one in statistics with tight bounds."""
    stored = _draw_one(draw, [each for each in table.live if not each.deleted])
    name, ids = _read_ids(table, stored)
    nulls = ids.count(None)
    count = nulls + 1 if nulls < len(ids) else nulls - 1
    table.replace_statistics(stored, {"nullCount": {name: count}, "tightBounds": True})


@fault("row-tracking.unique-default-ids", "log", required=("rowTracking",), max_commits=4)
def row_ids_given_twice(draw: st.DrawFn, table: BrokenTable) -> None:
    """Two files have the same base row id."""
    first = _draw_one(draw, table.live)
    second = _draw_one(draw, [each for each in table.live if each is not first])
    *_, newest = table.iter_actions("add", second.add["path"])
    newest["baseRowId"] = first.add["baseRowId"]


@fault("cdc.whole-changes", "rows", required=("changeDataFeed",), max_commits=4)
def change_lost(draw: st.DrawFn, table: BrokenTable) -> None:
    """A change data file is missing a row that its commit deleted."""
    last = table.drawn.files.commits[len(table.drawn.states) - 1]
    path = _draw_one(draw, [line["cdc"]["path"] for line in last if isinstance(line, dict) and "cdc" in line])
    changes = pq.ParquetFile(io.BytesIO(table.read_data(path)), coerce_int96_timestamp_unit="us").read()
    deletes = [index for index, kind in enumerate(changes[CHANGE_TYPE].to_pylist()) if kind == "delete"]
    lost = _draw_one(draw, deletes)
    left = [index for index in range(changes.num_rows) if index != lost]
    table.replace_data(path, write_parquet(changes.take(pa.array(left, pa.int64()))))


@fault("data-files.required-columns", "rows", features=(), depth=0)
def null_where_none_may_be(draw: st.DrawFn, table: BrokenTable) -> None:
    """A column that is not nullable contains a null."""
    stored = _draw_one(draw, table.live)
    name = _draw_one(draw, [each.name for each in stored.schema.fields if not each.nullable])
    parquet_encoding = replace(stored.parquet_encoding, extra_column=False, required=False)
    rows = [{**row, name: None} if not index else row for index, row in enumerate(stored.rows)]
    table.replace_data(
        stored.add["path"],
        write_parquet(build_rows_table(rows, build_parquet_fields(stored.schema, parquet_encoding)), parquet_encoding),
    )
    table.replace_statistics(stored, {})
