"""Tables that no reader may read, each with its good twin."""

import json
from collections.abc import Callable
from typing import Any

from deltaspec.candidates.messages import ACCEPTED_ERRORS, DAMAGED, DAMAGED_LOG, UNSUPPORTED
from deltaspec.golden.definition import Chapter, Defect, GoldenCase
from deltaspec_generators.faulty_tables import FAULTY_TABLES
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("refusals")
SALES = [("id", "long"), ("item", "string")]

# faulty tables that the suite `refuse` uses, too; their twins are cases of their own
TWINS: dict[tuple[Any, Any], str] = {}
for faulty in FAULTY_TABLES.values():
    builders = faulty.build_files, faulty.rows
    if builders not in TWINS:
        name = f"twin-of-{faulty.name}"
        TWINS[builders] = f"{chapter.name}.{name}"
        chapter.case(name, f"A valid table; in its broken twin, {faulty.defect}.", *faulty.requires)(faulty.build_twin)
    chapter.cases.append(
        GoldenCase(
            f"{chapter.name}.{faulty.name}", f"A reader must refuse the table: {faulty.defect}.", faulty.requires, None,
            defect=Defect(TWINS[builders], faulty.defect, faulty.damage, ACCEPTED_ERRORS[faulty.reason]),
            bugs=("ckpt-011",) if faulty.name == "checkpoint-damaged" else (),
        )
    )  # fmt: skip


def change_lines(files: TableFiles, version: int, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the lines of a commit; None leaves a line out."""
    changed = [change(json.loads(json.dumps(line))) for line in files.commits[version]]
    files.commits[version] = [line for line in changed if line is not None]


def change_protocol(files: TableFiles, **fields: Any) -> None:
    change_lines(files, 0, lambda line: {"protocol": {**line["protocol"], **fields}} if "protocol" in line else line)


@chapter.case("twin-with-vectors", "A table with stored and inline deletion vectors.", "deletion-vectors.honoured")
def build_with_vectors() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    table.append([(number, "abcdef"[number]) for number in range(6)])
    table.append([(number, None) for number in range(10, 14)])
    table.delete(lambda row: row["id"] in (1, 2), by="stored")
    table.delete(lambda row: row["id"] == 12, by="inline")
    return table


@chapter.case("twin-plain", "A table with two files and a transaction.", "protocol.versions-supported")
def build_plain() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "a"), (2, "b")])
    table.append([(3, "c")])
    table.set_transaction("app", 1)
    return table


@chapter.case("twin-mapped", "A table with column mapping.", "column-mapping.modes")
def build_mapped() -> WrittenTable:
    table = WrittenTable(SALES, mapping="name", protocol={"minReaderVersion": 2, "minWriterVersion": 5})
    table.append([(1, "a"), (2, "b")])
    return table


@chapter.case("twin-partitioned", "A table partitioned by an integer and a date.", "partition-values.serialization")
def build_partitioned() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("n", "integer"), ("day", "date")], partition_by=["n", "day"])
    table.append([(1, 7, 20_000), (2, None, None)])
    return table


Damage = Callable[[TableFiles], None]


def refuse(name: str, requirement: str, defect: str, damage: Damage, twin: str, accepted: Any) -> None:
    """Register a table that a reader must refuse."""
    title = f"A reader must refuse the table: {defect}."
    chapter.broken(name, title, requirement, twin=twin, defect=defect, accepted=accepted)(damage)


for feature in ("futureFeature", "deletionvectors", "rowLevelSecurity"):
    refuse(
        f"unknown-feature-{feature.lower()}", "table-features.reader-supports-all",
        f"the protocol lists the unknown reader feature {feature}",
        lambda files, feature=feature: change_protocol(
            files, minReaderVersion=3, minWriterVersion=7, readerFeatures=[feature], writerFeatures=[feature]
        ),
        "twin-plain", UNSUPPORTED,
    )  # fmt: skip
for version in (4, 5, 100):
    refuse(
        f"reader-version-{version}-of-mapped", "protocol.versions-supported", f"minReaderVersion is {version}",
        lambda files, version=version: change_protocol(files, minReaderVersion=version),
        "twin-mapped", UNSUPPORTED,
    )  # fmt: skip


def cut_last_line(files: TableFiles) -> None:
    last = json.dumps(files.commits[2][1])
    files.commits[2][1] = last[: len(last) // 2]


def drop_metadata(files: TableFiles) -> None:
    change_lines(files, 0, lambda line: None if "metaData" in line else line)


def drop_protocol(files: TableFiles) -> None:
    change_lines(files, 0, lambda line: None if "protocol" in line else line)


def break_schema(files: TableFiles) -> None:
    def change(line: dict[str, Any]) -> Any:
        return {"metaData": {**line["metaData"], "schemaString": "{"}} if "metaData" in line else line

    change_lines(files, 0, change)


def empty_commit(files: TableFiles) -> None:
    files.commits[1] = []
    files.extra["_delta_log/00000000000000000001.json"] = b"\x00\x01\x02"


def drop_first_commits(files: TableFiles) -> None:
    del files.commits[0], files.commits[1]


REFUSED: list[tuple[str, str, str, Damage, str, Any]] = [
    ("line-cut-off", "log.commit-lines", "a line of the newest commits is cut off",
     cut_last_line, "twin-plain", DAMAGED),
    ("without-metadata", "metadata.in-first-version", "no commit has a metaData",
     drop_metadata, "twin-plain", DAMAGED_LOG),
    ("without-protocol", "reconciliation.one-protocol", "no commit has a protocol",
     drop_protocol, "twin-plain", DAMAGED_LOG),
    ("schema-not-json", "metadata.schema-string", "schemaString is not JSON", break_schema, "twin-plain", DAMAGED),
    ("commit-not-json", "log.commit-lines", "commit 1 is not JSON", empty_commit, "twin-plain", DAMAGED_LOG),
    ("file-missing", "add.file-exists", "the first data file is missing",
     lambda files: files.missing.add("part-00001.parquet"), "twin-plain", DAMAGED),
    ("first-commits-missing", "log.versions-contiguous", "commits 0 and 1 are missing, and there is no checkpoint",
     drop_first_commits, "twin-plain", DAMAGED_LOG),
]  # fmt: skip
for each in REFUSED:
    refuse(*each)


def change_vector(files: TableFiles, storage: str, **fields: Any) -> None:
    """Change the descriptor of the live deletion vector with this storage type."""
    for version in files.commits:
        for line in files.commits[version]:
            vector = line.get("add", {}).get("deletionVector", {}) if isinstance(line, dict) else {}
            if vector.get("storageType") == storage:
                vector |= fields


def remove_vector_file(files: TableFiles) -> None:
    files.missing |= {path for path in files.extra if path.endswith(".bin")}


VECTORS: list[tuple[str, str, str, Damage]] = [
    ("vector-size", "deletion-vectors.size", "sizeInBytes of a stored vector is wrong",
     lambda files: change_vector(files, "u", sizeInBytes=3)),
    ("vector-offset", "deletion-vectors.offset-start", "the offset of a stored vector is beyond its file",
     lambda files: change_vector(files, "u", offset=100_000)),
    ("vector-text", "deletion-vectors.inline", "an inline vector has characters that Z85 does not have",
     lambda files: change_vector(files, "i", pathOrInlineDv="~~~~~")),
    ("vector-storage-type", "deletion-vectors.storage-type", "the storage type of a vector is x",
     lambda files: change_vector(files, "u", storageType="x")),
    ("vector-file", "deletion-vectors.path-resolved", "the file of a vector is missing", remove_vector_file),
]  # fmt: skip
for name, requirement, defect, damage in VECTORS:
    refuse(name, requirement, defect, damage, "twin-with-vectors", DAMAGED)


def change_partition(files: TableFiles, name: str, text: str) -> None:
    def change(line: dict[str, Any]) -> Any:
        if "add" in line and line["add"]["partitionValues"][name]:
            line["add"]["partitionValues"][name] = text
        return line

    change_lines(files, 1, change)


for name, column, text in (
    ("integer-with-letters", "n", "seven"),
    ("integer-too-large", "n", "2147483648"),
    ("date-without-day", "day", "2026-01"),
    ("date-that-does-not-exist", "day", "2026-02-30"),
):
    chapter.broken(
        f"partition-{name}", f"The partition value {text!r} is not of the type of its column.",
        "partition-values.serialization", twin="twin-partitioned", defect=f"a partition value of {column} is {text!r}",
    )(lambda files, column=column, text=text: change_partition(files, column, text))  # fmt: skip
