"""Tables that are written operation by operation, with literal arguments."""

from deltaspec_generators.table_history.layout import WrittenLayout
from deltaspec_generators.table_history.rows import WrittenRows
from deltaspec_generators.table_history.schemas import WrittenSchemas


class WrittenTable(WrittenRows, WrittenSchemas, WrittenLayout):
    """A table that is built operation by operation.

        table = WrittenTable([("id", "long"), ("item", "string")])
        table.append([(1, "apple"), (2, "pear")])
        table.delete(lambda row: row["id"] == 1)
        table.checkpoint()
        answer = table.describe()

    Source of expected answers: the operations, not the log.
    """
