"""Faults of data files, of what the log says about them, and of their rows."""

import shutil
from typing import Any

import pyarrow as pa
from lake.registry import fault
from lake.table import LakeTable, flip_bit, flip_bit_of_column, truncate

SPARK = "spark/checkpoint_classic"
DELTA_RS = "delta_rs/orders"


@fault(
    1,
    SPARK,
    "violations",
    "DAT001",
    says=("A live data file does not exist", "its rows are lost unless the file is restored"),
)
@fault(
    1,
    DELTA_RS,
    "violations",
    "DAT001",
    says=("A live data file does not exist", "its rows are lost unless the file is restored"),
)
def data_file_deleted(table: LakeTable) -> None:
    """A live data file was deleted."""
    table.live_files()[-1].unlink()


@fault(2, SPARK, "violations", "DAT002", "PQT001", says=("The file was truncated or overwritten",))
@fault(2, DELTA_RS, "violations", "DAT002", "PQT001", says=("The file was truncated or overwritten",))
def data_file_truncated(table: LakeTable) -> None:
    """A copy of a data file was interrupted half-way."""
    truncate(table.live_files()[-1])


@fault(3, SPARK, "violations", "DAT002", "PQT001", says=("The file was truncated or overwritten",))
@fault(3, DELTA_RS, "violations", "DAT002", "PQT001", says=("The file was truncated or overwritten",))
def data_file_emptied(table: LakeTable) -> None:
    """A data file has no bytes."""
    table.live_files()[-1].write_bytes(b"")


@fault(
    4,
    SPARK,
    "violations",
    "ROW001",
    says=("CRC checksum verification failed", "Queries on the column fail or return wrong values"),
)
def bit_flipped_in_a_page_with_checksum(table: LakeTable) -> None:
    """One bit of a data page is wrong, and the size of the file is right; Delta Spark writes page checksums."""
    flip_bit_of_column(table.live_files()[-1], "id")


@fault(
    4,
    DELTA_RS,
    "violations",
    "STA002",
    says=('actual_max = "order 59"', "If the file was overwritten or swapped with another one"),
)
def bit_flipped_in_the_largest_value(table: LakeTable) -> None:
    """One bit of the largest value of a column is wrong; delta-rs writes no page checksums."""
    file = table.live_files()[-1]
    flip_bit(file, file.read_bytes().index(b"order 49") + len("order "))


@fault(
    4,
    DELTA_RS,
    "conforms",
    says=("CONFORMS nothing found",),
    gap="Without page checksums, nothing in the table shows it.",
)
def bit_flipped_within_the_bounds(table: LakeTable) -> None:
    """One bit of a value is wrong, and the value is within its bounds; delta-rs writes no page checksums."""
    file = table.live_files()[-1]
    flip_bit(file, file.read_bytes().index(b"order 22") + len("order "))


@fault(5, SPARK, "violations", "CRC007", "PQT002", says=("num_records = 2, row_count = 1",))
@fault(5, DELTA_RS, "violations", "PQT002", says=("num_records = 51, row_count = 50",))
def row_count_wrong(table: LakeTable) -> None:
    """The statistics of a file count one row too many."""
    table.edit_statistics(lambda statistics: statistics.update(numRecords=statistics["numRecords"] + 1))


@fault(6, SPARK, "violations", "CRC007", "STA001", says=("filtered queries silently lose rows",))
@fault(6, DELTA_RS, "violations", "STA001", says=("filtered queries silently lose rows",))
def minimum_too_large(table: LakeTable) -> None:
    """The minimum of a column is larger than a value of the file."""
    table.edit_statistics(lambda statistics: statistics["minValues"].update(id=1000))


@fault(6, SPARK, "violations", "CRC007", "STA002", says=("filtered queries silently lose rows",))
@fault(6, DELTA_RS, "violations", "STA002", says=("filtered queries silently lose rows",))
def maximum_too_small(table: LakeTable) -> None:
    """The maximum of a column is smaller than a value of the file."""
    table.edit_statistics(lambda statistics: statistics["maxValues"].update(id=-1))


@fault(
    7,
    DELTA_RS,
    "conforms",
    says=("CONFORMS nothing found", "have the same content (", "The same data may have been added twice"),
    options=("--hints",),
    gap="Legal, so it is a hint and no finding.",
)
def file_added_again_under_another_name(table: LakeTable) -> None:
    """A job was repeated: the last file was copied to another name and added, so its rows exist twice."""
    add = table.live_adds()[-1]
    name = add["path"].replace("part-00000", "part-00001")
    shutil.copy(table.path / add["path"], table.path / name)
    table.write_commit(table.latest + 1, [{"add": add | {"path": name}}])


@fault(8, DELTA_RS, "conforms", "FIL035", says=("they read the rows of two add actions twice",))
def file_added_under_another_encoding(table: LakeTable) -> None:
    """A file is live under two encodings of its path."""
    add = table.live_adds()[-1]
    name = add["path"].replace("part-00000", "%70art-00000")
    table.write_commit(table.latest + 1, [{"add": add | {"path": name}}])


def _remove_a_value(rows: pa.Table) -> pa.Table:
    """Return rows with a null in the column `id`."""
    values = rows["id"].to_pylist()
    column = pa.array([*values[:3], None, *values[4:]], pa.int64())
    return rows.set_column(rows.column_names.index("id"), "id", column)


@fault(
    20,
    DELTA_RS,
    "violations",
    "ROW002",
    "STA005",
    says=("A column that is not nullable contains null", "first_row = 3"),
)
def null_in_a_required_column(table: LakeTable) -> None:
    """A file has a null in a column that the schema declares NOT NULL."""
    table.rewrite_last_file(_remove_a_value)


@fault(20, DELTA_RS, "violations", "STA019", says=("count nulls in a column that is not nullable",))
def counted_null_in_a_required_column(table: LakeTable) -> None:
    """A file has a null in a NOT NULL column, and its statistics count it."""
    table.rewrite_last_file(_remove_a_value)
    table.edit_statistics(lambda statistics: statistics["nullCount"].update(id=1))


@fault(21, DELTA_RS, "violations", "PQT010", says=("the file stores BYTE_ARRAY STRING; the schema says long",))
def column_of_another_type(table: LakeTable) -> None:
    """A file stores a column of integers as strings."""

    def convert(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.column_names.index("amount"), "amount", rows["amount"].cast(pa.string()))

    table.rewrite_last_file(convert)


@fault(
    33,
    SPARK,
    "violations",
    "STA001",
    "STA002",
    "STA004",
    "ROW005",
    says=("the file is not the one that was committed",),
)
@fault(
    33,
    DELTA_RS,
    "violations",
    "DAT002",
    "STA001",
    "STA002",
    "STA004",
    says=("the file is not the one that was committed",),
)
def data_files_swapped(table: LakeTable) -> None:
    """Two data files have each other's name."""
    *others, last = table.live_adds()
    same_size = [add for add in others if add["size"] == last["size"]]
    first, second = (table.path / add["path"] for add in ((same_size or others)[0], last))
    between = first.with_name("between")
    first.rename(between)
    second.rename(first)
    between.rename(second)


def _set_partition_value(add: dict[str, Any]) -> None:
    (name,) = add["partitionValues"]
    add["partitionValues"][name] = "1999-12-31"


@fault(
    36,
    SPARK,
    "violations",
    "CRC007",
    "ROW005",
    says=("A data file stores another value of a partition column than the log",),
)
@fault(
    36,
    DELTA_RS,
    "conforms",
    says=("CONFORMS nothing found",),
    gap="Only a checkpoint or a checksum can show it. README says that values come from the log; the report does not.",
)
def partition_value_wrong(table: LakeTable) -> None:
    """A file has the partition value of other rows. Delta Spark also stores the column, delta-rs does not."""
    table.edit("add", _set_partition_value)


@fault(39, DELTA_RS, "violations", "ROW040", says=('expression = "amount > 0"', 'row_values = "amount: -1"'))
def row_violates_a_constraint(table: LakeTable) -> None:
    """A file has a row for which a CHECK constraint is false."""

    def negate(rows: pa.Table) -> pa.Table:
        values = rows["amount"].to_pylist()
        column = pa.array([-values[0], *values[1:]], pa.int64())
        return rows.set_column(rows.column_names.index("amount"), "amount", column)

    table.rewrite_last_file(negate)
    table.edit_statistics(lambda statistics: statistics["minValues"].update(amount=-1))
