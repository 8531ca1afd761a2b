"""Find the log lines that `deltaspec explain` shows: where a table that violates a rule differs from a sound one.

The violating table is the simplest one that a planted fault of the rule draws. The sound one is a table from which the
planted fault made it, or else the most similar table of another planted fault or permission, without findings.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from math import inf
from types import FrameType
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from planted_faults.caught_by import CAUGHT_BY
from planted_faults.kill_table import find_revisions, write_and_validate

from deltaspec.errors import TableUnreadable
from deltaspec.log_examples import LinePair, LogExample
from deltaspec.report.report_types import Finding, Report
from deltaspec.rules import RULES
from deltaspec.wire.storage.interface import LOG_DIRECTORY
from deltaspec_generators.action_lines import Line, encode_line
from deltaspec_generators.table_files import TableFiles, encode_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.faults.registry import PlantedFault
from planted_tables.permissions.all_permissions import PERMISSIONS

Lines = Mapping[str, Sequence[str]]
"""Lines of each text file of a log, and rows of its Parquet files as JSON, by path."""
_GENERATORS = ("deltaspec_generators", "planted_tables")
_MOST_PAIRS = 2
"""Pairs of lines that an example has."""
_MOST_SIMILAR = 20
"""Tables of other planted faults that are compared."""
_MOST_WORDS = 40
"""Words in which tables of other planted faults may differ. A larger difference does not show what is wrong."""
_WORD = re.compile(r"\w+|.", re.S)


@dataclass(frozen=True)
class DrawnTable:
    """The simplest table of a planted fault."""

    files: TableFiles
    before: Sequence[TableFiles]
    """Tables from which it was made, in the order in which functions returned them."""


@dataclass(frozen=True)
class Difference:
    """Two lines that differ."""

    pair: LinePair
    line: int | None
    """Number of the line in the broken table; None if it is missing there."""


@cache
def draw_simplest(name: str) -> DrawnTable:
    """Draw the first table of a planted fault, for which hypothesis chooses the simplest values."""
    drawn: list[DrawnTable] = []

    @settings(
        max_examples=1,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        data.draw(st.none())
        with collect_returned_tables() as before:
            files = PLANTED_FAULTS[name].breaks(data.draw)
        drawn.append(DrawnTable(files, before))

    run()
    return drawn[0]


@contextmanager
def collect_returned_tables() -> Iterator[list[TableFiles]]:
    """Yield a list that receives a copy of every table that a function of the generators returns."""
    found: list[TableFiles] = []

    def record(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame.f_globals.get("__name__", "").startswith(_GENERATORS):
            tables = value if isinstance(value, tuple) else (value,)
            found.extend(deepcopy(each) for each in tables if isinstance(each, TableFiles))

    sys.setprofile(record)  # planted faults do not say from which table they start
    try:
        yield found
    finally:
        sys.setprofile(None)


def list_lines(files: TableFiles) -> Lines:
    """Return the lines of a log."""
    texts = encode_table(replace(files, checkpoints=[], data={}))
    found = {
        path: [_decode(line) for line in data.removesuffix(b"\n").split(b"\n")]
        for path, data in texts.items()
        if path.startswith(f"{LOG_DIRECTORY}/") and not path.endswith(".parquet")
    }
    for checkpoint in files.checkpoints:
        rows = list(map(_encode_row, checkpoint.rows))
        found[f"{LOG_DIRECTORY}/{checkpoint.names[0]}"] = rows
        for sidecar in checkpoint.sidecars:
            found[f"{LOG_DIRECTORY}/_sidecars/{sidecar.name}"] = list(map(_encode_row, sidecar.rows))
    return found


def _encode_row(row: Line) -> str:
    return (
        json.dumps(row, separators=(",", ":"), ensure_ascii=False, default=str)
        if isinstance(row, dict)
        else _decode(encode_line(row))
    )


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def compare_lines(sound: Lines, broken: Lines) -> list[Difference]:
    """Return the lines that differ."""
    found = []
    for file in sorted({*sound, *broken}):
        before, after = sound.get(file), broken.get(file)
        if before is None or after is None:  # one difference, not one for each line
            present = before or after or [""]
            pair = LinePair(file, before and present[0], after and present[0], len(present))
            found.append(Difference(pair, 1))
            continue
        for kind, first, last, begin, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind != "equal":
                numbered = zip_longest(before[first:last], after[begin:end], range(begin + 1, end + 1))
                found += [Difference(LinePair(file, old, new), number) for old, new, number in numbered]
    return found


def build_example(code: str) -> LogExample | None:
    """Return the example of a rule: the smallest difference in the log between its planted faults and sound tables.

    None if data files also differ or are at fault, or if no sound table is similar.
    """
    found = [
        (_measure(differences), number, fault, differences)
        for number, fault in enumerate(name for name, caught_by in CAUGHT_BY.items() if caught_by == code)
        if (differences := _compare_with_sound_table(fault))
    ]
    if not found:
        return None
    _, _, fault, differences = min(found)
    places = {(each.file, each.line) for each in _find_findings(fault)}
    if RULES[code].level != "log" and places.isdisjoint((each.pair.file, each.line) for each in differences):
        return None  # the fault is in a data file
    shown = [each for each in differences if (each.pair.file, each.line) in places] or differences
    pairs = tuple(each.pair for each in sorted(shown, key=lambda each: _measure([each]))[:_MOST_PAIRS])
    return LogExample(fault, pairs, len(differences) - len(pairs))


def _compare_with_sound_table(name: str) -> list[Difference]:
    """Return how a log of a planted fault differs from the most similar sound one; nothing if it does not."""
    drawn = draw_simplest(name)
    broken = list_lines(drawn.files)
    found: list[Difference] = []
    for tables, most_words in ((drawn.before, inf), (_find_similar(broken), _MOST_WORDS)):
        same_data = [each for each in tables if _select_data(each) == _select_data(drawn.files)]
        compared = [(_measure(lines := compare_lines(list_lines(each), broken)), lines, each) for each in same_data]
        for size, differences, files in sorted(compared, key=lambda each: each[0]):
            if found and size >= _measure(found):
                break
            if differences and size[1] <= most_words and _is_sound(files, name):
                found = differences
                break
        if found and _measure(found)[0] == 1:
            break
    return found


def _select_data(files: TableFiles) -> tuple[Any, ...]:
    """Return the files of a table next to its log."""
    log = f"{LOG_DIRECTORY}/"
    extra = {path: data for path, data in files.extra.items() if not path.startswith(log)}
    return files.data, extra, {path for path in files.missing if not path.startswith(log)}


def _measure(differences: Sequence[Difference]) -> tuple[int, int]:
    """Return how large a difference is: lines, then words that only one side has.

    Those of the sound table count twice: what it has and the other does not have is rarely what is wrong.
    """
    words = 0
    for each in differences:
        old, new = _count_words(each.pair.conforms), _count_words(each.pair.violates)
        words += 2 * (old - new).total() + (new - old).total()
    return sum(each.pair.file_lines or 1 for each in differences), words


@cache
def _count_words(line: str | None) -> Counter[str]:
    return Counter(_WORD.findall(line or ""))


def _find_similar(broken: Lines) -> list[TableFiles]:
    """Return tables of other planted faults, and those of permissions, that have most lines of a log."""
    wanted = _identify(broken)
    ranked = sorted(_collect_tables(), key=lambda each: len(wanted ^ each[0]))
    most = len(wanted ^ ranked[_MOST_SIMILAR][0])
    return [files for lines, files in ranked if len(wanted ^ lines) <= most]


@cache
def _collect_tables() -> Sequence[tuple[frozenset[tuple[str, int, str]], TableFiles]]:
    """Return tables that may be sound, with their lines."""
    tables = [each for name in PLANTED_FAULTS for each in draw_simplest(name).before]
    tables += [each.table() for each in PERMISSIONS.values()]
    return list({_identify(list_lines(each)): each for each in reversed(tables)}.items())


def _identify(lines: Lines) -> frozenset[tuple[str, int, str]]:
    return frozenset((file, number, line) for file, found in lines.items() for number, line in enumerate(found))


@cache
def _find_findings(name: str) -> tuple[Finding, ...]:
    return tuple(_validate(draw_simplest(name).files, PLANTED_FAULTS[name]).findings)


def _is_sound(files: TableFiles, fault: str) -> bool:
    """Return whether a table has no findings at the level and revision in which the planted fault has some."""
    try:
        return not _validate(files, PLANTED_FAULTS[fault]).totals
    except TableUnreadable:
        return False  # a function returned it before it was complete


def _validate(files: TableFiles, fault: PlantedFault) -> Report:
    return write_and_validate(files, fault.level, find_revisions(fault)[-1])


def encode_examples(examples: Mapping[str, LogExample]) -> bytes:
    """Return the content of `log_examples.json`, with one line for each rule."""
    lines = [f"{json.dumps(code)}: {msgspec.json.encode(examples[code]).decode()}" for code in sorted(examples)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
