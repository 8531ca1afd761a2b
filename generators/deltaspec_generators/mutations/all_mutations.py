"""Register the faulty tables and import every module of mutations, so that `MUTATIONS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

from deltaspec_generators import mutations
from deltaspec_generators.faulty_tables import FAULTY_TABLES, FaultyTable
from deltaspec_generators.mutations.registry import MUTATIONS, Mutation


def _register(table: FaultyTable) -> None:
    if table.level is not None:
        name = table.name.replace("-", "_")
        MUTATIONS[name] = Mutation(name, table.requires[0], lambda _: table.build_faulty(), table.level)


for _table in FAULTY_TABLES.values():
    _register(_table)
for _module in iter_modules(mutations.__path__):
    if _module.name != "all_mutations":
        import_module(f"{mutations.__name__}.{_module.name}")

__all__ = ["MUTATIONS"]
