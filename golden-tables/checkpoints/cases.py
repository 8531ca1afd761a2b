"""Checkpoints of every form."""

from deltaspec.golden.builder.table import GoldenTable
from deltaspec.golden.definition import Chapter

chapter = Chapter("checkpoints")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "classic-cleaned-up",
    "A classic checkpoint, everything before it cleaned up, and one commit after it.",
    "checkpoint.equals-replay",
    "last-checkpoint.version",
)
def build_cleaned_up() -> GoldenTable:
    table = GoldenTable(SALES)
    table.append([(1, "apple"), (2, "pear"), (3, None)], name="part-0.parquet")
    with table.commit("append one row"):
        table.append([(4, "fig")], name="part 1.parquet")
        table.set_transaction("loader", 7)
    table.remove("part-0.parquet")
    table.append([(5, "kiwi"), (6, "lime")], name="part-2.parquet")
    table.checkpoint(3)
    table.clean_up(3)
    return table


@chapter.case(
    "v2-sidecars",
    "A checkpoint with V2 content as JSON, whose file actions are in two sidecars.",
    "checkpoint.v2-has-metadata",
    "sidecar.files-only",
)
def build_v2_with_sidecars() -> GoldenTable:
    table = GoldenTable(SALES, features=["v2Checkpoint"], properties={"delta.checkpointPolicy": "v2"})
    with table.commit("append three files"):
        for number in range(3):
            table.append([(number, f"item {number}")], name=f"part-{number}.parquet")
    table.remove("part-0.parquet")
    table.append([(3, "item 3")], name="part-3.parquet")
    table.checkpoint(2, form="uuid-json", sidecars=2, hint=False)
    return table
