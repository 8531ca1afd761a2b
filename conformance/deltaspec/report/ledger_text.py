"""The ledger of a run and the accepted findings, in lines that every format shows."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from deltaspec.report.report_types import NEEDS_CLOCK, AcceptEntry, AcceptStatus, Baseline, NotChecked, Report
from deltaspec.report.text import bound_text, count, escape_text

_FILES_SHOWN = 3


class LedgerPart(msgspec.Struct, frozen=True):
    """Entries of one kind that a run did not check or that the user accepts."""

    kind: str
    entries: list[str]
    is_undecided: bool
    """Whether the verdict depends on it."""


def describe_rules_run(report: Report) -> str:
    """Return how many rules ran and how many did not, in one line."""
    checked = report.checked
    undecided = len(checked.undecided_rules)
    without_clock = [code for code in checked.not_applicable if checked.reasons.get(code) == NEEDS_CLOCK]
    return (
        f"{count(len(checked.run), 'rule')} run, {len(checked.not_applicable) - len(without_clock)} not applicable"
        + _describe_skipped(report, [*checked.skipped, *without_clock])
        + (f", {undecided} not completely checked" if undecided else "")
    )


def list_ledger(report: Report) -> list[LedgerPart]:
    """Return everything that the run did not check, compare, read or find, and that the user accepts; printable."""
    checked = report.checked
    files_by_reason: dict[str, list[str]] = defaultdict(list)
    for each in checked.derived_files_not_compared:
        files_by_reason[each.reason].append(each.file)
    not_compared = [_describe_files(files, len(files), why) for why, files in files_by_reason.items()]
    not_compared += [_describe_files(each.files, each.count, each.reason) for each in checked.rows_not_compared]
    not_read = [_describe_files(each.files, each.count, each.reason) for each in checked.files_not_read]
    missing = [
        each.description.rpartition(" ")[0]
        + ("; log cleanup may have deleted them" if each.explained else " between other commits")
        for each in checked.missing_commits
    ]
    return [
        LedgerPart("not checked", _unchecked(checked.not_checked), True),
        LedgerPart("copied", list(_describe_copies(report)), False),
        LedgerPart("since", list(_describe_since(report)), False),
        LedgerPart("sound again", list(_describe_sound_again(report)), False),
        LedgerPart("hints", list(_describe_hints(report)), False),
        LedgerPart("not compared", [f"not compared: {each}" for each in not_compared], False),
        LedgerPart("not read", [f"not read: {each}" for each in not_read], False),
        LedgerPart("not listed", [f"not listed: {each}" for each in missing], False),
        LedgerPart("acceptance", list(_list_accepted(report)), False),
        LedgerPart("outdated", [f"outdated: {each}" for each in _list_outdated(report)], False),
    ]


def _describe_since(report: Report) -> Iterator[str]:
    """Yield a line about the files that were not checked again because an earlier report has checked them."""
    since = report.since
    if since is not None and since.reason is not None:
        yield f"since version {since.version}: all files checked again, because {_printable(since.reason)}"
    elif since is not None:
        yield f"since version {since.version}: {count(since.skipped_files, 'live file')} not checked again"
        if report.continuation is not None and report.continuation.replacements:
            yield (
                "checkpoints, sidecars and log compactions of the earlier report were compared with it by size and "
                "modification time, not by content"
            )


def _describe_copies(report: Report) -> Iterator[str]:
    """Yield a line for each location that absolute paths of a copied table lead to."""
    for each in report.copied_from:
        yield (
            f"copied: absolute paths lead to {_printable(each.location)}, but the table has files of the same names, "
            f"such as {_printable(each.file)}. It looks like a copy of that place: clone it again, or rewrite the paths"
        )


def _describe_sound_again(report: Report) -> Iterator[str]:
    """Yield a line about files that looked damaged only once."""
    found = report.sound_again
    if found is not None:
        shown = list(found.files.items())[:_FILES_SHOWN]
        first = ", ".join(f"{_printable(path)} ({_printable(what)})" for path, what in shown)
        more = f" and {found.count - len(shown):,} more" if found.count > len(shown) else ""
        yield f"sound again: {count(found.count, 'file')} looked damaged once, but not a second time: {first}{more}"


def _describe_hints(report: Report) -> Iterator[str]:
    """Yield a line for each group of files with the same content, or about what was not compared."""
    hints = report.hints
    if hints is None:
        return
    for each in hints.same_content:
        names = ", ".join(map(_printable, each.paths[:_FILES_SHOWN]))
        more = f" and {each.count - _FILES_SHOWN:,} more" if each.count > _FILES_SHOWN else ""
        counts = [] if each.rows is None else [f"{count(each.rows, 'row')} each"]
        counts += [] if each.repeated_rows is None else [f"{each.repeated_rows:,} repeated"]
        rows = f" ({', '.join(counts)})" if counts else ""
        yield f"hint: {names}{more} have the same content{rows}. The same data may have been added twice"
    if more_groups := hints.groups - len(hints.same_content):
        yield f"hint: {count(more_groups, 'more group')} of files with the same content"
    if hints.reason is not None and hints.not_compared:
        yield f"hint: {count(hints.not_compared, 'file')} not compared with others: {_printable(hints.reason)}"
    elif hints.reason is not None:
        yield f"hint: files were not compared by content: {_printable(hints.reason)}"
    elif not hints.same_content:
        yield "hint: no live files have the same content"


def list_outdated_of_tables(tables: Sequence[tuple[Sequence[AcceptEntry], Baseline | None]]) -> list[str]:
    """Return the outdated entries of runs over several tables: an entry is unused if no table uses it.

    Args:
        tables: entries and baseline of each report.
    """
    statuses: dict[AcceptEntry, set[str]] = {}
    for entry in (entry for entries, _ in tables for entry in entries):
        statuses.setdefault(replace(entry, status="unused", count=0), set()).add(entry.status)
    combined = [replace(entry, status=_combine_statuses(found)) for entry, found in statuses.items()]
    gone: Counter[str] = Counter()
    for baseline in (baseline for _, baseline in tables if baseline is not None):
        gone[baseline.file] += baseline.gone
    return [
        *(f"outdated: {each}" for each in _list_outdated_entries(combined)),
        *(f"outdated: {_describe_gone(file, number)}" for file, number in gone.items() if number),
    ]


def _combine_statuses(statuses: Collection[str]) -> AcceptStatus:
    order: tuple[AcceptStatus, ...] = ("expired", "used", "not checked", "unused")
    return next(each for each in order if each in statuses)


def _list_accepted(report: Report) -> Iterator[str]:
    """Yield a line for each entry of the configuration that accepted findings, and for the baseline."""
    for each in report.accept:
        if each.count:
            until = f", until {each.until}" if each.until else ""
            reason = _printable(" ".join(filter(None, (each.reason, each.link))))
            yield f"{count(each.count, 'finding')} accepted ({reason}): {each.description}{until}"
    if report.baseline is not None and report.baseline.known:
        yield f"{count(report.baseline.known, 'finding')} accepted (baseline {_printable(report.baseline.file)})"
    elif report.baseline is not None and report.baseline.new and not report.baseline.has_table:
        yield f"no finding accepted (baseline {_printable(report.baseline.file)} has none of this table)"


def _list_outdated(report: Report) -> Iterator[str]:
    """Yield a line for each entry that is expired or unused, and for findings of the baseline that are gone."""
    yield from _list_outdated_entries(report.accept)
    baseline = report.baseline
    if baseline is not None and baseline.gone:
        yield _describe_gone(baseline.file, baseline.gone)


def _list_outdated_entries(entries: Iterable[AcceptEntry]) -> Iterator[str]:
    for each in entries:
        entry = f"accept {each.description} ({_printable(each.reason)})"
        if each.status == "expired":
            yield f"{entry} expired after {each.until}"
        elif each.status == "unused":
            yield f"{entry} is unused"


def _describe_gone(file: str, number: int) -> str:
    verb = "is" if number == 1 else "are"
    return f"{count(number, 'finding')} of the baseline {_printable(file)} {verb} gone; run `deltaspec baseline prune`"


def _describe_skipped(report: Report, codes: Sequence[str]) -> str:
    """Return how many rules were skipped, and the option that would run them."""
    if not codes:
        return ""
    reasons = Counter(report.checked.reasons[code] for code in codes if code in report.checked.reasons)
    parts = [f"{number} {reason.replace('needs ', 'need ', 1)}" for reason, number in sorted(reasons.items())]
    return f", {len(codes)} not selected{': ' if parts else ''}{', '.join(parts)}"


def _describe_files(files: Sequence[str], total: int, reason: str) -> str:
    """Name the first files and the number of the others, with their reason."""
    names = ", ".join(_printable(file) for file in files[:_FILES_SHOWN])
    more = total - min(len(files), _FILES_SHOWN)
    return f"{names}{f' and {more:,} more' if more else ''}: {_printable(reason)}"


def _unchecked(ledger: list[NotChecked]) -> list[str]:
    """Return one entry for each reason and set of rules, with the files it applies to."""
    rules: dict[tuple[bool, str, str], list[str]] = defaultdict(list)
    for entry in ledger:
        file = entry.file or ""
        rules[entry.accepted, _remove_path(entry.reason, file), file].append(entry.rule)
    files_by_entry: dict[tuple[bool, bool, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (accepted, reason, file), codes_of_file in rules.items():
        files_by_entry[accepted, not file, reason, tuple(codes_of_file)].append(file)
    entries = []
    for (accepted, without_file, reason, codes), files in sorted(files_by_entry.items(), key=lambda item: item[0][:2]):
        where = (
            "" if without_file or files[0] in reason else f" ({_first_names([_printable(file) for file in files], 3)})"
        )
        title = "accepted unchecked" if accepted else "not checked"
        entries.append(f"{title}: {_first_names(codes, 6)}: {_printable(reason)}{where}")
    return entries


def _remove_path(reason: str, file: str) -> str:
    """Return a reason without the path at its start, so that files with the same reason are listed together.

    The storage may name the file by its decoded path, without a scheme, or relative to the root of a disk.
    """
    path, colon, rest = reason.partition(": ")
    for name in (file, unquote(file)):
        if reason.startswith(f"{name}: "):
            return reason.removeprefix(f"{name}: ")
        before = name.removesuffix(path)
        if colon and before != name and (path.startswith("/") or before.endswith("/")):
            return rest
    return reason


def _first_names(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def _printable(text: str) -> str:
    return escape_text(bound_text(text))
