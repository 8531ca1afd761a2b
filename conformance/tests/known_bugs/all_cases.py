"""All cases; importing this module fills the registry."""

from importlib import import_module
from pathlib import Path

from known_bugs.registry import BUGS_WITHOUT_TABLE, CASES

for _path in sorted(Path(__file__).parent.glob("cases_*.py")):
    import_module(f"known_bugs.{_path.stem}")

__all__ = ["BUGS_WITHOUT_TABLE", "CASES"]
