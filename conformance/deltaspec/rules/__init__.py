"""All rules of the kit. Importing this package registers them, and sorts them by code.

`prefixes` names the module or package of each prefix: FIL001 is in `file_actions`.
"""

from importlib import import_module
from pkgutil import walk_packages

from deltaspec.rules.registry import RULES, Rule

_NO_RULES = ("registry", "examples", "fixes", "file_fixes", "fix_texts", "command_fixes", "causes", "prefixes", "harms")

for _module in walk_packages(__path__, f"{__name__}."):
    if _module.name.rpartition(".")[2] not in _NO_RULES:
        import_module(_module.name)
_by_code = sorted(RULES.items())
RULES.clear()
RULES.update(_by_code)

__all__ = ["RULES", "Rule"]
