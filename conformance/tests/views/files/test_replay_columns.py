"""Columns of file actions that replay keeps."""

import json

import polars as pl

from deltaspec.validation.stored_rows import to_stored_table
from deltaspec.views.files.file_action_facts import FileContext, Provenance, build_file_facts
from deltaspec.views.files.file_replay import select_replay_columns
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec_generators.table_files import add_action


def select_from(paths: list[str]) -> pl.DataFrame:
    """Return the columns for adds of some paths."""
    lines = "\n".join(json.dumps(add_action(path, rows=1)) for path in paths)
    context = FileContext({}, deletion_vectors_supported=True)
    facts = build_file_facts(decode_lines(lines.encode()).files.table(), Provenance("commit", "file", 1), context)
    return select_replay_columns(facts, compared=False)


def test_only_paths_that_differ_from_their_key_are_kept() -> None:
    rows = select_from(["a%20b.parquet", "c.parquet", "./d.parquet", "%zz"])
    assert rows.select("path", "path_key").rows() == [
        ("a%20b.parquet", "a b.parquet"),
        (None, "c.parquet"),
        ("./d.parquet", "d.parquet"),
        (None, "%zz"),
    ]


def test_bytes_of_other_paths_are_not_stored() -> None:
    rows = select_from(["a%20b.parquet", *(f"{number}{'c' * 90}.parquet" for number in range(100))])
    stored = to_stored_table(rows.select("path")).column("path")
    assert stored.null_count == 100
    assert stored.chunk(0).buffers()[2].size < 100
