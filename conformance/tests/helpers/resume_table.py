"""Table and options of the tests of resumed runs."""

import json
from typing import Any

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases.log_only import build_state_rows

OPTIONS: dict[str, Any] = {"level": "rows", "history": "all", "clock": 1_700_000_600_000}


def build_full_table() -> TableFiles:
    """Build a table with input for every stage: derived files, vectors, change data, a constraint and broken files."""
    files = build_table_with_stored_vectors()
    features = ["deletionVectors", "changeDataFeed", "checkConstraints"]
    files.commits[0][1] = protocol_action(3, 7, ["deletionVectors"], features)
    configuration = get_action(files, 0, "metaData")["configuration"]
    configuration["delta.enableChangeDataFeed"] = "true"
    configuration["delta.constraints.cheap"] = "round(price) < 24 AND upper(name) <> 'GONE'"
    first = files.commits[1][1]
    assert isinstance(first, dict)
    files.checkpoints.append(CheckpointFiles(1, rows=build_state_rows(files)[:-1]))
    files.data["_change_data/cdc-0.parquet"] = encode_data_file(build_rows(40, 2))
    cdc = {"path": "_change_data/cdc-0.parquet", "partitionValues": {}, "size": 1, "dataChange": False}
    files.commits[4] = [
        commit_info_action(4),
        add_data_file(files, "d.parquet", build_rows(30)),
        {"cdc": cdc},
        remove_action(first),
    ]
    wrong = json.dumps({"numRecords": 7, "minValues": {"id": 45}, "maxValues": {"id": 41}, "nullCount": {"id": 1}})
    files.commits[5] = [
        commit_info_action(5),
        add_data_file(files, "e.parquet", build_rows(40), stats=wrong),
        add_data_file(files, "f.parquet", build_rows(50), size=3),
        add_action("g.parquet", rows=10),
    ]
    files.checksums[5] = {"tableSizeBytes": 1, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}
    return files
