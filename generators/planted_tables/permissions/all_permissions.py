"""Import every module of permissions, so that `PERMISSIONS` is complete."""

from importlib import import_module
from pkgutil import iter_modules

from planted_tables import permissions
from planted_tables.permissions.registry import PERMISSIONS

for _module in iter_modules(permissions.__path__):
    if _module.name != "all_permissions":
        import_module(f"{permissions.__name__}.{_module.name}")

__all__ = ["PERMISSIONS"]
