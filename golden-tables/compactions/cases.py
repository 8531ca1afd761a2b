"""Log compactions and version checksums."""

import json

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("compactions")
SALES = [("id", "long"), ("item", "string")]


def build_three_commits() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple"), (2, "pear"), (3, None)], name="part-0.parquet")
    with table.commit("append one row"):
        table.append([(4, "fig")], name="part 1.parquet")
        table.set_transaction("loader", 7)
    table.remove("part-0.parquet")
    return table


@chapter.case(
    "with-checksums",
    "A log compaction is next to its commits, and each of them has a version checksum.",
    "compaction.equals-replay",
    "checksum.table-size",
    "checksum.num-files",
)
def build_with_checksums() -> WrittenTable:
    table = build_three_commits()
    table.compact(1, 3)
    table.checksum(1, 2, 3)
    return table


RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "first-two": ((0, 1),),
    "all": ((0, 3),),
    "last": ((2, 3),),
    "overlapping": ((0, 2), (1, 3)),
    "adjacent": ((0, 1), (2, 3)),
    "nested": ((0, 3), (1, 2)),
}
for name, ranges in RANGES.items():

    def build_ranges(ranges: tuple[tuple[int, int], ...] = ranges) -> WrittenTable:
        table = build_three_commits()
        for first, last in ranges:
            table.compact(first, last)
        return table

    chapter.case(
        f"range.{name}", f"Log compactions of the commits {', '.join(f'{a} to {b}' for a, b in ranges)}.",
        "compaction.equals-replay", "compaction.replaces-commits", "compaction.any-range", "compaction.readers-free",
        bugs=("log-001",) if name == "all" else (),
    )(build_ranges)  # fmt: skip


@chapter.case(
    "across-checkpoint",
    "A compaction that begins before a checkpoint and ends after it.",
    "compaction.any-range",
    "compaction.replaces-commits",
)
def build_across_checkpoint() -> WrittenTable:
    table = build_three_commits()
    table.append([(5, "kiwi")])
    table.checkpoint(2)
    table.compact(1, 3)
    table.compact(3, 4)
    return table


@chapter.case(
    "with-vectors",
    "A compaction of commits that replace deletion vectors.",
    "compaction.equals-replay",
    "reconciliation.file-under-several-vectors",
)
def build_with_vectors() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    table.append([(number, "abcdef"[number]) for number in range(6)])
    for number in (1, 3, 5):
        table.delete(lambda row, number=number: row["id"] == number, by="stored")
    table.compact(1, 3)
    return table


@chapter.case(
    "with-domains",
    "A compaction with a removed domain, a transaction, new metadata and protocol.",
    "compaction.equals-replay",
)
def build_with_domains() -> WrittenTable:
    table = WrittenTable(SALES, features=["domainMetadata"])
    table.set_domain("first", "{}")
    table.append([(1, "a")])
    table.remove_domain("first")
    table.set_transaction("app", 3)
    table.enable("deletionVectors")
    table.compact(2, 5)
    return table


CHECKSUMS: dict[str, tuple[str, tuple[int, ...], bool]] = {
    "newest": ("the newest version", (3,), True),
    "every": ("every version", (0, 1, 2, 3), False),
    "older": ("an older version only", (1,), True),
}
for name, (text, versions, optional) in CHECKSUMS.items():

    def build_checksums(versions: tuple[int, ...] = versions, optional: bool = optional) -> WrittenTable:
        table = build_three_commits()
        table.checksum(*versions, optional=optional)
        return table

    chapter.case(
        f"checksum.{name}", f"A version checksum of {text}.", "checksum.table-size", "checksum.absence-tolerated",
        bugs=("crc-003", "dm-001") if name == "older" else (),
    )(build_checksums)  # fmt: skip


@chapter.broken(
    "checksum.other-schema",
    "The metadata of a version checksum has another schema than the log.",
    "checksum.protocol-and-metadata",
    twin="compactions.checksum.newest",
    defect="the schema in the checksum has one more column",
    bugs=("crc-001",),
)
def change_checksum(files: TableFiles) -> None:
    checksum = files.checksums[3]
    assert isinstance(checksum, dict)
    metadata = checksum["metadata"]
    schema = json.loads(metadata["schemaString"])
    schema["fields"].append({"name": "other", "type": "long", "nullable": True, "metadata": {}})
    checksum["metadata"] = {**metadata, "schemaString": json.dumps(schema)}


@chapter.case(
    "checksum.before-checkpoint",
    "A version checksum is older than the checkpoint.",
    "checksum.readers-free",
    bugs=("crc-003",),
)
def build_old_checksum() -> WrittenTable:
    table = build_three_commits()
    table.append([(5, "kiwi")])
    table.checksum(1)
    table.checkpoint(3)
    return table


@chapter.case(
    "checksum.with-in-commit-timestamp",
    "Version checksums with in-commit timestamps and domains.",
    "checksum.in-commit-timestamp",
    "checksum.transactions-and-domains",
)
def build_checksum_with_timestamp() -> WrittenTable:
    table = WrittenTable(SALES, features=["inCommitTimestamp", "domainMetadata"])
    table.set_domain("one", "{}")
    table.append([(1, "a")])
    table.checksum(0, 1, 2)
    return table
