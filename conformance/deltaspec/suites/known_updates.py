"""Bring a file of known failures up to date with a report, keeping comments and the order of entries."""

from pathlib import Path

import msgspec
import tomlkit
from tomlkit.items import AoT

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import write_file
from deltaspec.suites.known_failures import draft_entries, load_known_failures
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.results import SuiteReport


def update_known_failures(path: Path, report_path: Path) -> str:
    """Remove globs that match nothing and cases that do not fail as listed, add new kinds of failures, and count both.

    Raises:
        InvalidUsage: A file cannot be read, or has another format.
    """
    report = _load_report(report_path)
    if path.exists():
        load_known_failures(path)  # refuses a malformed file
    document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    entries = document.get("failure", tomlkit.aot())
    assert isinstance(entries, AoT)
    stale = {line.partition(" (")[0] for line in report.unused_known_failures}
    changed = {each.case for each in report.cases if each.outcome in (Outcome.UNEXPECTED_PASS, Outcome.DRIFT)}
    removed = 0
    for entry in list(entries):
        kept = [glob for glob in entry["cases"] if glob not in stale and glob not in changed]
        removed += len(entry["cases"]) - len(kept)
        if not kept:
            entries.remove(entry)
        elif len(kept) < len(entry["cases"]):
            entry["cases"] = kept
    if not entries and "failure" in document:
        document.remove("failure")  # an empty list cannot be followed by entries
    added = draft_entries(each for each in report.cases if each.outcome is not Outcome.EXPECTED_FAILURE)
    text = tomlkit.dumps(document).rstrip()
    write_file(path, ("\n\n".join(part for part in (text, added) if part).rstrip() + "\n").encode())
    return f"{path}: {removed} patterns removed, {added.count('[[failure]]')} entries added with an empty reason"


def _load_report(path: Path) -> SuiteReport:
    try:
        return msgspec.json.decode(path.read_bytes(), type=SuiteReport)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidUsage(f"{path}: not a JSON report of `deltaspec test`: {error}") from None
