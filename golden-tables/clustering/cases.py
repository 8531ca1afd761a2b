"""Clustered tables, which are read like others."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("clustering")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "by-two-columns", "A table clustered by two columns.", "clustering.configuration", "add.clustering-provider"
)
def build_by_two_columns() -> WrittenTable:
    table = WrittenTable(SALES, cluster_by=["id", "item"])
    table.append([(1, "a"), (2, "b")])
    table.append([(3, "c")])
    return table


@chapter.case(
    "columns-changed", "The clustering columns change, and finally there are none.", "clustering.configuration"
)
def build_changed() -> WrittenTable:
    table = WrittenTable(SALES, cluster_by=["id"])
    table.append([(1, "a")])
    table.cluster(["item"])
    table.append([(2, "b")])
    table.cluster([])
    return table


@chapter.case(
    "with-mapping", "Clustering columns are physical names.", "clustering.configuration", "column-mapping.modes"
)
def build_with_mapping() -> WrittenTable:
    table = WrittenTable(SALES, cluster_by=["item"], mapping="name")
    table.append([(1, "a")])
    table.rename_column("item", "thing")
    table.append([(2, "b")])
    return table


@chapter.case(
    "in-checkpoint",
    "The clustering domain is in a checkpoint.",
    "clustering.configuration",
    "checkpoint-contents.has-domains",
    bugs=("ckpt-001",),
)
def build_in_checkpoint() -> WrittenTable:
    table = WrittenTable(SALES, cluster_by=["id"])
    table.append([(1, "a")])
    table.checkpoint()
    table.clean_up(1)
    return table
