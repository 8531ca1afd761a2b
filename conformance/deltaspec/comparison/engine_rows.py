"""The rows of an engine's answer, converted to the types of the table and hashed, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.candidates.reference.row_reader import arrow_schema
from deltaspec.candidates.row_comparison import WrongType, check_columns, normalize
from deltaspec.candidates.rows import RowsFile
from deltaspec.comparison.hashed_rows import HashedRows, RowSums, hash_partition
from deltaspec.protocol.schema.data_types import Field, Struct
from deltaspec.wire.data.column_resolution import resolve_columns
from deltaspec.wire.data.row_hashing import Incomparable, hash_column, hash_result_leaf


class EngineRows:
    """Rows of an answer in its file.

    Args:
        rows: the file.
        names: columns that the answer must have.
        fields: columns that are compared, in the order of hashes.
        partition_positions: indexes in `fields` of the partition columns.
        prepare: converts each batch before its types are checked; None for nothing.
        keep: condition over columns of the table's types that rows must satisfy to be compared; None for all rows.

    Raises:
        WrongType: the answer has other columns.
    """

    def __init__(
        self,
        rows: RowsFile,
        names: Sequence[str],
        fields: Sequence[Field],
        partition_positions: Sequence[int],
        *,
        prepare: Callable[[pa.Table], pa.Table] | None = None,
        keep: pc.Expression | None = None,
    ) -> None:
        check_columns(rows.schema.names, names)
        self._rows, self._partition_positions, self._prepare = rows, partition_positions, prepare
        self._keep = keep
        schema = Struct(tuple(fields))
        self.schema = arrow_schema(schema)
        self._columns = resolve_columns(self.schema, schema, None)

    def sum_rows(self) -> RowSums:
        """Read and hash all rows.

        Raises:
            RowsFault: the file is not valid.
            WrongType: a column has values that its type in the table cannot represent.
        """
        found = RowSums(len(self._columns))
        for table in self.iter_tables():
            found.add(self.hash_table(table))
        return found

    def iter_tables(self) -> Iterator[pa.Table]:
        """Yield the batches, converted. Raises as `sum_rows` does."""
        for table in self._rows:
            yield self._convert(table)

    def read(self, number: int) -> pa.Table:
        """Return a batch, converted. Raises as `sum_rows` does."""
        return self._convert(self._rows.read(number))

    def _convert(self, table: pa.Table) -> pa.Table:
        chosen = table.select(self.schema.names)
        found = normalize(chosen if self._prepare is None else self._prepare(chosen), self.schema)
        return found if self._keep is None else found.filter(self._keep)

    def hash_table(self, table: pa.Table) -> HashedRows:
        """Hash rows of `iter_tables`. Raises `WrongType`."""
        arrays = [
            pa.concat_arrays(each.chunks) if each.num_chunks else pa.array([], each.type) for each in table.columns
        ]
        try:
            columns = [
                hash_column(column, array, hash_result_leaf)
                for column, array in zip(self._columns, arrays, strict=True)
            ]
        except Incomparable as fault:
            raise WrongType(str(fault), "values cannot be compared") from fault
        parts = [columns[number] for number in self._partition_positions]
        return HashedRows(table.num_rows, columns, hash_partition(parts) if parts else 0)
