"""Valid tables of deletion vectors and their files, with corrected examples of the protocol."""

from typing import Any

from deltaspec_generators.small_tables import VECTOR_FILE_UUID, build_table_with_stored_vectors
from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.bases import log_only
from planted_tables.permissions.registry import permission

_FILE = f"deletion_vector_{VECTOR_FILE_UUID}.bin"
_EXAMPLE = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
"""Rows of the protocol's inline example in the encoding that the protocol describes (E08): 44 bytes."""


_PARTITION_COLUMN = ',{"name":"p","type":"string","nullable":true,"metadata":{}}'


def _build_table_with_prefixed_vectors() -> TableFiles:
    """Build vectors in the file that the protocol's first example names."""
    files = build_table_with_stored_vectors()
    for which in (0, 1):
        get_action(files, 3, "add", which)["deletionVector"]["pathOrInlineDv"] = "ab^-aqEH.-t@S}K{vb[*k^"
    files.extra["ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"] = files.extra.pop(_FILE)
    return files


def _build_inline_table(text: str, size: int, cardinality: int, **more: Any) -> TableFiles:
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size, "cardinality": cardinality}
    return log_only.build_table_with_vector({**vector, **more}, rows=200)


@permission("deletion-vectors.inline-without-path")
def vector_in_the_log() -> TableFiles:
    """Rows 0 to 99 as one run: 31 bytes, padded with a zero."""
    return _build_inline_table("^Bg9^0rr910000000000j1{Tm0rraf009610aM0e", 31, 100)


@permission("deletion-vectors.example-of-a-path", "files")
def file_below_a_prefix() -> TableFiles:
    return _build_table_with_prefixed_vectors()


@permission("deletion-vectors.example-of-an-inline-vector")
def inline_example_made_right() -> TableFiles:
    return _build_inline_table(_EXAMPLE, 44, 6)


@permission("deletion-vectors.file-version-bytes", "files")
def version_in_one_byte() -> TableFiles:
    return build_table_with_stored_vectors()


@permission("deletion-vectors.file-of-several", "files")
def file_of_two_vectors() -> TableFiles:
    return build_table_with_stored_vectors(((0,), tuple(range(0, 10, 2))))


@permission("deletion-vectors.files-at-root", "files")
def vectors_beside_data_files() -> TableFiles:
    return build_table_with_stored_vectors()


@permission("deletion-vectors.files-of-many-partitions", "files")
def vectors_of_two_partitions_in_a_file() -> TableFiles:
    return _build_partitioned_table()


@permission("deletion-vectors.files-not-partitioned", "files")
def vectors_outside_the_folders_of_partitions() -> TableFiles:
    return _build_partitioned_table()


def _build_partitioned_table() -> TableFiles:
    """Build data files in separate partition directories, with both vectors in one file in the table root."""
    files = build_table_with_stored_vectors()
    metadata = get_action(files, 0, "metaData")
    metadata["schemaString"] = metadata["schemaString"][:-2] + _PARTITION_COLUMN + "]}"
    metadata["partitionColumns"] = ["p"]
    for line in (each for lines in files.commits.values() for each in lines if isinstance(each, dict)):
        body = line.get("add") or line.get("remove")
        if body is not None:
            name = body["path"]
            line["add" if "add" in line else "remove"] = {
                **body,
                "path": f"p={name[0]}/{name}",
                "partitionValues": {"p": name[0]},
            }
    files.data = {f"p={name[0]}/{name}": data for name, data in files.data.items()}
    return files
