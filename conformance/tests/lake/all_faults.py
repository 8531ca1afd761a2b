"""All faults; importing this module fills the registry."""

from importlib import import_module
from pathlib import Path

from lake.registry import FAULTS

for _path in sorted(Path(__file__).parent.glob("faults_*.py")):
    import_module(f"lake.{_path.stem}")

__all__ = ["FAULTS"]
