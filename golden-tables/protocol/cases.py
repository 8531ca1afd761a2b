"""Protocol versions, features, transactions, domains and properties."""

from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("protocol")
SALES = [("id", "long"), ("item", "string")]
LEGACY = ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 5), (2, 6))

for reader, writer in LEGACY:

    def build_legacy(reader: int = reader, writer: int = writer) -> WrittenTable:
        table = WrittenTable(SALES, protocol={"minReaderVersion": reader, "minWriterVersion": writer})
        table.append([(1, "apple"), (2, None)])
        table.delete(lambda row: row["id"] == 2)
        return table

    chapter.case(
        f"versions.{reader}-{writer}", f"Reader version {reader}, writer version {writer}.", "protocol.reader-versions"
    )(build_legacy)

BOTH = (
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "variantType",
    "vacuumProtocolCheck",
)
WRITER_ONLY = (
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "identityColumns",
    "allowColumnDefaults", "inCommitTimestamp", "domainMetadata", "clustering",
    "checkpointProtection", "materializePartitionColumns", "futureWriterFeature",
)  # fmt: skip


def build_with_lists(readers: list[str] | None, writers: list[str], reader: int = 3) -> WrittenTable:
    protocol: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 7, "writerFeatures": writers}
    if readers is not None:
        protocol["readerFeatures"] = readers
    table = WrittenTable(SALES, protocol=protocol)
    table.append([(1, "apple"), (2, None)])
    return table


for name in BOTH:
    chapter.case(
        f"supported.{name.lower()}", f"The reader-writer feature {name} is supported and not used.",
        "table-features.supported-not-active", "table-features.reader-supports-all",
        *(["vacuum-protocol-check.readers-acknowledge"] if name == "vacuumProtocolCheck" else []),
    )(lambda name=name: build_with_lists([name], [name]))  # fmt: skip
for name in WRITER_ONLY:
    needed = ["domainMetadata"] if name == "clustering" else []
    chapter.case(
        f"writer-feature.{name.lower()}", f"The writer feature {name} does not concern readers.",
        "table-features.reader-supports-all", "protocol.feature-lists", bugs=("proto-005",),
    )(lambda name=name, needed=needed: build_with_lists(None, [name, *needed], reader=1))  # fmt: skip


@chapter.case("empty-lists", "Reader version 3 with empty lists of features.", "protocol.reader-features-at-3")
def build_empty_lists() -> WrittenTable:
    return build_with_lists([], [])


@chapter.case("upgraded", "The protocol is upgraded twice.", "protocol.latest-holds")
def build_upgraded() -> WrittenTable:
    table = WrittenTable(SALES, protocol={"minReaderVersion": 1, "minWriterVersion": 1})
    table.append([(1, "apple")])
    table.enable("deletionVectors")
    table.enable("changeDataFeed")
    table.append([(2, "pear")])
    return table


@chapter.case(
    "transactions",
    "Two applications; the version of one decreases.",
    "transaction.latest-holds",
    "transaction.may-decrease",
)
def build_transactions() -> WrittenTable:
    table = WrittenTable(SALES)
    table.set_transaction("one", 5, lastUpdated=table.timestamp_ms)
    table.set_transaction("é two", 2**40)
    table.append([(1, "apple")])
    table.set_transaction("one", 3)
    return table


@chapter.case(
    "domains",
    "Domains are set, changed and removed.",
    "domain.removed-hidden",
    "domain.readers-support-all",
    "domain.readers-optional",
    "domain.readers-ignore",
    bugs=("dm-001",),
)
def build_domains() -> WrittenTable:
    table = WrittenTable(SALES, features=["domainMetadata"])
    table.set_domain("user.one", "plain text")
    table.set_domain("é two", '{"a":{"b":[1,2]}}')
    table.set_domain("user.one", "")
    table.remove_domain("é two")
    table.append([(1, "apple")])
    table.set_domain("é two", "again")
    return table


@chapter.case(
    "properties", "Properties are set, changed and removed; unknown ones are kept.", "metadata.replaces-whole"
)
def build_properties() -> WrittenTable:
    table = WrittenTable(SALES, properties={"a": "1", "My.Key": "é", "delta.futureProperty": "x"})
    table.change_properties({"a": None, "b": "2", "My.Key": ""})
    table.append([(1, "apple")])
    return table


@chapter.case(
    "name-and-description", "The table has a name, a description and a createdTime.", "metadata.optional-fields"
)
def build_named() -> WrittenTable:
    table = WrittenTable(SALES, metadata={"name": "Sales é", "description": "All 'sales'\nof a day"})
    table.append([(1, "apple")])
    return table


@chapter.case(
    "append-only", "An append-only table whose files are rearranged.", "append-only.rearranged", "add.rearranged"
)
def build_append_only() -> WrittenTable:
    table = WrittenTable(SALES, properties={"delta.appendOnly": "true"})
    table.append([(1, "apple")])
    table.append([(2, "pear")])
    table.optimize()
    return table


@chapter.case("check-constraints", "A table with CHECK constraints.", "check-constraints.in-force")
def build_constraints() -> WrittenTable:
    properties = {"delta.constraints.positive": "id > 0"}
    table = WrittenTable(SALES, properties=properties, protocol={"minReaderVersion": 1, "minWriterVersion": 3})
    table.append([(1, "apple")])
    return table


for number, others in {"V1": [], "V2": [], "V3": ["rowTracking"]}.items():

    def build_iceberg(number: str = number, others: list[str] = others) -> WrittenTable:
        table = WrittenTable(
            [("id", "long"), ("item", "string"), ("day", "date")],
            mapping="name",
            partition_by=["day"],
            features=[f"icebergCompat{number}", *others],
            properties={f"delta.enableIcebergCompat{number}": "true"},
        )
        table.append([(1, "apple", 20_000), (2, None, 20_001)], encoding=ParquetEncoding(partition_columns=True))
        table.delete(lambda row: row["id"] == 1)
        return table

    chapter.case(
        f"iceberg-compat.{number.lower()}", f"A table with icebergCompat{number}, with partition columns in its files.",
        "table-features.reader-supports-all", "column-mapping.read-by-physical-name",
    )(build_iceberg)  # fmt: skip
