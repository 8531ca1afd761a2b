"""Results of compared histories, and the report about all of them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from deltaspec.differential.performing import Comparison
from deltaspec.suites.outcomes import build_signature
from deltaspec_generators.histories.purposes import Purpose

Verdict: TypeAlias = Literal["finding", "corrected", "divergence", "unknown"]
"""A fault of the engine with a page in `reports/findings`; a fault of the kit that was corrected; silence of the
protocol, so that both readings are right; or no decision yet."""


class FoundDifference(msgspec.Struct, frozen=True):
    """A difference of a history."""

    aspect: str
    message: str
    """The first line says what differs; the operation follows."""
    steps: int
    """Number of operations up to the difference."""

    @property
    def signature(self) -> str:
        """The kind of difference, without numbers, names and values."""
        return build_signature(self.message)


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one history; seed and number draw it again."""

    seed: int
    number: int
    purposes: tuple[Purpose, ...] = ()
    seconds: float
    cpu_seconds: float = 0.0
    """CPU time of both writers, and of other histories at the same time; 0 if it was not measured."""
    titles: tuple[str, ...]
    """One line for each operation."""
    differences: tuple[FoundDifference, ...]
    counts: dict[str, int]

    @classmethod
    def of(
        cls,
        seed: int,
        number: int,
        purposes: tuple[Purpose, ...],
        done: Comparison,
        seconds: float,
        cpu_seconds: float,
    ) -> HistoryResult:
        """Return the result of a comparison."""
        found = tuple(FoundDifference(each.aspect, each.message, each.steps) for each in done.differences)
        counts = {name: count for name, count in sorted(done.counts.items()) if count}
        return cls(
            seed=seed,
            number=number,
            purposes=purposes,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            titles=tuple(done.titles),
            differences=found,
            counts=counts,
        )


class KnownDifference(msgspec.Struct, frozen=True):
    """A difference with a decision."""

    aspect: str
    match: str
    """Regular expression that occurs in the message."""
    verdict: Verdict
    reason: str
    link: str = ""

    def applies(self, found: FoundDifference) -> bool:
        """Return whether a difference is this one."""
        return self.aspect == found.aspect and re.search(self.match, found.message) is not None


class DifferenceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """All differences of one kind."""

    aspect: str
    signature: str
    histories: int
    verdict: Verdict
    reason: str
    link: str
    example: str
    """Seed and number of the history that shows it first."""
    operations: tuple[str, ...]
    """Operations of the example up to the difference."""
    message: str


class DifferentialReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a run."""

    writers: tuple[str, str]
    """Names and versions."""
    seeds: dict[str, int]
    """Number of histories of each seed."""
    histories: int
    histories_without_difference: int
    operations: int
    seconds: float
    """Time of all histories, one after the other."""
    counts: dict[str, int]
    differences: tuple[DifferenceGroup, ...]
    not_found_again: tuple[KnownDifference, ...]
    """Decided differences of earlier runs."""

    @property
    def undecided(self) -> list[DifferenceGroup]:
        """Differences without a decision, or that were corrected before."""
        return [each for each in self.differences if each.verdict in ("unknown", "corrected")]


def describe_result(result: HistoryResult) -> str:
    """Return one line about a history."""
    found = "; ".join(each.signature for each in result.differences) or "equal"
    return f"{result.seed}.{result.number}: {len(result.titles)} operations, {result.seconds:.1f} s: {found}"


def load_known_differences(path: Path) -> list[KnownDifference]:
    """Load the tables `difference` of a TOML file."""
    found = tomllib.loads(path.read_text("utf-8")).get("difference", [])
    return msgspec.convert(found, list[KnownDifference])


def build_report(
    writers: tuple[str, str], results: Sequence[HistoryResult], known: Iterable[KnownDifference]
) -> DifferentialReport:
    """Summarize the results of histories."""
    known = list(known)
    groups: dict[tuple[str, str], list[tuple[HistoryResult, FoundDifference, KnownDifference | None]]] = {}
    for result in results:
        for each in result.differences:
            entry = next((one for one in known if one.applies(each)), None)
            name = (each.aspect, each.signature if entry is None else entry.match)
            groups.setdefault(name, []).append((result, each, entry))
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.counts)
    return DifferentialReport(
        writers=writers,
        seeds={str(seed): number for seed, number in sorted(Counter(each.seed for each in results).items())},
        histories=len(results),
        histories_without_difference=sum(not each.differences for each in results),
        operations=sum(len(each.titles) for each in results),
        seconds=round(sum(each.seconds for each in results), 1),
        counts=dict(sorted(counts.items())),
        differences=tuple(_build_group(each) for each in sorted(groups.values(), key=len, reverse=True)),
        not_found_again=tuple(each for each in known if (each.aspect, each.match) not in groups),
    )


def _build_group(found: Sequence[tuple[HistoryResult, FoundDifference, KnownDifference | None]]) -> DifferenceGroup:
    result, example, entry = min(found, key=lambda each: (each[1].steps, each[0].number))
    return DifferenceGroup(
        aspect=example.aspect,
        signature=example.signature,
        histories=len(found),
        verdict="unknown" if entry is None else entry.verdict,
        reason="" if entry is None else entry.reason,
        link="" if entry is None else entry.link,
        example=f"{result.seed}.{result.number}",
        operations=result.titles[: example.steps],
        message=example.message,
    )


_HEAD = """# Delta Spark and the reference writer on the same histories

`nox -s differential` writes this page. Both writers perform the same random histories, each on a separate table. The
reference reader reads both tables after every operation, and these facts must be equal: schema, partition columns,
properties, transactions, domains, clustering columns, rows, row ids, row commit versions, changes, numbers of live
rows, bounds and null counts. Both must also refuse the same operations. Delta Spark reads the rows of the second table
after every third operation and at the end, and then the snapshot, a past version and all changes of both. Every tenth
history ends with a validation of both tables at level rows. `conformance/deltaspec/differential/facts.py` lists the
choices that the protocol leaves to the writer.
"""


def render_page(report: DifferentialReport) -> str:
    """Return the report as Markdown."""
    seeds = ", ".join(f"{number:,} of seed {seed}" for seed, number in report.seeds.items())
    lines = [
        _HEAD,
        f"- Writers: {report.writers[0]} (first), {report.writers[1]} (second)",
        f"- Histories: {report.histories:,} ({seeds}), {report.operations:,} operations, {report.seconds:,.0f} s",
        f"- Without a difference: {report.histories_without_difference:,}",
        "",
        "| compared | number |",
        "|-|-:|",
        *(f"| {name} | {number:,} |" for name, number in report.counts.items() if not _is_free(name)),
        "",
        "| not compared | number |",
        "|-|-:|",
        *(f"| {name} | {number:,} |" for name, number in report.counts.items() if _is_free(name)),
        "",
        "## Differences",
        "",
    ]
    if not report.differences:
        lines += ["None.", ""]
    for each in report.differences:
        link = f" ([page]({each.link}))" if each.link else ""
        lines += [
            f"### {each.aspect}: {each.histories:,} histories, {each.verdict}{link}",
            "",
            *([each.reason.strip(), ""] if each.reason else []),
            f"Example: history {each.example}",
            "",
            "```text",
            *each.operations,
            "",
            *each.message.splitlines()[:8],
            "```",
            "",
        ]
    if report.not_found_again:
        lines += ["## Differences of earlier runs", ""]
        lines += [
            f"- {each.aspect}, {each.verdict}: {' '.join(each.reason.split())}" for each in report.not_found_again
        ]
    return "\n".join(lines).rstrip() + "\n"


def _is_free(name: str) -> bool:
    return "not compared" in name or name.startswith("operations left out")
