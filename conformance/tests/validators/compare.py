"""Ask other tools about the cases for validators, and write what they find: `reports/validators.md` and `.json`.

python -m validators.compare CASES [TOOL]...      (in conformance/tests; `nox -s validators` does it)
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec
from helpers.selection import ROOT
from validators.tools import STATE, TITLES, TOOLS, ask_all

from deltaspec.golden.case_format import CaseDocument

JSON, PAGE = ROOT / "reports/validators.json", ROOT / "reports/validators.md"
_PACKAGES = ("delta-audit", "deltalake", "delta-spark")

INTRODUCTION = """\
# What other tools find of the planted faults

Each of {total} tables breaks one requirement ({kinds}). `deltaspec validate` reports every one of them under the right
requirement, and nothing in its sound twin; its tests demand it, so it has no column here. `nox -s validators` exports
the tables as cases, asks the tools, and writes this page and `validators.json`, which has the answer to each table.
`nox -s validators -- export DIRECTORY` only exports them.

None of these tools promises more than it does. `repair` looks for data files that are missing, and `vacuum` for files
that nothing refers to. A reader must refuse only what it cannot read correctly: many of these faults do no harm to a
reader, or only to writers. `FSCK REPAIR TABLE` of Databricks cannot run here.

A tool has *found* a fault if it reports a kind of issue, fails, or lists files for the broken table and not for the
twin. Whether it names the right reason was not judged. A reader loads the state and the list of files, then all rows;
tables about the log often have no data files, and of these only the state counts. A fault is *undecided* if no sound
twin is known, or if the reader cannot load the state of the twin either.
"""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool says of a broken table that it does not say of the sound twin."""

    outcome: str
    """`found`, `nothing`, or `undecided`: the twin cannot be loaded either, or there is none."""
    first: str = ""
    """First thing that it reports of the broken table only."""


class Comparison(msgspec.Struct, frozen=True):
    """Content of `reports/validators.json`."""

    versions: dict[str, str]
    severities: dict[str, str]
    """Severity of each planted fault by id of its case."""
    answers: dict[str, dict[str, Answer]]
    """By tool and id of the case."""


def compare(cases: Path, tools: Sequence[str]) -> Comparison:
    """Ask tools about all cases of a directory."""
    folders = sorted(path.parent for path in cases.rglob("case.json"))
    documents = [msgspec.json.decode((each / "case.json").read_bytes(), type=CaseDocument) for each in folders]
    for folder, document in zip(folders, documents, strict=True):
        for path, moment in document.expect.modification_times.items():
            for table in ("delta", "twin"):
                if (file := folder / table / path).is_file():
                    os.utime(file, ns=(moment * 1_000_000,) * 2)
    answers = {}
    for tool in tools:
        broken = ask_all(tool, [each / "delta" for each in folders])
        pairs = list(zip(folders, broken, strict=True))
        with_twin = [folder for folder, found in pairs if found and (folder / "twin").is_dir()]
        twins = dict(zip(with_twin, ask_all(tool, [each / "twin" for each in with_twin]), strict=True))
        answers[tool] = {
            document.id: judge(found, twins.get(folder), folder)
            for document, (folder, found) in zip(documents, pairs, strict=True)
        }
        print(tool, dict(Counter(each.outcome for each in answers[tool].values())), flush=True)
    severities = {each.id: str(each.expect.severity) for each in documents}
    return Comparison({name: version(name) for name in _PACKAGES if _needs(name, tools)}, severities, answers)


def _needs(package: str, tools: Sequence[str]) -> bool:
    return package in tools or (package == "deltalake" and bool({"repair", "vacuum", "delta-rs"} & {*tools}))


def judge(broken: Sequence[str], twin: Sequence[str] | None, folder: Path) -> Answer:
    """Return what a tool finds: a kind of issue, listed files or an error that only the broken table has.

    `twin` is None if there is no twin, or if the tool says nothing of the broken table.
    """
    if broken and twin is None:
        return Answer("undecided")
    known = {_get_kind(each) for each in twin or ()}
    if STATE in known and broken:
        return Answer("undecided")
    new = [each for each in broken if _get_kind(each) not in known]
    return Answer("found", new[0].replace(f"{folder}/delta", "…")) if new else Answer("nothing")


def _get_kind(text: str) -> str:
    return text.partition(":")[0]


def render(comparison: Comparison) -> str:
    """Return the page."""
    tools = list(comparison.answers)
    chapters: dict[str, list[str]] = {}
    for case in comparison.severities:
        chapters.setdefault(case.partition(".")[0], []).append(case)
    total = len(comparison.severities)
    severities = Counter(comparison.severities.values())
    kinds = ", ".join(f"{number} {kind}s" for kind, number in severities.most_common())
    lines = [
        INTRODUCTION.format(total=total, kinds=kinds),
        f"Versions: {', '.join(f'{name} {text}' for name, text in comparison.versions.items())}.",
        "",
        f"| chapter | faults | {' | '.join(TITLES[tool] for tool in tools)} |",
        f"|-|-|{'-|' * len(tools)}",
    ]
    for chapter, cases in sorted(chapters.items()):
        counts = " | ".join(_count(comparison.answers[tool], cases) for tool in tools)
        lines.append(f"| {chapter} | {len(cases)} | {counts} |")
    every = list(comparison.severities)
    groups = {"all": every} | {f"{kind}s": [case for case in every if comparison.severities[case] == kind]
                               for kind in severities}  # fmt: skip
    for title, cases in groups.items():
        counts = " | ".join(f"**{_count(comparison.answers[tool], cases)}**" for tool in tools)
        lines.append(f"| **{title}** | {len(cases)} | {counts} |")
    lines += ["", "`12 (3)` stands for 12 found and 3 undecided.", ""]
    return "\n".join(lines)


def _count(answers: dict[str, Answer], cases: Sequence[str]) -> str:
    counts = Counter(answers[case].outcome for case in cases)
    return f"{counts['found']}" + (f" ({counts['undecided']})" if counts["undecided"] else "")


def main(cases: Path, tools: Sequence[str]) -> None:
    """Write the report and the page; tools that are not asked keep their earlier answers."""
    found = compare(cases, tools)
    if JSON.exists():
        earlier = msgspec.json.decode(JSON.read_bytes(), type=Comparison)
        kept = {tool: each for tool, each in earlier.answers.items() if each.keys() == found.severities.keys()}
        answers = {tool: {**kept, **found.answers}[tool] for tool in TOOLS if tool in {**kept, **found.answers}}
        found = Comparison({**earlier.versions, **found.versions}, found.severities, answers)
    JSON.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    PAGE.write_text(render(found), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(TOOLS))
