"""All rules of the kit, one module for each chapter. Importing this package registers them, and sorts them by code."""

from importlib import import_module
from pkgutil import iter_modules

from deltaspec.rules.registry import RULES, Rule

_NO_RULES = ("registry", "examples", "fixes")

for _module in iter_modules(__path__, f"{__name__}."):
    if _module.name.rpartition(".")[2] not in _NO_RULES:
        import_module(_module.name)
_by_code = sorted(RULES.items())
RULES.clear()
RULES.update(_by_code)

__all__ = ["RULES", "Rule"]
