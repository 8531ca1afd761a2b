"""`show --files` on small tables, compared with values computed by hand."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.cli import main
from deltaspec.errors import TableUnreadable
from deltaspec.report.description import FileFacts, FilesDescription, PartitionFacts, RowsPerFile, SizeBin
from deltaspec.validation.describe import table_description
from deltaspec.validation.describe.file_description import MAX_BINS, SMALL_FILE_LIMIT, build_size_bins, describe_files
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    add_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases.log_only import build_checkpointed_table

VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 36}


def describe_table(tmp_path: Path, *actions: Any, at: int | None = None, **metadata: Any) -> FilesDescription:
    """Describe the files of a table with one commit of these actions after its creation."""
    files = TableFiles()
    fields = metadata.pop("fields", [("id", "long"), ("p", "string"), ("q", "integer")])
    protocol = protocol_action(3, 7, ["columnMapping", "deletionVectors"], ["columnMapping", "deletionVectors"])
    files.commits[0] = [protocol, metadata_action(fields, **metadata)]
    files.commits[1] = list(actions)
    write_table(files, tmp_path / "table")
    return describe_files(str(tmp_path / "table"), at=at)


def test_sizes_rows_and_statistics_are_summarized(tmp_path: Path) -> None:
    found = describe_table(
        tmp_path,
        add_action("a", rows=10, size=1),
        add_action("b", rows=30, size=3),
        add_action("c", size=SMALL_FILE_LIMIT),
        add_action("d", size=SMALL_FILE_LIMIT - 1, stats="{}"),
        add_action("e", size=0, stats='{"minValues":{"id":1}}'),
    )
    assert (found.files, found.bytes, found.median_bytes) == (5, 2 * SMALL_FILE_LIMIT + 3, 3.0)
    assert (found.small_below, found.small_files, found.small_bytes) == (SMALL_FILE_LIMIT, 4, SMALL_FILE_LIMIT + 3)
    assert found.rows == RowsPerFile(least=10, median=20.0, most=30, total=40)
    assert (found.files_without_row_count, found.files_without_statistics) == (3, 2)
    assert [each.path for each in found.largest] == ["c", "d", "b", "a", "e"]
    assert found.smallest[0] == FileFacts(path="e", bytes=0)
    assert found.partitions is None


def test_only_live_files_count(tmp_path: Path) -> None:
    removed = add_action("a", rows=1, size=7)
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")]), removed, add_action("b", size=9)]
    files.commits[1] = [remove_action(removed)]
    write_table(files, tmp_path)
    assert describe_files(str(tmp_path)).bytes == 9
    assert describe_files(str(tmp_path), at=0).bytes == 16


def test_checkpoint_gives_the_same_description(tmp_path: Path) -> None:
    files = TableFiles()
    head = [protocol_action(1, 2), metadata_action([("id", "long"), ("p", "string")], ["p"])]
    adds = [add_action(f"{number}", rows=number, partition={"p": "x"}, size=100 * number) for number in (1, 2, 3)]
    files.commits[0] = head
    files.commits[1] = [*adds, add_action("4", partition={"p": "y"}, size=50)]
    write_table(files, tmp_path / "commits")
    files.checkpoints.append(CheckpointFiles(1, rows=[*head, *files.commits[1]]))
    del files.commits[0]
    write_table(files, tmp_path / "checkpoint")
    one, other = (
        json.loads(CliRunner().invoke(main, ["show", "--files", "--format", "json", str(tmp_path / name)]).stdout_bytes)
        for name in ("commits", "checkpoint")
    )
    assert one.pop("table") != other.pop("table")
    assert one == other
    assert (one["bytes"], one["rows"]["total"], one["files_without_statistics"]) == (650, 6, 1)


def test_deleted_rows_are_counted(tmp_path: Path) -> None:
    found = describe_table(
        tmp_path,
        add_action("a", rows=10),
        add_action("b", rows=20, deletionVector={**VECTOR, "cardinality": 4}),
        add_action("c", rows=30, deletionVector={**VECTOR, "offset": 99, "cardinality": 5}),
    )
    assert (found.files_with_deletion_vector, found.deleted_records, found.rows_under_vectors) == (2, 9, 50)


def test_rows_under_vectors_are_unknown_without_row_counts(tmp_path: Path) -> None:
    found = describe_table(tmp_path, add_action("b", deletionVector={**VECTOR, "cardinality": 4}))
    assert (found.deleted_records, found.rows_under_vectors, found.rows) == (4, None, None)


def test_partitions_are_ranked_by_bytes_and_by_files(tmp_path: Path) -> None:
    found = describe_table(
        tmp_path,
        add_action("a", partition={"p": "x", "q": "1"}, size=10),
        add_action("b", partition={"q": "1", "p": "x"}, size=10),
        add_action("c", partition={"p": "y", "q": "1"}, size=90),
        add_action("d", partition={"p": None, "q": "2"}, size=30),
        add_action("e", partition={"p": "", "q": "2"}, size=20),
        partition_columns=["q", "p"],
    ).partitions
    assert found is not None
    assert (found.columns, found.count, found.median_files, found.median_bytes) == (["q", "p"], 3, 2.0, 50.0)
    empty = PartitionFacts(values={"q": "2", "p": None}, files=2, bytes=50)
    both = PartitionFacts(values={"q": "1", "p": "x"}, files=2, bytes=20)
    large = PartitionFacts(values={"q": "1", "p": "y"}, files=1, bytes=90)
    assert found.by_bytes == [large, empty, both]
    assert found.by_files == [empty, both, large]


def test_partitions_have_logical_names(tmp_path: Path) -> None:
    ids = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    field = {"name": "day", "type": "string", "nullable": True, "metadata": ids}
    found = describe_table(
        tmp_path,
        add_action("a", partition={"col-1": "x"}),
        fields=[field],
        partition_columns=["day"],
        configuration={"delta.columnMapping.mode": "name"},
    ).partitions
    assert found is not None
    assert found.by_bytes == [PartitionFacts(values={"day": "x"}, files=1, bytes=1000)]


@pytest.mark.parametrize("value", ["\x1f", "\x1e", "a\x1fq\x1eb", "\x1fp\x1e", "\x1b[2J"])
def test_partition_value_may_contain_any_character(tmp_path: Path, value: str) -> None:
    found = describe_table(tmp_path, add_action("a", partition={"p": value}), partition_columns=["p"]).partitions
    assert found is not None
    assert found.by_bytes[0].values == {"p": value}


def test_invalid_sizes_are_counted_separately_and_totals_do_not_overflow(tmp_path: Path) -> None:
    most = 2**63 - 1
    actions = [add_action("a", size=most), add_action("b", size=most), add_action("c", size=-5)]
    found = describe_table(tmp_path, *actions)
    assert (found.files, found.files_without_size, found.bytes) == (3, 1, 2 * most)
    assert found.sizes == [SizeBin(at_least=1 << 62, below=1 << 63, files=2, bytes=2 * most)]
    assert [each.path for each in found.smallest] == ["a", "b"]


def test_table_without_files(tmp_path: Path) -> None:
    found = describe_table(tmp_path, partition_columns=["p"])
    assert (found.files, found.bytes, found.median_bytes, found.sizes, found.rows) == (0, 0, None, [], None)
    assert found.partitions is not None
    assert found.partitions.count == 0


def test_checkpoint_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits |= {version: [add_action(f"file-{version}")] for version in (1, 2, 3)}
    write_table(files, tmp_path / "table")
    log = tmp_path / "table/_delta_log"
    names = [f"{version:020}.checkpoint.parquet" for version in (2, 1)]
    for name in names:
        (log / name).write_bytes(b"PAR1")
    table, of_files = (
        json.loads(CliRunner().invoke(main, ["show", *more, "--format", "json", str(tmp_path / "table")]).stdout_bytes)
        for more in ([], ["--files"])
    )
    assert (table["files"], of_files["files"]) == (3, 3)
    assert list(table["unread_checkpoints"]) == list(of_files["unread_checkpoints"]) == names
    assert table["log"]["checkpoints"] == [[1, "classic"], [2, "classic"]]
    assert (
        "not read   00000000000000000002.checkpoint.parquet: "
        in CliRunner().invoke(main, ["show", str(tmp_path / "table")]).stdout
    )
    (log / f"{1:020}.json").unlink()
    refused = CliRunner().invoke(main, ["show", str(tmp_path / "table")])
    assert refused.exit_code == 2
    assert names[0] in refused.stderr


def write_log(table: Path, versions: int) -> None:
    """Write a table to which each version after the first adds a file."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    files.commits |= {version: [add_action(f"file-{version}")] for version in range(1, versions)}
    write_table(files, table)


def write_log_with_checkpoints(table: Path, versions: int, parts: int = 1) -> list[str]:
    """Write a table with a damaged checkpoint, of one or more parts, of each version after the first; return names."""
    write_log(table, versions)
    suffixes = [f".{part:010}.{parts:010}" for part in range(1, parts + 1)] if parts > 1 else [""]
    names = [f"{version:020}.checkpoint{each}.parquet" for version in range(1, versions) for each in suffixes]
    for name in names:
        (table / "_delta_log" / name).write_bytes(b"PAR1")
    return names


def test_number_of_checkpoints_that_cannot_be_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log_with_checkpoints(tmp_path / "table", 4)
    monkeypatch.setattr(table_description, "MAX_UNREAD", 3)
    assert describe_files(str(tmp_path / "table")).files == 3
    monkeypatch.setattr(table_description, "MAX_UNREAD", 2)
    with pytest.raises(TableUnreadable, match="checkpoint"):
        describe_files(str(tmp_path / "table"))


def test_unread_checkpoint_is_named_by_its_first_part(tmp_path: Path) -> None:
    names = write_log_with_checkpoints(tmp_path / "table", 2, parts=2)
    assert list(describe_files(str(tmp_path / "table")).unread_checkpoints) == names[:1]


def test_damaged_commit_after_a_checkpoint_is_the_problem(tmp_path: Path) -> None:
    files = build_checkpointed_table()
    files.commits[2].append('{"add":7}')
    write_table(files, tmp_path)
    (tmp_path / f"_delta_log/{0:020}.json").unlink()
    with pytest.raises(TableUnreadable, match=r"run `deltaspec validate` to see where"):
        describe_files(str(tmp_path))


def test_first_missing_commit_is_named(tmp_path: Path) -> None:
    write_log(tmp_path, 6)
    for version in (1, 2, 3):
        (tmp_path / f"_delta_log/{version:020}.json").unlink()
    with pytest.raises(TableUnreadable, match="commit 1 is missing"):
        describe_files(str(tmp_path))


def test_log_that_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableUnreadable, match="run `deltaspec validate` to see where"):
        describe_table(tmp_path, '{"add":7}')


@pytest.mark.parametrize(
    ("action", "metadata"),
    [
        (add_action("a", partition={"other": "x"}), {"partition_columns": ["p"]}),
        (add_action("a", partition={"p": "x", "other": "y"}), {"partition_columns": ["p", "q"]}),
        (add_action("a", partition={"p": "x"}), {"partition_columns": ["p", "nowhere"]}),
        (add_action("a", partition={"p": "x"}), {"partition_columns": ["p", "p"]}),
        (add_action("a", stats="{"), {}),
        (add_action("a", stats="[]"), {}),
        (add_action("a", stats='{"numRecords":-5}'), {}),
        (add_action("a", stats=f'{{"numRecords":{2**63 - 1}}}'), {}),
        (add_action("a", rows=1, deletionVector={**VECTOR, "cardinality": -(2**63)}), {}),
        (add_action("a", size=2**63 - 1), {}),
        (add_action("a", size=-(2**63)), {}),
        (add_action(""), {}),
        (add_action("%zz"), {}),
        (add_action("x" * 100_000), {}),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_unusual_actions_are_shown_or_refused(action: Any, metadata: dict[str, Any], form: str, tmp_path: Path) -> None:
    files = TableFiles()
    files.commits[0] = [
        protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"]),
        metadata_action([("id", "long"), ("p", "string"), ("q", "integer")], **metadata),
        action,
    ]
    write_table(files, tmp_path / "table")
    result = CliRunner().invoke(main, ["show", "--files", "--format", form, str(tmp_path / "table")])
    assert result.exit_code in (0, 2)
    assert result.exit_code == 2 or form == "json" or max(map(len, result.stdout.splitlines())) <= 100
    assert result.exit_code == 0 or result.stderr.startswith("deltaspec: ")


def test_table_is_not_changed(tmp_path: Path) -> None:
    describe_table(tmp_path, add_action("a"))
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    describe_files(str(tmp_path / "table"))
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: (stat.st_mtime_ns, stat.st_size) for path, stat in before.items()} == {
        path: (stat.st_mtime_ns, stat.st_size) for path, stat in after.items()
    }


class TestSizeBins:
    def test_bounds_are_powers_of_two(self) -> None:
        assert build_size_bins(pl.Series([1023, 1024, 1024, 2047, 2048], dtype=pl.Int64)) == [
            SizeBin(at_least=512, below=1024, files=1, bytes=1023),
            SizeBin(at_least=1024, below=2048, files=3, bytes=4095),
            SizeBin(at_least=2048, below=4096, files=1, bytes=2048),
        ]

    def test_empty_file_is_in_the_first_bin(self) -> None:
        assert build_size_bins(pl.Series([0, 1], dtype=pl.Int64)) == [
            SizeBin(at_least=0, below=1, files=1, bytes=0),
            SizeBin(at_least=1, below=2, files=1, bytes=1),
        ]

    @given(st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 70), min_size=1))
    def test_every_size_is_in_the_matching_bin(self, sizes: list[int]) -> None:
        found = build_size_bins(pl.Series(sizes, dtype=pl.Int64))
        assert len(found) <= MAX_BINS
        for each in found:
            inside = [size for size in sizes if each.at_least <= size < each.below]
            assert (each.files, each.bytes) == (len(inside), sum(inside))
        assert sum(each.files for each in found) == len(sizes)
        assert [(one, other) for one, other in pairwise(found) if one.below != other.at_least] == []
        assert found[0].files
        assert found[-1].files


class TestCommand:
    @pytest.fixture
    def table(self, tmp_path: Path) -> str:
        partitions = {"a": "\x1b[2J", "b": "x"}
        actions = [add_action(name, rows=3, partition={"p": value}) for name, value in partitions.items()]
        describe_table(tmp_path, *actions, partition_columns=["p"])
        return str(tmp_path / "table")

    def test_piped_text_has_no_escape_sequences(self, table: str) -> None:
        result = CliRunner().invoke(main, ["show", "--files", table])
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout
        assert "p=\\x1b[2J\n" in result.stdout
        assert "\nrows       3 in every file\n" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 100

    def test_json_has_the_same_facts(self, table: str) -> None:
        shown = json.loads(CliRunner().invoke(main, ["show", "--files", "--format", "json", table]).stdout)
        assert (shown["files"], shown["bytes"], shown["rows"]["total"]) == (2, 2000, 6)
        assert [each["values"]["p"] for each in shown["partitions"]["by_bytes"]] == ["\x1b[2J", "x"]

    def test_table_of_one_file_has_no_chart(self, tmp_path: Path) -> None:
        describe_table(tmp_path, add_action("a", rows=3, partition={"p": "x"}), partition_columns=["p"])
        printed = CliRunner().invoke(main, ["show", "--files", str(tmp_path / "table")]).stdout
        assert "\nfiles      1 file, 1000 B\n" in printed
        assert [word for word in ("largest", "partition", "from ") if word in printed] == []
