"""Tables that list the feature clustering (DOM004, CLU004), and partition columns dropped under live files (FIL073)."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.clustering import CLUSTERING_PROTOCOL

FIELDS = (("id", "long"), ("p", "string"))
UNCLUSTERED = domain_action("delta.clustering", '{"clusteringColumns":[]}')


def totals(files: TableFiles, **options: Any) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        report = deltaspec.validate(str(Path(directory) / "table"), level="log", history="all", **options)
    return dict(report.totals)


def build_partitioned_table(*columns: str) -> TableFiles:
    return log_only.build_table(fields=FIELDS, partition_columns=columns, partition=dict.fromkeys(columns, "1"))


# clustering


@pytest.mark.parametrize("version", [0, 1, 3])
@pytest.mark.parametrize("domain", [[], [UNCLUSTERED]])
def test_clustering_feature_on_a_partitioned_table(version: int, domain: list[Any]) -> None:
    files = build_partitioned_table("p")
    if version == 0:
        files.commits[0] = [files.commits[0][0], CLUSTERING_PROTOCOL, files.commits[0][2], *domain]
    else:
        files.commits.setdefault(version, [commit_info_action(version)]).extend([CLUSTERING_PROTOCOL, *domain])
    assert totals(files) == {"DOM004": 1} | ({} if domain else {"CLU004": 1})


def test_partition_columns_of_a_later_version_and_of_a_checkpoint() -> None:
    files = log_only.build_table(fields=FIELDS, protocol=CLUSTERING_PROTOCOL, last_remove=False)
    files.commits = {0: [*files.commits[0], UNCLUSTERED]}
    assert totals(files) == {}
    files.commits[1] = [commit_info_action(1), metadata_action(FIELDS, ["p"])]
    assert totals(files) == {"DOM004": 1}
    state = [CLUSTERING_PROTOCOL, files.commits[1][1], UNCLUSTERED]
    files.checkpoints.append(CheckpointFiles(1, rows=state))
    files.commits = {1: files.commits[1]}
    assert totals(files) == {"DOM004": 1}


def test_clustering_domain_may_be_empty_but_not_absent() -> None:
    files = log_only.build_table(protocol=CLUSTERING_PROTOCOL)
    assert totals(files) == {"CLU004": 1}
    files.commits[0].append(UNCLUSTERED)
    assert totals(files) == {}
    removed = domain_action("delta.clustering", '{"clusteringColumns":[]}', removed=True)
    files.commits[3] = [commit_info_action(3), removed]
    assert totals(files) == {"CLU004": 1}
    files.commits[3].append(protocol_action(1, 7, None, ["domainMetadata"]))
    assert "CLU004" not in totals(files)


# partition columns


@pytest.mark.parametrize(
    ("before", "fields", "after", "found"),
    [
        (("p",), FIELDS, (), {"FIL073": 1}),
        (("p",), FIELDS[:1], (), {"FIL073": 1}),
        (("id", "p"), FIELDS, ("id",), {"FIL073": 1}),
        (("id", "p"), FIELDS, ("p", "id"), {}),
        (("p",), FIELDS, ("id",), {"FIL071": 1}),
    ],
)
@pytest.mark.parametrize("has_base", [False, True])
def test_partition_columns_change_under_live_files(
    has_base: bool, before: tuple[str, ...], fields: Any, after: tuple[str, ...], found: dict[str, int]
) -> None:
    files = build_partitioned_table(*before)
    if has_base:
        state = [*files.commits[0][1:], files.commits[1][2], files.commits[2][1], files.commits[2][2]]
        files.checkpoints.append(CheckpointFiles(2, rows=state))
        files.commits = {2: files.commits[2]}
    files.commits[3] = [commit_info_action(3), metadata_action(fields, after)]
    assert totals(files) == found


def test_replaced_files_and_null_values_lose_nothing() -> None:
    files = build_partitioned_table("p")
    new = metadata_action(FIELDS, ())
    live = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    files.commits[3] = [commit_info_action(3), new, *map(remove_action, live), add_action("d.parquet", rows=10)]
    assert totals(files) == {}
    files = log_only.build_table(fields=FIELDS, partition_columns=["p"], partition={"p": None})
    files.commits[3] = [commit_info_action(3), new]
    assert totals(files) == {}


def test_values_that_files_store_are_not_lost() -> None:
    protocol = protocol_action(3, 7, [], ["materializePartitionColumns"])
    files = log_only.build_table(fields=FIELDS, partition_columns=["p"], partition={"p": "1"}, protocol=protocol)
    files.commits[3] = [commit_info_action(3), metadata_action(FIELDS, ())]
    assert "FIL073" not in totals(files)
