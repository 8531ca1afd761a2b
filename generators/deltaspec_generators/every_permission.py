"""Imports every module of permissions, so that `PERMISSIONS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

import deltaspec_generators
from deltaspec_generators.permissions import PERMISSIONS

for _module in iter_modules(deltaspec_generators.__path__):
    if _module.name.startswith("permissions_"):
        import_module(f"deltaspec_generators.{_module.name}")

__all__ = ["PERMISSIONS"]
