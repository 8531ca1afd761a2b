"""The builder of golden tables."""

from deltaspec.golden.builder.layout import TableLayout
from deltaspec.golden.builder.rows import TableRows
from deltaspec.golden.builder.schemas import TableSchemas


class GoldenTable(TableRows, TableSchemas, TableLayout):
    """A table that is built operation by operation.

        table = GoldenTable([("id", "long"), ("item", "string")])
        table.append([(1, "apple"), (2, "pear")])
        table.delete(lambda row: row["id"] == 1)
        table.checkpoint()
        answer = table.describe()

    Source of expected answers: the operations, not the log.
    """
