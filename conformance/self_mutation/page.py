"""Write the page about the planted faults: their modules, and the faults that no test notices."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from self_mutation.code_faults import CodeFault

_Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Outcome:
    """Result of the tests with a planted fault."""

    id: str
    module: str
    function: str
    result: str
    """killed, survived or timeout"""
    before: str
    """The lines that the fault changes, as one line."""
    after: str

    @classmethod
    def from_sources(cls, fault: CodeFault, result: str, source: str, changed: str) -> Outcome:
        """Return the outcome of a fault, given the code before and after."""
        lines = list(difflib.unified_diff(source.splitlines(), changed.splitlines(), lineterm="", n=0))[2:]
        before, after = (
            " ".join(line[1:].strip() for line in lines if line.startswith(sign)).strip() for sign in ("-", "+")
        )
        return cls(fault.id, fault.module, fault.function, result, before, after)

    @property
    def key(self) -> _Key:
        """Key of a survivor in `survivors.toml`; it does not depend on line numbers."""
        return self.module, self.function, self.before, self.after

    def __str__(self) -> str:
        return f"{self.module} {self.function}: {self.before} -> {self.after}"

    def to_json(self) -> str:
        """Return one line that `read_outcomes` reads."""
        return json.dumps(asdict(self))


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """Return the newest outcome of each fault, by id."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {each.id: each for each in (Outcome(**json.loads(line)) for line in lines)}


def read_reasons() -> dict[_Key, str]:
    """Return why each known survivor is not a gap of the tests."""
    text = Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8")
    return {
        (each["module"], each["function"], each["before"], each["after"]): each["reason"]
        for each in tomllib.loads(text).get("survivor", ())
    }


def write_page(path: Path, outcomes: Iterable[Outcome], faults: Collection[CodeFault]) -> int:
    """Write the page; return 1 if a survivor has no reason.

    Args:
        path: page to write.
        outcomes: outcomes of the faults that ran.
        faults: all faults, also those that did not run.
    """
    reasons = read_reasons()
    every = sorted(outcomes, key=lambda each: each.key)
    survivors = [each for each in every if each.result == "survived"]
    totals = Counter(each.module for each in faults)
    rows = [_format_row(name, [each for each in every if each.module == name], totals[name]) for name in sorted(totals)]
    rows.append(_format_row("**all**", every, len(faults)))
    lines = [_format_survivor(each, reasons) for each in survivors]
    path.write_text(_PAGE.format(rows="\n".join(rows), survivors="\n".join(lines)), encoding="utf-8")
    unexplained = [each for each in survivors if each.key not in reasons]
    for each in unexplained:
        print(f"{each}: needs a test, or a reason in conformance/self_mutation/survivors.toml")
    return 1 if unexplained else 0


_PAGE = """# Self-mutation

A rule that could not be evaluated must be in the ledger, never silently passed. `nox -s self-mutation` plants single
faults (with cosmic-ray) in every statement of the kit that decides or records what was not checked, and runs the tests
of the module. A fault is killed if a test fails. Each survivor needs a test, or a reason in
`conformance/self_mutation/survivors.toml`. `validation/spark` is left out, because its tests need Java.
`self-mutation.jsonl` has the outcomes; the column `run` counts them. Outcomes of changed code are dropped, and
`nox -s self-mutation -- --resume` runs only the faults without one, and the survivors without a reason.

| module | faults | run | killed | timeouts | survived |
|-|-|-|-|-|-|
{rows}

## Survivors

| module | function | fault | reason |
|-|-|-|-|
{survivors}
"""


def _format_row(name: str, outcomes: list[Outcome], total: int) -> str:
    number = Counter(each.result for each in outcomes)
    cells = [name, total, len(outcomes), number["killed"], number["timeout"], number["survived"]]
    return f"| {' | '.join(map(str, cells))} |"


def _format_survivor(outcome: Outcome, reasons: Mapping[_Key, str]) -> str:
    change = f"`{outcome.before}` → `{outcome.after}`".replace("|", "\\|")
    return f"| {outcome.module} | {outcome.function} | {change} | {reasons.get(outcome.key, '')} |"
