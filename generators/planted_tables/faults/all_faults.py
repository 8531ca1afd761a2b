"""Register the faulty tables and import every module of planted faults, so that `PLANTED_FAULTS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

from deltaspec_generators.faulty_tables import FAULTY_TABLES, FaultyTable
from planted_tables import faults
from planted_tables.faults.registry import PLANTED_FAULTS, PlantedFault


def _register(table: FaultyTable) -> None:
    if table.level is not None:
        name = table.name.replace("-", "_")
        PLANTED_FAULTS[name] = PlantedFault(name, table.requires[0], lambda _: table.build_faulty(), table.level)


for _table in FAULTY_TABLES.values():
    _register(_table)
for _module in iter_modules(faults.__path__):
    if _module.name != "all_faults":
        import_module(f"{faults.__name__}.{_module.name}")

__all__ = ["PLANTED_FAULTS"]
