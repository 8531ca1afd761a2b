"""Which rule catches which mutation: the one place where generators and rules meet. One module an area, merged here."""

from importlib import import_module
from pathlib import Path

CAUGHT_BY: dict[str, str] = {}
"""Name of the mutation to the code of the rule that must find it, and nothing else."""

for _module in sorted(Path(__file__).parent.glob("caught_by_*.py")):
    for _name, _rule in import_module(f"mutations.{_module.stem}").CAUGHT_BY.items():
        if CAUGHT_BY.setdefault(_name, _rule) != _rule:
            raise ValueError(f"mutation {_name} is expected to be found by two rules")
