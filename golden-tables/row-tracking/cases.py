"""Row ids and row commit versions."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.layout import FORMS, V2_FORMS, CheckpointForm
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("row-tracking")
SALES = [("id", "long"), ("item", "string")]
READ = ("row-tracking.read-ids", "row-tracking.read-versions")


def build_tracked(*features: str, **options: object) -> WrittenTable:
    table = WrittenTable(SALES, features=["rowTracking", *features], **options)  # type: ignore[arg-type]
    table.append([(1, "a"), (2, "b"), (3, None)])
    table.append([(4, "d"), (5, "e")])
    return table


@chapter.case("fresh", "Fresh row ids of two files.", *READ, "row-tracking.fresh-ids", "add.default-row-ids")
def build_fresh() -> WrittenTable:
    return build_tracked()


@chapter.case(
    "updated-by-rewriting",
    "Updated rows keep their ids, unchanged ones their commit versions.",
    *READ,
    "row-tracking.stable-id",
)
def build_updated() -> WrittenTable:
    table = build_tracked()
    table.update(lambda row: row["id"] in (2, 4), lambda row: {**row, "item": "new"})
    return table


@chapter.case(
    "updated-by-vector", "Rows updated with deletion vectors keep their ids.", *READ, "row-tracking.stable-version"
)
def build_updated_by_vector() -> WrittenTable:
    table = build_tracked("deletionVectors")
    table.update(lambda row: row["id"] in (2, 4), lambda row: {**row, "item": "new"}, by="stored")
    return table


@chapter.case(
    "deleted-by-vector", "Ids of the rows after those that a vector deletes.", *READ, "row-tracking.fresh-ids"
)
def build_deleted_by_vector() -> WrittenTable:
    table = build_tracked("deletionVectors")
    table.delete(lambda row: row["id"] in (1, 4), by="inline")
    return table


@chapter.case("compacted", "Compacted files store ids and commit versions.", *READ, "row-tracking.stored-ids-named")
def build_compacted() -> WrittenTable:
    table = build_tracked()
    table.optimize()
    table.append([(6, "f")])
    return table


@chapter.case("partly-stored", "A file stores the ids of some rows only.", *READ, "row-tracking.stored-ids-optional")
def build_partly_stored() -> WrittenTable:
    from deltaspec_generators.table_history.file_options import FileOptions

    table = build_tracked()
    with table.commit("replace a file, and add rows to it"):
        stored = table.live["part-00001.parquet"]
        rows = [row for _, row in table.list_live_rows(stored)]
        table.remove_file(stored)
        new = [*rows, {"id": 9, "item": "new"}]
        table.write_file(new, FileOptions(), row_ids=[0, 1, 2, None], row_versions=[1, None, 1, None])
    return table


@chapter.case("partitioned", "Row ids in a partitioned table whose rows change their partition.", *READ)
def build_partitioned() -> WrittenTable:
    table = WrittenTable(SALES, features=["rowTracking"], partition_by=["item"])
    table.append([(1, "a"), (2, "b"), (3, "a")])
    table.update(lambda row: row["id"] == 3, lambda row: {**row, "item": "b"})
    return table


@chapter.case("restored", "A removed file is added again with its ids.", *READ, "row-tracking.ids-restored")
def build_restored() -> WrittenTable:
    table = build_tracked()
    table.remove("part-00001.parquet")
    table.add_again("part-00001.parquet")
    return table


@chapter.case(
    "supported-not-enabled",
    "Row tracking is supported and not enabled.",
    "row-tracking.enabled",
    "row-tracking.supported",
)
def build_supported() -> WrittenTable:
    return build_tracked(properties={"delta.enableRowTracking": "false"})


@chapter.case("with-change-data", "Change data files have no row ids.", *READ, "row-tracking.not-in-change-files")
def build_with_changes() -> WrittenTable:
    table = build_tracked("changeDataFeed")
    table.update(lambda row: row["id"] == 2, lambda row: {**row, "item": "new"})
    table.delete(lambda row: row["id"] == 4)
    return table


for form in FORMS:

    def build_checkpointed(form: CheckpointForm = form) -> WrittenTable:
        table = build_tracked(*(["v2Checkpoint"] if form in V2_FORMS else []))
        table.optimize()
        table.checkpoint(form=form, sidecars=1 if form == "uuid-json" else 0)
        table.append([(7, "g")])
        table.clean_up(3)
        return table

    chapter.case(
        f"in-checkpoint.{form}", f"Row ids of files in a checkpoint ({form}).", *READ, "checkpoint.equals-replay"
    )(build_checkpointed)
