"""Render `reports/bench.md` from the results."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from bench.cases import CASES, DELTASPEC, SERIES, Case
from bench.results import CaseResult, Measurement, Results, ScaleRow, Session, compute_ratio

SPARK_TABLE = "20 M files"
SPARK_RATIO = 0.5
_MISSING = "not measured"
_HEAD = """# Time and memory

`nox -s bench` writes this page from `bench.json`; do not edit it. It measures complete processes, including the start
of the interpreter, with a warm page cache. The programs of a case run in turn, in the same minutes. Values are the
median [least-most] of the runs; memory is the peak resident set. `floor` parses every line and decodes every row, and
nothing else. `floor-files` also lists the files with their sizes and decodes every deletion vector.

The speed of the virtual machine varies by half within an hour. Ratios are of runs in turn, and still vary: (a) took
0.84 to 1.03 of delta-rs within half an hour, (b) 0.52 to 0.59 in three sessions, and (e) 1.27 to 1.50 of its floor,
with nearly the same code. Three runs of (v2) took 55, 80 and 65 s one after another. Compare seconds only within a
session. When the targets in seconds were set, `imports` of case `tiny` took 0.30 s.
"""
_START = "tiny"
_FLOORS = ("floor", "floor-files")
_FLOORS_HEAD = f"""## Floors

Case `{_START}` is the start of a process. A process that reads a log on one core needs about the start and the floor
together, in wall time or CPU time; the table has the least of the runs. Where the sum exceeds the target, only a faster
start or a second core can meet it. The floor of (e) is `pyarrow-bounds`; for missing files it is `level-files`.

About three quarters of the CPU time of the start are imports (`python -X importtime`, minimum of eight runs). Polars
and PyArrow have 41 % of them, 248 modules of deltaspec 28 %, the standard library and other packages the rest. NumPy is
not imported; `imports` includes it.
"""
_PROFILES = """Where other cases that missed their target, at least in some session, spent their CPU time (timers of
threads, one run, 2026-11-28):

- (b) Statistics 25 %, decoding by Arrow 24 % (two fifths of it are page faults), facts of paths 10 %, start 9 %, replay
  7 %, partition values 3 %. Regular expressions, most of them to prove that statistics are plain, take 2 to 3 ns
  for each byte, in Rust and in C++; that paths are usual is now proved by trimming, in half of the time.
  Even an expression of one character class takes 1.7 ns. Changed since: rows are not copied before replay, and
  `pyarrow.compute` is not imported. If both cores were always busy, deltaspec would take about half of the time of
  delta-rs. They are busy for 94 % of reading, but the start (0.26 s) and replay (0.07 s) need one core. The allocator
  of the system saves a fifth of the page faults, but no time, and takes 65 MB more; huge pages save three quarters of
  the faults, but no time.
- (e) Level rows decodes every row as `pyarrow-bounds` does. The ratio was 1.27 to 1.34 in five sessions.
- (v2) 83 % for reading rows and 16 % for replaying those that were spilled. Of some 190 ms for a batch of 32,768 rows,
  statistics take 40 to 50 ms, facts of paths 16, partition values 8 and decoding by Arrow about 30 (each timed alone).
  14 % of all is spent in the kernel. Groups of 1,000,000 replayed rows saved nothing and took 2 GB; batches of 131,072
  rows took the same time and 170 MB more; one thread for Polars took 6 % less CPU time and 3 % more wall time. By
  symbols, of 2,500,000 files: regular expressions 12 %, copies of memory 9 %, LZ4 8 %, Snappy 5 %, the kernel 17 %,
  Python 10 %. All this was measured before paths were spilled once instead of twice and names of log
  files as indices, and before usual paths were recognized by trimming.
- (vectors-1000000) Listing a file takes 4.7 µs, of which the system calls are 3.6; its line 1.2 µs, and the facts of
  its vector 0.8 µs (each timed alone, of 100,000 files or more). Of the wall time, the log takes 44 % (decoding lines
  16 %, columns of the decoded actions 10 %) and listing the files 30 %. A file without a vector takes 5.1 µs less.
  Small vectors are decoded in columns; one by one, the facts of a vector took 5.1 µs, of which the Roaring library took
  1.4.
- (missing-300000) Both levels import the same modules and explain the missing files. What level `rows` adds is to look
  for the first thousand of them again, and two passes that sort them out for footers and rows: 0.08 s.
"""
_SCALE_HEAD = """## Millions of files, and Spark

`nox -s bench-scale` validates tables with a V2 checkpoint (sidecars of 250,000 adds), three commits and a checksum
against all rules of level `log`, and gigabytes of rows against all rules of level `rows`. Memory is the peak of the
process tree, or of each process. `nox -s bench-many-tables` validates 1,000 copies of golden tables at level `rows` in
one call. Both programs have the same verdicts, and append their results to Delta tables that conform.
"""


@dataclass(frozen=True)
class Check:
    """A target of a case, and whether the measurement meets it."""

    target: str
    measured: str
    is_met: bool | None
    """None if the case was not measured."""


def render_page(results: Results, cases: Mapping[str, Case] = CASES) -> str:
    """Return the page as Markdown.

    Args:
        results: measurements of all cases.
        cases: every case that the page lists, in order.
    """
    sessions = _Sessions()
    parts = [
        _HEAD,
        _render_targets(results, cases),
        _render_floors(results, cases),
        _render_cases(results, cases, sessions),
        _render_growth(results, cases, sessions),
        _render_scale(results.scale, sessions),
        sessions.render(),
    ]
    return "\n".join(parts)


class _Sessions:
    """Numbers the sessions in the order in which the page mentions them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, session: Session) -> int:
        """Return the number of a session."""
        return self._numbers.setdefault(describe(session), len(self._numbers) + 1)

    def render(self) -> str:
        lines = [f"{number}. {text}" for text, number in self._numbers.items()]
        return "\n".join(["## Sessions", "", *(lines or ["None."])]) + "\n"


def describe(session: Session) -> str:
    """Describe a session in one line."""
    facts = [session.date]
    facts += [f"commit {session.commit}"] if session.commit else ["commit not recorded"]
    facts += [session.platform] if session.platform else []
    facts += [f"{session.processors} processors"] if session.processors else []
    facts += [f"{session.gibibytes} GiB"] if session.gibibytes else []
    facts += [f"Python {session.python}"] if session.python else []
    facts += [f"{name} {number}" for name, number in session.versions.items()]
    facts += [f"load average before {session.load:.1f}"] if session.commit else []
    facts += [session.note] if session.note else []
    return "; ".join(facts)


def format_spread(values: list[float] | list[int], form: str) -> str:
    """Format median [least-most], or the only value; a dash if there is none."""
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{median(values):{form}} [{min(values):{form}}-{max(values):{form}}]"


def check_targets(case: Case, result: CaseResult | None) -> list[Check]:
    """Compare a case with its targets."""
    target = case.target
    own = None if result is None else result.programs.get(DELTASPEC)

    def check(limit: float | None, text: str, value: float | None, form: str) -> list[Check]:
        if limit is None:
            return []
        if value is None:
            return [Check(text, _MISSING, None)]
        return [Check(text, format(value, form), round(value, 3) <= limit)]

    def compute(read: Callable[[Measurement], float]) -> float | None:
        return None if own is None or not own.wall_seconds else read(own)

    wall = compute(lambda own: median(own.wall_seconds))
    cpu = compute(lambda own: median(own.cpu_seconds))
    megabytes = compute(lambda own: median(own.megabytes))
    peer = case.peers[0] if case.peers else ""
    ratio = None if result is None else compute_ratio(result, DELTASPEC, peer)
    checks = check(target.ratio, f"wall: {target.ratio} x {peer}", ratio, ".2f")
    checks += check(target.wall_seconds, f"wall: {target.wall_seconds} s", wall, ".2f")
    checks += check(target.cpu_seconds, f"CPU: {target.cpu_seconds} s", cpu, ".1f")
    checks += check(target.megabytes, f"peak: {target.megabytes} MB", megabytes, ".0f")
    each = None if cpu is None else cpu / case.items * 1e6
    checks += check(target.item_microseconds, f"CPU for each item: {target.item_microseconds} µs", each, ".1f")
    return checks


def _render_targets(results: Results, cases: Mapping[str, Case]) -> str:
    rows = [
        (_name(name, case), each.target, each.measured, {True: "yes", False: "**no**", None: "-"}[each.is_met])
        for name, case in cases.items()
        for each in check_targets(case, results.cases.get(name))
    ]
    rows.append(_check_spark(results.scale))
    return f"## Targets\n\n{_render_table(('case', 'target', 'measured', 'met'), rows)}"


def _render_floors(results: Results, cases: Mapping[str, Case]) -> str:
    """Compare the floor of a case with its target: the start of a process, and parsing every line and row."""
    rows: list[tuple[str, ...]] = []
    start = results.cases.get(_START)
    for name, case in cases.items():
        result = results.cases.get(name)
        floors = [] if result is None else [result.programs[each] for each in _FLOORS if each in result.programs]
        if start is None or result is None or not floors:
            continue
        own, least = result.programs[DELTASPEC], (start.programs[DELTASPEC], floors[0])
        wall = [sum(min(each.wall_seconds) for each in least), median(own.wall_seconds)]
        cpu = [sum(min(each.cpu_seconds) for each in least), median(own.cpu_seconds)]
        target = case.target
        if target.ratio is not None:
            peer = result.programs.get(case.peers[0])
            limit = _MISSING if peer is None else f"{target.ratio * median(peer.wall_seconds):.2f}"
            rows.append((_name(name, case), "wall s", f"{wall[0]:.2f}", limit, f"{wall[1]:.2f}"))
        if target.cpu_seconds is not None:
            rows.append((_name(name, case), "CPU s", f"{cpu[0]:.1f}", f"{target.cpu_seconds:.1f}", f"{cpu[1]:.1f}"))
        if target.item_microseconds is not None:
            each = [f"{seconds / case.items * 1e6:.1f}" for seconds in cpu]
            rows.append((_name(name, case), "CPU µs for each", each[0], f"{target.item_microseconds:.1f}", each[1]))
    table = _render_table(("case", "unit", "start and floor", "target", "measured"), rows)
    return f"{_FLOORS_HEAD}\n{table}\n{_PROFILES}"


def _check_spark(rows: Iterable[ScaleRow]) -> tuple[str, str, str, str]:
    """Compare deltaspec on Spark with the fastest load by Delta Spark in the same warm session."""
    title = (f"Spark, {SPARK_TABLE}, warm session", f"wall: {SPARK_RATIO} x Delta Spark's load and count")
    found = {each.program: each for each in rows if each.table == SPARK_TABLE}
    own = found.get("spark")
    loads = [each for name, each in found.items() if name.startswith("delta") and each.wall_seconds]
    if own is None or not own.wall_seconds:
        return (*title, _MISSING, "-")
    if not loads:
        return (*title, f"{median(own.wall_seconds):.1f} s; Delta Spark did not finish", "-")
    ratio = median(own.wall_seconds) / min(median(each.wall_seconds) for each in loads)
    return (*title, f"{ratio:.2f}", "yes" if round(ratio, 3) <= SPARK_RATIO else "**no**")


def _render_cases(results: Results, cases: Mapping[str, Case], sessions: _Sessions) -> str:
    headers = ("case", "program", "wall s", "CPU s", "peak MB", "deltaspec : program", "runs", "what it did", "session")
    rows: list[tuple[str, ...]] = []
    for name, case in cases.items():
        result = results.cases.get(name)
        if result is None:
            optional = ", optional" if case.is_optional else ""
            rows.append((_name(name, case), DELTASPEC, f"{_MISSING}{optional}", *[""] * 6))
            continue
        title = _name(name, case)
        for program, measured in result.programs.items():
            ratio = None if program == DELTASPEC else compute_ratio(result, DELTASPEC, program)
            rows.append(
                (
                    title,
                    program,
                    format_spread(measured.wall_seconds, ".2f"),
                    format_spread(measured.cpu_seconds, ".2f"),
                    format_spread(measured.megabytes, ".0f"),
                    "" if ratio is None else f"{ratio:.2f}",
                    str(len(measured.wall_seconds)),
                    measured.work,
                    str(sessions.number(result.session)),
                )
            )
            title = ""
    return f"## Measurements\n\n{_render_table(headers, rows)}"


def _render_growth(results: Results, cases: Mapping[str, Case], sessions: _Sessions) -> str:
    """Render the cost of each further item, which is constant if the time grows linearly."""
    rows: list[tuple[str, ...]] = []
    for title, names in SERIES.items():
        shown, before = title, None
        for name in names:
            result = results.cases.get(name)
            if name not in cases or result is None or DELTASPEC not in result.programs:
                continue
            own, items = result.programs[DELTASPEC], cases[name].items
            now = (items, median(own.cpu_seconds), median(own.megabytes))
            further = ("", "")
            if before is not None:
                more = now[0] - before[0]
                further = (f"{(now[1] - before[1]) / more * 1e6:.1f}", f"{(now[2] - before[2]) / more * 1e6:.0f}")
            spread = (format_spread(own.wall_seconds, ".2f"), format_spread(own.cpu_seconds, ".2f"))
            memory = format_spread(own.megabytes, ".0f")
            rows.append((shown, f"{items:,}", *spread, memory, *further, str(sessions.number(result.session))))
            shown, before = "", now
    further_headers = ("CPU µs per further item", "bytes per further item")
    headers = ("items", "number", "wall s", "CPU s", "peak MB", *further_headers, "session")
    return f"## Growth\n\n{_render_table(headers, rows)}"


def _render_scale(rows: Iterable[ScaleRow], sessions: _Sessions) -> str:
    cells, previous = [], ""
    for row in rows:
        times = [format_spread(each, ".1f") for each in (row.wall_seconds, row.cpu_seconds)]
        title = "" if row.table == previous else row.table
        cells.append((title, row.program, *times, row.memory, row.note, str(sessions.number(row.session))))
        previous = row.table
    headers = ("table", "program", "wall s", "CPU s", "peak MB", "note", "session")
    return f"{_SCALE_HEAD}\n{_render_table(headers, cells)}"


def _name(name: str, case: Case) -> str:
    return f"({name}) {case.title}" + (f", level {case.level}" if case.level != "log" else "")


def _render_table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(headers)} |", "|-" * len(headers) + "|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
