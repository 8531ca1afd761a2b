"""Tables with a verdict, and ways to put their faults into another place of a table."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming, SidecarFile
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    protocol_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.bases.column_mapping import (
    build_mapped_field,
)

SIDECAR = "00000000-0000-4000-8000-000000000001.parquet"
FOOTERS = {"level": "footers"}
FILES = {"level": "files"}
ROWS = {"level": "rows"}


class Case(NamedTuple):
    """A table and its judgement."""

    name: str
    build: Callable[[], TableFiles]
    verdict: str
    rules: set[str]
    """Codes of all rules that report it."""
    options: Mapping[str, Any] = MappingProxyType({})
    """Options of the validation; by default of level `log`, with the complete history."""

    @property
    def judgement(self) -> tuple[str, set[str]]:
        """Verdict and codes."""
        return self.verdict, self.rules


def judge(case: Case, directory: Path) -> tuple[str, set[str]]:
    """Write the table and return its verdict and the codes of the rules that report it."""
    write_table(case.build(), directory)
    options: dict[str, Any] = {"level": "log", "history": "all", **case.options}
    report = deltaspec.validate(str(directory), **options)
    return report.verdict, set(report.totals)


def parametrize(*cases: Case) -> pytest.MarkDecorator:
    """Parametrize a test with the argument `case`."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def begin_with_checkpoint(files: TableFiles, naming: Naming = "classic", *, sidecar: bool = False) -> TableFiles:
    """Replace commit 0 and the actions of commit 1 by a checkpoint of version 1."""
    rows = deepcopy(log_only.build_state_rows(files))
    if not sidecar:
        parts = 2 if naming == "multipart" else 1
        files.checkpoints.append(CheckpointFiles(1, naming, rows=rows, parts=parts))
    else:
        body = rows[0]["protocol"]
        for name in ("readerFeatures", "writerFeatures"):
            body[name] = [*body.get(name, []), "v2Checkpoint"]
        body.update(minReaderVersion=3, minWriterVersion=7)
        adds = [row for row in rows if "add" in row]
        head: Any = {"checkpointMetadata": {"version": 1}}
        table = [row for row in rows if "add" not in row]
        sidecars = [SidecarFile(SIDECAR, rows=adds)]
        files.checkpoints.append(CheckpointFiles(1, "uuid-parquet", rows=[head, *table], sidecars=sidecars))
    files.commits = {version: lines for version, lines in files.commits.items() if version}
    files.commits[1] = [commit_info_action(1)]
    return files


def begin_with_sidecar(files: TableFiles) -> TableFiles:
    """Replace commit 0 and the actions of commit 1 by a V2 checkpoint whose adds are in a sidecar."""
    return begin_with_checkpoint(files, sidecar=True)


def edit_schema(files: TableFiles, edit: Callable[[str], str]) -> TableFiles:
    """Change the schema string of version 0."""
    body = get_action(files, 0, "metaData")
    before, body["schemaString"] = body["schemaString"], edit(body["schemaString"])
    assert body["schemaString"] != before, before
    return files


def build_repeated_domain() -> TableFiles:
    """Build a clustered table whose domain has a key twice."""
    files = build_clustered_table()
    get_action(files, 0, "domainMetadata")["configuration"] = '{"clusteringColumns":["id"],"clusteringColumns":["id"]}'
    return files


def build_partitioned_table() -> TableFiles:
    """Build a table partitioned by a string column `p`."""
    return log_only.build_table(fields=(("id", "long"), ("p", "string")), partition_columns=["p"], partition={"p": "1"})


def build_mapped_partitions() -> TableFiles:
    """Build a table partitioned by a string column `p` whose physical name is `col-2`."""
    return log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        fields=[build_mapped_field("id", 1), build_mapped_field("p", 2, "string")],
        partition_columns=["p"],
        partition={"col-2": "1"},
    )


def change_configuration(files: TableFiles, **configuration: str) -> TableFiles:
    """Replace the table properties in version 3."""
    body = get_action(files, 0, "metaData")
    files.commits[3] = [commit_info_action(3), {"metaData": {**body, "configuration": configuration}}]
    return files


def forget_first_commit(files: TableFiles) -> TableFiles:
    """Delete the commit of the checkpoint that the log begins with."""
    del files.commits[1]
    return files
