"""Imports every module of mutations, so that `MUTATIONS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

import deltaspec_generators
from deltaspec_generators.mutations import MUTATIONS

for _module in iter_modules(deltaspec_generators.__path__):
    if _module.name.startswith("mutations_"):
        import_module(f"deltaspec_generators.{_module.name}")

__all__ = ["MUTATIONS"]
