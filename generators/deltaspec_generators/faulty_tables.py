"""Tables that no reader may read, each with its good twin.

Either the protocol obliges a reader to refuse them, or every answer would be wrong because a part of the table is
missing or damaged. A reader that also refuses the twin proves nothing. The suite `refuse` asks engines about these
tables, the golden tables contain them, and tables with a `level` are planted faults.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal, TypeAlias
from zlib import crc32

import msgspec
import pyarrow as pa

from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.property_names import TYPE_CHANGES, TYPE_WIDENING
from deltaspec.scales import Level
from deltaspec_generators.catalog_managed import manage, withhold
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row, SidecarFile
from deltaspec_generators.small_tables import (
    VECTOR_FILE_UUID,
    build_rows,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action, protocol_action
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.written import describe_table

Reason: TypeAlias = Literal["unsupported", "damaged", "damaged or unsupported"]
"""Why a reader must refuse a table: it needs what the reader does not support, or a part is missing or damaged."""
VECTOR_FILE = f"deletion_vector_{VECTOR_FILE_UUID}.bin"


class FaultyTable(msgspec.Struct, frozen=True):
    """A faulty table and its twin."""

    name: str
    requires: tuple[str, ...]
    """Violated requirements."""
    defect: str
    """Difference to the twin, as a clause: "commit 1 is missing"."""
    reason: Reason
    level: Level | None
    """Level at which validation reports the first requirement and nothing else; the table is then a planted fault, too.

    None if validation reports nothing or another requirement, or if a planted fault has better log lines to show.
    """
    build_files: Callable[[], TableFiles]
    """Build the files of the twin."""
    damage: Callable[[TableFiles], None]
    """Turn the twin into the faulty table."""
    rows: Callable[[], pa.Table]
    """Rows of the twin."""
    features: tuple[str, ...] = ()
    """Reader features that the faulty table has in addition, if that is the difference."""

    def build_twin(self) -> ReadableTable:
        return describe_table(self.build_files(), self.rows())

    def build_faulty(self) -> TableFiles:
        files = deepcopy(self.build_files())
        self.damage(files)
        return files


FAULTY_TABLES: dict[str, FaultyTable] = {}
"""All cases by name."""


def _faulty(
    *requires: str,
    defect: str,
    reason: Reason = "damaged",
    level: Level | None = None,
    files: Callable[[], TableFiles] = build_table_with_data,
    rows: Callable[[], pa.Table] | None = None,
    features: tuple[str, ...] = (),
) -> Callable[[Callable[[TableFiles], None]], Callable[[TableFiles], None]]:
    def register(damage: Callable[[TableFiles], None]) -> Callable[[TableFiles], None]:
        name = damage.__name__.removeprefix("_").replace("_", "-")
        FAULTY_TABLES[name] = FaultyTable(
            name, requires, defect, reason, level, files, damage, rows or _build_live_rows, features
        )
        return damage

    return register


def _build_live_rows() -> pa.Table:
    """Rows of files b and c of `build_table_with_data`."""
    return pa.concat_tables([build_rows(10), build_rows(20)])


def _build_undeleted_rows() -> pa.Table:
    """Rows of `build_table_with_stored_vectors`."""
    b, c = build_rows(10), build_rows(20)
    return pa.concat_tables([b.take([0, 2, *range(4, 10)]), c.take([0, 1, *range(3, 10)])])


def _replace_protocol(files: TableFiles, protocol: Row) -> None:
    files.commits[0] = [
        protocol if isinstance(line, dict) and "protocol" in line else line for line in files.commits[0]
    ]


def _build_checkpointed_table(protocol: Row | None = None, **layout: Any) -> TableFiles:
    """Build the table of `build_table_with_data` with a checkpoint of version 2 and without the commits before it.

    `layout` has fields of `CheckpointFiles`.
    """
    files = build_table_with_data(protocol=protocol)
    table = [line for line in files.commits[0] if isinstance(line, dict) and "commitInfo" not in line]
    adds = [_without_change(files.commits[1][2]), _without_change(files.commits[2][1])]
    files.checkpoints = [CheckpointFiles(2, rows=[*table, *adds], **layout)]
    for version in (0, 1):
        del files.commits[version]
    return files


def _without_change(line: object) -> Row:
    assert isinstance(line, dict)
    return {"add": {**line["add"], "dataChange": False}}


def _build_v2_table() -> TableFiles:
    """Build a table whose V2 checkpoint has its files in two sidecars."""
    features = ["v2Checkpoint"]
    files = _build_checkpointed_table(
        protocol=protocol_action(3, 7, features, features), naming="uuid-parquet", v2=True
    )
    (checkpoint,) = files.checkpoints
    rows = [row for row in checkpoint.rows if isinstance(row, dict)]
    adds = [row for row in rows if "add" in row]
    checkpoint.rows = [{"checkpointMetadata": {"version": 2}}, *(row for row in rows if "add" not in row)]
    checkpoint.sidecars = [SidecarFile(f"sidecar-{index}.parquet", [row]) for index, row in enumerate(adds)]
    return files


# --- protocol -------------------------------------------------------------------------------------------------------


@_faulty(
    "table-features.reader-supports-all",
    defect="the protocol lists an unknown reader feature",
    reason="unsupported",
)
def _unknown_reader_feature(files: TableFiles) -> None:
    feature = ["deltaspecUnknownFeature"]
    _replace_protocol(files, protocol_action(3, 7, feature, feature))


@_faulty(
    "table-features.reader-supports-all",
    "protocol.latest-holds",
    defect="the newest commit adds an unknown reader feature",
    reason="unsupported",
)
def _unknown_reader_feature_later(files: TableFiles) -> None:
    feature = ["deltaspecUnknownFeature"]
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, feature, feature)]


@_faulty(
    "table-features.reader-supports-all",
    defect="the protocol in the checkpoint lists an unknown reader feature",
    reason="unsupported",
    files=_build_checkpointed_table,
)
def _unknown_reader_feature_in_checkpoint(files: TableFiles) -> None:
    feature = ["deltaspecUnknownFeature"]
    (checkpoint,) = files.checkpoints
    checkpoint.rows = [
        protocol_action(3, 7, feature, feature) if isinstance(row, dict) and "protocol" in row else row
        for row in checkpoint.rows
    ]


@_faulty("protocol.versions-supported", defect="minReaderVersion is 4", reason="unsupported")
def _reader_version_4(files: TableFiles) -> None:
    _replace_protocol(files, protocol_action(4, 8))


@_faulty("protocol.versions-supported", defect="minReaderVersion is 2147483647", reason="unsupported")
def _largest_reader_version(files: TableFiles) -> None:
    _replace_protocol(files, protocol_action(2**31 - 1, 2**31 - 1))


def _build_widened_table() -> TableFiles:
    """Build a table whose column `price` was float and is double, with type widening."""
    return build_table_with_data(
        protocol=protocol_action(3, 7, ["typeWidening"], ["typeWidening"]),
        configuration={TYPE_WIDENING: "true"},
        fields=[("id", "long"), ("name", "string"), _price_field("float", "double")],
    )


def _price_field(before: str, after: str) -> Row:
    changes = [{"fromType": before, "toType": after}]
    return {"name": "price", "type": after, "nullable": True, "metadata": {TYPE_CHANGES: changes}}


@_faulty(
    "type-widening.refused-by-readers",
    defect="the schema records a change from string to double",
    reason="unsupported",
    files=_build_widened_table,
)
def _unsupported_type_change(files: TableFiles) -> None:
    fields: list[Any] = [("id", "long"), ("name", "string"), _price_field("string", "double")]
    files.commits[3] = [
        commit_info_action(3),
        metadata_action(fields, configuration={TYPE_WIDENING: "true"}),
    ]


@_faulty(
    *(
        "catalog-managed.found-by-readers",
        "catalog-managed.found-by-writers",
        "catalog-managed.catalog-asked-first",
        "catalog-managed.committed-by-catalog",
    ),
    defect="a catalog manages the table, and knows a version that is not published",
    reason="unsupported",
    features=(FEATURE,),
)
def _catalog_managed(files: TableFiles) -> None:
    manage(files)
    _withhold(files, 1)


@_faulty(
    "catalog-managed.found-by-readers",
    "catalog-managed.catalog-asked-first",
    defect="a catalog manages the table, whose versions are all published",
    reason="unsupported",
    features=(FEATURE,),
)
def _catalog_managed_all_published(files: TableFiles) -> None:
    manage(files)


@_faulty(
    "catalog-managed.found-by-readers",
    "log.staged-not-interpreted",
    defect="a catalog manages the table, which has only staged commits",
    reason="damaged or unsupported",
    features=(FEATURE,),
)
def _catalog_managed_nothing_published(files: TableFiles) -> None:
    manage(files)
    _withhold(files, -1)


def _withhold(files: TableFiles, published: int) -> None:
    """Leave commits unpublished."""
    changed, _ = withhold(files, published)
    files.commits, files.extra = changed.commits, changed.extra


# --- log ------------------------------------------------------------------------------------------------------------


@_faulty("log.versions-contiguous", defect="commit 1 is missing", level="log")
def _commit_gap(files: TableFiles) -> None:
    del files.commits[1]


@_faulty("log.versions-contiguous", defect="commit 0 is missing and there is no checkpoint", level="log")
def _first_commit_missing(files: TableFiles) -> None:
    del files.commits[0]


@_faulty("log.commit-lines", defect="the newest commit ends within a line")
def _commit_cut_off(files: TableFiles) -> None:
    files.commits[3] = ['{"add":{"path":"d.parquet","partitionValues":{},"size":1,"modif']


# --- checkpoints ----------------------------------------------------------------------------------------------------


def _build_multipart_table() -> TableFiles:
    return _build_checkpointed_table(naming="multipart", parts=2, part_numbers=[1, 1, 1, 2])


@_faulty(
    "checkpoint.incomplete-ignored",
    defect="a part of the only checkpoint is missing",
    files=_build_multipart_table,
)
def _checkpoint_part_missing(files: TableFiles) -> None:
    files.missing.add(f"_delta_log/{files.checkpoints[0].names[1]}")


@_faulty("sidecar.exists", defect="a sidecar is missing", level="log", files=_build_v2_table)
def _sidecar_missing(files: TableFiles) -> None:
    files.missing.add("_delta_log/_sidecars/sidecar-1.parquet")


@_faulty(
    "checkpoint.format", defect="the only checkpoint is not a Parquet file", level="log",
    files=_build_checkpointed_table,
)  # fmt: skip
def _checkpoint_damaged(files: TableFiles) -> None:
    files.extra[f"_delta_log/{files.checkpoints[0].names[0]}"] = b"PAR1 is not all that it takes PAR1"


# --- data files and deletion vectors --------------------------------------------------------------------------------


@_faulty("add.file-exists", defect="a live data file is missing", level="files")
def _data_file_missing(files: TableFiles) -> None:
    files.missing.add("c.parquet")


@_faulty("add.file-exists", defect="a live data file is cut off")
def _data_file_cut_off(files: TableFiles) -> None:
    data = files.data["c.parquet"]
    assert isinstance(data, bytes)
    files.data["c.parquet"] = data[: len(data) // 2]


@_faulty(
    "deletion-vectors.path-resolved",
    defect="the file of the deletion vectors is missing",
    level="files",
    files=build_table_with_stored_vectors,
    rows=_build_undeleted_rows,
)
def _vector_file_missing(files: TableFiles) -> None:
    files.missing.add(VECTOR_FILE)


@_faulty(
    "deletion-vectors.file-checksum",
    defect="a byte of a deletion vector is damaged",
    level="files",
    files=build_table_with_stored_vectors,
    rows=_build_undeleted_rows,
)
def _vector_damaged(files: TableFiles) -> None:
    data = bytearray(files.extra[VECTOR_FILE])
    data[-6] ^= 0x01  # the last row index of the last vector, before its checksum
    files.extra[VECTOR_FILE] = bytes(data)


@_faulty(
    "deletion-vectors.magic",
    defect="the deletion vectors have another magic number",
    reason="damaged or unsupported",
    level="files",
    files=build_table_with_stored_vectors,
    rows=_build_undeleted_rows,
)
def _vector_format_unknown(files: TableFiles) -> None:
    data = bytearray(files.extra[VECTOR_FILE])
    end = 5 + int.from_bytes(data[1:5], "big")  # after the version of the file and the size of the first vector
    data[5:9] = bytes(4)
    data[end : end + 4] = crc32(data[5:end]).to_bytes(4, "big")
    files.extra[VECTOR_FILE] = bytes(data)
