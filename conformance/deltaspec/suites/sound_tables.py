"""Small sound tables for what random tables rarely meet."""

import json
from collections.abc import Callable

import pyarrow as pa

from deltaspec.model.log.file_names import commit_name
from deltaspec.suites.written_tables import describe_table
from deltaspec_generators.bases.data_files import add_data_file
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import LOG, TableFiles, metadata_action, protocol_action
from deltaspec_generators.tables.readable import ReadableTable

START_MS = 1_700_000_000_000
BOUND_CHARACTERS = 32
"""Characters of a string that Delta Spark keeps in a bound."""


def build_cut_bounds() -> ReadableTable:
    """Build a table whose string bounds are cut off; the maximum ends with a character that is larger than the rest.

    Source: Per-file Statistics (all revisions).
    """
    names = ["a" * 40, "b" * 40, "c" * BOUND_CHARACTERS + "d"]
    rows = pa.table({"name": pa.array(names, pa.string())})
    stats = {
        "numRecords": len(names),
        "minValues": {"name": min(names)[:BOUND_CHARACTERS]},
        "maxValues": {"name": max(names)[:BOUND_CHARACTERS] + "\x7f"},
        "nullCount": {"name": 0},
    }
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action([("name", "string")])]
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", rows, stats=json.dumps(stats))]
    files.written_ms = {LOG + commit_name(version): START_MS + version for version in files.commits}
    return describe_table(files, rows, ("0: create the table", "1: append long strings, with cut bounds"))


SOUND_TABLES: dict[str, Callable[[], ReadableTable]] = {"cut-bounds": build_cut_bounds}
"""All tables by name."""
