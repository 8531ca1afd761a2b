"""Texts of partition values."""

import json

from deltaspec.golden.builder.table import GoldenTable
from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_files import TableFiles

chapter = Chapter("partition-values")


@chapter.case(
    "null",
    "Partition values of a date and a string: plain, beyond ASCII, null and the empty string, which is null too.",
    "partition-values.serialization",
    "partition-values.empty-is-null",
)
def build_null_values() -> GoldenTable:
    table = GoldenTable([("id", "long"), ("day", "date"), ("place", "string")], partition_by=["day", "place"])
    with table.commit("append four rows"):
        table.append([(1, 20484, "Zürich"), (2, 20484, "Zürich")], name="day=2026-01-31/place=Z%C3%BCrich/a.parquet")
        texts = {"place": ""}
        table.append([(3, None, None)], name="day=__HIVE_DEFAULT_PARTITION__/b.parquet", texts=texts)
        table.append([(4, -719162, "a b/c")], name="c.parquet")
    return table


@chapter.broken(
    "key-missing",
    "An add of a partitioned table lacks the value of one partition column.",
    "add.partition-values",
    twin="null",
    defect="the second add has no value for `place`",
)
def leave_out_a_value(files: TableFiles) -> None:
    add = json.loads(json.dumps(files.commits[1][2]))
    del add["add"]["partitionValues"]["place"]
    files.commits[1][2] = add
