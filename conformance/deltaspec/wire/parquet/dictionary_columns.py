"""Find columns whose strings repeat, and read them as indexes into a dictionary instead of one string for each row.

Arrow merges equal entries of a dictionary page, after which later indexes lead to wrong strings, and it does not
compare indexes with the size of the dictionary. A dictionary is trusted only if it has as many entries as its page
states.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq


class UntrustedDictionary(ValueError):
    """The dictionary of a batch cannot be trusted."""


class DictionarySizes(NamedTuple):
    """Number of dictionary entries of a column in each row group."""

    ends: tuple[int, ...]
    """Index in the file of the row after each row group."""
    counts: tuple[int, ...]

    def verify(self, array: pa.DictionaryArray, offset: int) -> None:
        """Compare the dictionary of a batch with its page. `offset` is the index of the first row in the file.

        Raises:
            UntrustedDictionary: they differ, or the batch is not part of one row group.
        """
        group = bisect_right(self.ends, offset)
        if group == len(self.ends) or offset + len(array) > self.ends[group]:
            raise UntrustedDictionary("the batch is not part of one row group")
        if len(array.dictionary) != self.counts[group]:
            raise UntrustedDictionary(f"{len(array.dictionary)} entries, its page states {self.counts[group]}")


def find_dictionary_columns(parquet: pq.ParquetFile, sizes: Sequence[int | None]) -> dict[str, DictionarySizes]:
    """Return the top-level columns of strings that can be read as indexes, by name.

    Args:
        parquet: the file.
        sizes: `PageSummary.dictionary_sizes` of the file.
    """
    metadata, stored = parquet.metadata, parquet.schema_arrow
    leaves, groups = metadata.num_columns, metadata.num_row_groups
    if len(sizes) != leaves * groups:
        return {}
    names = Counter(stored.names)
    ends = tuple(accumulate(metadata.row_group(group).num_rows for group in range(groups)))
    found = {}
    for leaf in range(leaves):
        counts = tuple(count for count in sizes[leaf::leaves] if count is not None)
        if len(counts) != groups:
            continue
        name = parquet.schema.column(leaf).path
        # the path of a leaf inside a struct has a dot, and so may a name
        if "." not in name and names[name] == 1 and pa.types.is_string(stored.field(name).type):
            found[name] = DictionarySizes(ends, counts)
    return found


def select_distinct_values(array: pa.Array) -> pa.Array:
    """Return the values that occur in a dictionary array, each once, without null; any other array unchanged.

    Raises:
        IndexError: an index is outside of the dictionary.
    """
    if not pa.types.is_dictionary(array.type):
        return array
    return array.dictionary.take(array.indices.unique().drop_null())
