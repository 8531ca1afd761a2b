"""Import every module of mutations, so that `MUTATIONS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

from deltaspec_generators import mutations
from deltaspec_generators.mutations.registry import MUTATIONS

for _module in iter_modules(mutations.__path__):
    if _module.name != "all_mutations":
        import_module(f"{mutations.__name__}.{_module.name}")

__all__ = ["MUTATIONS"]
