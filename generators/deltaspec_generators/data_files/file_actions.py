"""Actions of data files, from explicit arguments: drawn tables choose the arguments, golden tables state them."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.files import deletion_vectors, paths, z85
from deltaspec_generators.data_files.stored_files import Row, StoredFile
from deltaspec_generators.table_state import Body
from deltaspec_generators.table_uris import TABLE_URI

VectorStorage: TypeAlias = Literal["inline", "stored", "absolute"]
_COPIED = ("partitionValues", "size", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion")


class VectorOptions(msgspec.Struct, frozen=True):
    """How deletion vectors are written."""

    storage: VectorStorage = "inline"
    prefix: str = ""
    """Directory of the vector file, relative to the table."""
    uuid: str = ""
    """UUID in the name of the vector file; empty if the table chooses one."""
    runs: bool = False
    """Whether the bitmap has run containers."""
    first: Sequence[Sequence[int]] = ()
    """Vectors that precede the table's vectors in the same file."""
    with_offset: bool = True
    """Whether a stored vector at the start of its file has an offset."""


def build_vectors(
    deleted: Sequence[Iterable[int]], options: VectorOptions, root: str = TABLE_URI
) -> tuple[list[Body], dict[str, bytes]]:
    """Build deletion vectors; stored ones share a file.

    Args:
        deleted: deleted row indexes of each data file.
        options: how the vectors are written; stored ones need a UUID.
        root: URI of the table, with a slash at the end.

    Returns:
        The descriptors, and the files to write by path relative to the table.
    """
    sets = [sorted(each) for each in deleted]
    bitmaps = [deletion_vectors.encode_bitmap(each, runs=options.runs) for each in (*options.first, *sets)]
    own = bitmaps[len(options.first) :]
    common = [{"sizeInBytes": len(bitmap), "cardinality": len(each)} for bitmap, each in zip(own, sets, strict=True)]
    if options.storage == "inline":
        texts = [z85.encode(bitmap + bytes(-len(bitmap) % 4)) for bitmap in own]
        return [
            {"storageType": "i", "pathOrInlineDv": text, **each} for text, each in zip(texts, common, strict=True)
        ], {}
    data, offsets = deletion_vectors.build_file(bitmaps)
    uuid = UUID(options.uuid)
    local = f"{options.prefix}/deletion_vector_{uuid}.bin".removeprefix("/")
    is_absolute = options.storage == "absolute"
    body = {
        "storageType": "p" if is_absolute else "u",
        "pathOrInlineDv": root + paths.encode(local) if is_absolute else options.prefix + z85.encode(uuid.bytes),
    }
    return [
        {**body, **({"offset": offset} if options.with_offset else {}), **each}
        for offset, each in zip(offsets[len(options.first) :], common, strict=True)
    ], {local: data}


def build_remove(stored: StoredFile, timestamp_ms: int, *, data_change: bool = True, **more: Any) -> Body:
    """Build the body of a remove action with the fields that Delta Spark writes; `more` are further ones."""
    return {
        "path": stored.add["path"],
        "deletionTimestamp": timestamp_ms,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        **{name: stored.add[name] for name in _COPIED if name in stored.add},
        **more,
    }


def track_rows(
    stored: StoredFile, base: int, version: int, row_ids: Sequence[int | None], row_versions: Sequence[int | None]
) -> StoredFile:
    """Add the fields of row tracking to the add of a new file, and return the file with the ids of its rows.

    Args:
        stored: the file.
        base: base row id.
        version: version of the commit.
        row_ids: existing id of each row, None for new rows; empty if all are new.
        row_versions: likewise, the existing row commit version.
    """
    stored.add.update(baseRowId=base, defaultRowCommitVersion=version)
    none = [None] * len(stored.rows)
    ids = [base + index if each is None else each for index, each in enumerate(row_ids or none)]
    versions = [version if each is None else each for each in row_versions or none]
    return replace(stored, row_ids=ids, row_commit_versions=versions)


def list_row_ids(files: Iterable[StoredFile]) -> tuple[list[int], list[int]]:
    """List id and commit version of the live rows of files; empty without row tracking."""
    tracked = [(each, index) for each in files if each.row_ids for index in each.live_indexes]
    return (
        [each.row_ids[index] for each, index in tracked],
        [each.row_commit_versions[index] for each, index in tracked],
    )


def list_kept_row_ids(
    stored: StoredFile, indexes: Sequence[int], changed: Container[int], new: int = 0
) -> tuple[list[int | None], list[int | None]]:
    """List id and commit version that rows of a file keep in another one: changed rows only their id.

    Args:
        stored: the file.
        indexes: positions of the rows.
        changed: positions of rows that change.
        new: number of new rows after them, which have neither.

    Returns:
        One entry for each row; empty lists without row tracking.
    """
    if not stored.row_ids:
        return [], []
    ids = [stored.row_ids[index] for index in indexes]
    versions = [None if index in changed else stored.row_commit_versions[index] for index in indexes]
    return [*ids, *[None] * new], [*versions, *[None] * new]


def list_implied_changes(
    actions: Iterable[Body],
    before: Mapping[str, StoredFile],
    live: Mapping[str, StoredFile],
    read_file: Callable[[StoredFile], Sequence[Row]],
) -> list[tuple[str, Row]]:
    """List change type and row of every row that the adds and removes of a commit with `dataChange` insert or delete.

    Args:
        actions: actions of the commit.
        before: live files before the commit by path.
        live: live files after it.
        read_file: returns all rows of a file, deleted ones included.
    """
    changed: dict[str, set[str]] = {"add": set(), "remove": set()}
    for action in actions:
        for kind in changed.keys() & action.keys():
            if action[kind]["dataChange"]:
                changed[kind].add(action[kind]["path"])
    found: list[tuple[str, Row]] = []
    for path in sorted(changed["add"] | changed["remove"]):
        old = before[path] if path in changed["remove"] else None
        new = live[path] if path in changed["add"] else None
        for kind, stored, other in (("delete", old, new), ("insert", new, old)):
            if stored is not None:
                rows, kept = read_file(stored), set(other.live_indexes if other is not None else ())
                found += [(kind, rows[index]) for index in stored.live_indexes if index not in kept]
    return found
