"""Write tables into the bucket of the tests."""

from collections.abc import Iterator

from helpers.faulty_s3 import BUCKET, FaultyS3

from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec.wire.storage.object_store import ObjectStore

COMMIT = "_delta_log/00000000000000000000.json"


def put_table(s3: FaultyS3, **files: bytes) -> ObjectStore:
    s3.put(f"t/{COMMIT}", b"zero\n")
    for name, data in files.items():
        s3.put(f"t/{name}", data)
    return ObjectStore(f"s3://{BUCKET}/t")


def list_names(found: Iterator[Entry | StorageError]) -> list[str]:
    listed = []
    for entry in found:
        assert isinstance(entry, Entry), str(entry)
        listed.append(entry.name)
    return sorted(listed)
