"""Write the page about the mutants that tests killed, and those that survived."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.mutants import Mutant

LIMIT = 0.9
"""Share of the mutants that the tests must kill in each folder, unless every survivor has a reason."""


@dataclass(frozen=True)
class Outcome:
    """What the tests said about a mutant."""

    id: str
    module: str
    function: str
    is_ledger: bool
    result: str
    """killed, survived or timeout"""
    before: str
    """The lines that the fault changes, as one line."""
    after: str

    @classmethod
    def from_sources(cls, mutant: Mutant, result: str, source: str, mutated: str) -> Outcome:
        """Return the outcome of a mutant, given the code before and after."""
        lines = list(difflib.unified_diff(source.splitlines(), mutated.splitlines(), lineterm="", n=0))[2:]
        before, after = (
            " ".join(line[1:].strip() for line in lines if line.startswith(sign)).strip() for sign in ("-", "+")
        )
        return cls(mutant.id, mutant.module, mutant.function, mutant.is_ledger, result, before, after)

    @property
    def folder(self) -> str:
        """First part of the module's path."""
        return self.module.partition("/")[0]

    def is_in(self, group: str) -> bool:
        """Return whether the mutant is in a folder, or in the group `ledger`."""
        return self.is_ledger if group == "ledger" else self.folder == group

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What `survivors.toml` states about a survivor; it does not depend on line numbers."""
        return self.module, self.function, self.before, self.after

    def __str__(self) -> str:
        return f"{self.module} {self.function}: {self.before} -> {self.after}"

    def to_json(self) -> str:
        """Return one line that `read_outcomes` reads."""
        return json.dumps(asdict(self))


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """Return the newest outcome of each mutant, by id."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {each.id: each for each in (Outcome(**json.loads(line)) for line in lines)}


def read_reasons() -> dict[tuple[str, str, str, str], str]:
    """Return why each known survivor is not a gap of the tests."""
    text = Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8")
    return {
        (each["module"], each["function"], each["before"], each["after"]): each["reason"]
        for each in tomllib.loads(text).get("survivor", ())
    }


def write_page(path: Path, outcomes: Iterable[Outcome], totals: Mapping[str, int], seed: int) -> int:
    """Write the page; return 1 if a survivor without a reason is in the ledger group or in a weak folder.

    Args:
        path: page to write.
        outcomes: outcomes of the mutants that ran.
        totals: number of all mutants by folder, and in the group `ledger`.
        seed: determined the sample.
    """
    reasons = read_reasons()
    every = sorted(outcomes, key=lambda each: (list(totals).index(each.folder), each.key))
    groups = {name: [each for each in every if each.is_in(name)] for name in totals}
    failed = {name for name, group in groups.items() if _is_weak(name, group, reasons)}
    rows = [_format_row(name, group, totals[name], reasons) for name, group in groups.items() if group]
    survivors = [_format_survivor(each, reasons.get(each.key)) for each in every if each.result == "survived"]
    path.write_text(_PAGE.format(seed=seed, rows="\n".join(rows), survivors="\n".join(survivors)), encoding="utf-8")
    for name in sorted(failed):
        print(f"{name}: survivors need a test, or a reason in conformance/mutation/survivors.toml; see {path.name}")
    return 1 if failed else 0


_PAGE = """# Mutation tests of the kit

`nox -s mutate` plants single faults in copies of the kit's modules (with cosmic-ray) and runs the tests of the module.
A fault is killed if a test fails. A complete run takes a sample of each folder (seed {seed}) and all faults of the
group `ledger`: those in statements that decide or record what was not checked. The column `run` counts the mutants
with an outcome in `mutation.jsonl`; a run of some folders keeps the outcomes of the others, as long as their code is
the same. `validation/spark` is left out, because its tests need Java.

| group | mutants | run | killed | timeouts | survived | explained | killed or timeout |
|-|-|-|-|-|-|-|-|
{rows}

## Survivors

| module | function | fault | reason |
|-|-|-|-|
{survivors}
"""


def _is_weak(name: str, group: list[Outcome], reasons: Mapping[tuple[str, str, str, str], str]) -> bool:
    """Return whether a group has a survivor without a reason and does not reach the limit. The ledger must reach 1."""
    unexplained = [each for each in group if each.result == "survived" and each.key not in reasons]
    return bool(unexplained) and (name == "ledger" or _compute_rate(group) < LIMIT)


def _compute_rate(group: list[Outcome]) -> float:
    return sum(each.result != "survived" for each in group) / len(group)


def _format_row(name: str, group: list[Outcome], total: int, reasons: Mapping[tuple[str, str, str, str], str]) -> str:
    number = Counter(each.result for each in group)
    explained = sum(each.result == "survived" and each.key in reasons for each in group)
    counts = [len(group), number["killed"], number["timeout"], number["survived"], explained]
    cells = [name, total, *counts, f"{_compute_rate(group):.0%}"]
    return f"| {' | '.join(map(str, cells))} |"


def _format_survivor(outcome: Outcome, reason: str | None) -> str:
    fault = f"`{outcome.before}` → `{outcome.after}`".replace("|", "\\|")
    return f"| {outcome.module} | {outcome.function} | {fault} | {reason or ''} |"
