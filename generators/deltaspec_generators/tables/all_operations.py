"""All operations of a commit, in an order that does not depend on imports."""

from collections.abc import Collection

from deltaspec_generators.tables import replacing_operations, row_operations, schema_operations, table_operations
from deltaspec_generators.tables.operations import REGISTERED, Operation
from deltaspec_generators.tables.row_operations import append

MODULES = (row_operations, schema_operations, table_operations, replacing_operations)


def list_operations(extras: Collection[str], focus: str = "") -> list[Operation]:
    """List the operations that tables with these extras may use, the simplest first; those of `focus` several times."""
    names = [module.__name__ for module in MODULES]
    found = [each for each in REGISTERED if not each.extra or each.extra in extras]
    found += [each for each in found if each.act.__module__.endswith(f".{focus}_operations")] * 3
    return sorted(found, key=lambda each: (each.act is not append, names.index(each.act.__module__), each.name))
