"""All operations of a commit, in an order that does not depend on imports."""

from collections.abc import Collection
from functools import cache

from deltaspec_generators.operations import (
    column_operations,
    feature_operations,
    file_operations,
    replacing_operations,
    row_id_operations,
    row_operations,
    schema_operations,
    table_operations,
)
from deltaspec_generators.operations.registry import REGISTERED, Operation
from deltaspec_generators.operations.row_operations import append

MODULES = (
    row_operations,
    schema_operations,
    table_operations,
    replacing_operations,
    column_operations,
    feature_operations,
    file_operations,
    row_id_operations,
)


def list_operations(extras: Collection[str], focus: str = "") -> list[Operation]:
    """List the operations that tables with data and these extras may use, the simplest first.

    Operations of the module that `focus` names occur several times.
    """
    found = [each for each in REGISTERED if not each.log_only and (not each.extra or each.extra in extras)]
    found += [each for each in found if each.act.__module__.endswith(f".{focus}_operations")] * 3
    return _sort([each for each in found for _ in range(each.weight)])


@cache
def list_log_operations(*, files: bool) -> list[Operation]:
    """List the operations of logs without data, the simplest first; without `files` none that adds or removes files."""
    of_files = (row_operations.__name__, file_operations.__name__)
    found = [each for each in REGISTERED if not each.data_only and (files or each.act.__module__ not in of_files)]
    return _sort([each for each in found for _ in range(each.log_weight)])


def _sort(operations: list[Operation]) -> list[Operation]:
    names = [module.__name__ for module in MODULES]
    return sorted(operations, key=lambda each: (each.act is not append, names.index(each.act.__module__), each.name))
