"""Check the stored deletion vectors of live files: their files must exist and decode to valid vectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.validation.log.concurrent_writes import describe_missing_file
from deltaspec.views.data.data_files import DataFile
from deltaspec.views.files.file_actions import deletion_vectors
from deltaspec.wire.data.bitmap_decoder import decode_bitmap
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader, find_vector_key
from deltaspec.wire.storage.interface import FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

Row = dict[str, Any]
_FILLED = {
    "decode_fault": pl.String,
    "decoded_cardinality": pl.Int64,
    "decoded_last_row": pl.Int64,
    "vector_file": pl.String,
    "file_exists": pl.Boolean,
    "removed_since": pl.Boolean,
    "version_fault": pl.String,
    "version_width_fault": pl.String,
    "byte_order_fault": pl.String,
    "entry_fault": pl.String,
    "checksum_fault": pl.String,
    "overlapping_entry": pl.String,
}


_FAULTS = {
    "version": "version_fault",
    "width": "version_width_fault",
    "byte order": "byte_order_fault",
    "entry": "entry_fault",
    "checksum": "checksum_fault",
    "bitmap": "decode_fault",
}


def check_deletion_vectors(data: DataBucket, written: pl.DataFrame) -> None:
    """Evaluate the rules over every descriptor, and decode the vectors of live files.

    Args:
        data: the data.
        written: rows of the view `deletion_vectors`, every descriptor wherever it was written.
    """
    if not data.findings.has_rules_for(deletion_vectors) or written.is_empty():
        return
    facts = list(_stored(data))
    _look_for_removed(data, [fact for fact in facts if fact.get("file_exists") is False])
    if not facts:
        data.findings.evaluate(deletion_vectors, written)
        return
    keys = ["file", "line"]
    found = pl.DataFrame(
        {name: [fact.get(name) for fact in facts] for name in (*keys, *_FILLED)},
        schema={"file": pl.String, "line": pl.Int64, **_FILLED},
    )
    frame = written.join(found, on=keys, how="left", suffix="_stored")
    stored = [pl.coalesce(name, f"{name}_stored").alias(name) for name in _FILLED]
    data.findings.evaluate(deletion_vectors, frame.with_columns(stored).select(list(deletion_vectors.columns)))


def _stored(data: DataBucket) -> Iterator[Row]:
    """Read each stored vector of a live file, one vector file at a time."""
    rows = data.files.rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
    by_file: dict[str, list[tuple[DataFile, DeletionVectorDescriptor]]] = defaultdict(list)
    for file in type(data.files)(rows):
        descriptor = file.deletion_vector
        if descriptor is None:
            continue
        try:
            by_file[find_vector_key(descriptor, data.access.store.root)].append((file, descriptor))
        except DeletionVectorError:
            continue  # the descriptor names no file, which is a finding of level log
    done = 0
    for key in sorted(by_file):
        overlapping_entry = _overlaps([descriptor for _, descriptor in by_file[key]])
        for (file, descriptor), overlap in zip(by_file[key], overlapping_entry, strict=True):
            yield {
                "file": file.file,
                "line": file.line,
                "path": file.path,
                "path_key": file.path_key,
                "vector_file": key,
                "overlapping_entry": overlap,
                **_facts(data, key, file, descriptor),
            }
            done += 1
            if done % 100 == 0:
                data.progress("deletion vectors", done, len(rows))


def _facts(data: DataBucket, key: str, file: DataFile, descriptor: DeletionVectorDescriptor) -> Row:
    """Return the columns of a vector. A second look confirms a fault."""
    found = _read_vector(data.vectors, descriptor)
    if not isinstance(found, StorageError) and not _is_sound(found):
        found = data.second_look.confirm(
            key,
            found,
            lambda: _read_vector(DeletionVectorReader(data.access), descriptor),
            is_sound=_is_sound,
            describe=_describe_vector,
        )
    if isinstance(found, StorageError):
        data.findings.mark_undecided((deletion_vectors,), f"a deletion vector cannot be read: {found}", file.path)
        return {}
    return found


def _is_sound(row: Row) -> bool:
    return "decoded_cardinality" in row


def _describe_vector(row: Row) -> str:
    faults = [str(row[name]) for name in _FAULTS.values() if name in row]
    return "missing" if row["file_exists"] is False else "; ".join(faults) or "sound"


def _read_vector(vectors: DeletionVectorReader, descriptor: DeletionVectorDescriptor) -> Row | StorageError:
    """Return the columns of a vector, or why it cannot be read."""
    try:
        bitmap = vectors.bitmap(descriptor)
    except DeletionVectorError as fault:
        return {"file_exists": True, _FAULTS[fault.kind]: str(fault)}
    except FileGone:
        return {"file_exists": False}
    except StorageError as fault:
        return fault
    try:
        rows = decode_bitmap(bitmap)
    except DeletionVectorError as fault:
        return {"file_exists": True, "decode_fault": str(fault)}
    last = rows.max() if len(rows) else None
    return {"file_exists": True, "decoded_cardinality": len(rows), "decoded_last_row": last}


def _look_for_removed(data: DataBucket, gone: list[Row]) -> None:
    """Record whether a later commit removes the files whose vector is missing."""
    removed = data.later_commits.find_removed([fact["path_key"] for fact in gone])
    for fact in gone:
        fact["removed_since"] = removed[fact["path_key"]]
        if fact["removed_since"] is not False:
            why = f"{fact['vector_file']}: the file it belongs to {describe_missing_file(fact['removed_since'])}"
            data.findings.mark_undecided((deletion_vectors,), why, fact["path"])


def _overlaps(descriptors: list[DeletionVectorDescriptor]) -> list[str | None]:
    """Return for each entry of a vector file another entry that overlaps it. Equal entries do not overlap."""
    spans = sorted({(each.offset or 0, (each.offset or 0) + max(each.size_in_bytes, 0) + 8) for each in descriptors})
    other: dict[tuple[int, int], tuple[int, int]] = {}
    furthest: tuple[int, int] | None = None
    for span in spans:
        if furthest is not None and span[0] < furthest[1]:
            other[span] = furthest
            other.setdefault(furthest, span)
        if furthest is None or span[1] > furthest[1]:
            furthest = span
    found = [
        other.get(((each.offset or 0), (each.offset or 0) + max(each.size_in_bytes, 0) + 8)) for each in descriptors
    ]
    return [None if span is None else f"offset {span[0]}, {span[1] - span[0] - 8} bytes" for span in found]
