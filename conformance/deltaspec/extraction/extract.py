"""Extract a finding: find it, make its table smaller, redact it, and write the case."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.extraction.case import require_new_directory, write_case
from deltaspec.extraction.draft import MAX_DATA_BYTES, DraftStore, Files, FindingTest, load_files, validate_store
from deltaspec.extraction.redaction import CannotRedact, redact_files
from deltaspec.extraction.reduction import reduce_content, reduce_files
from deltaspec.report.report_types import Finding, Report
from deltaspec.report.text import size
from deltaspec.rules import RULES
from deltaspec.validation.options import Options
from deltaspec.validation.plan import build_plan
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

MIN_DIGITS = 4
"""Digits of a fingerprint that name a finding."""


class Extraction(msgspec.Struct, frozen=True):
    """Result of an extraction."""

    finding: Finding
    log_files: int
    data_files: int
    size_bytes: int
    validations: int
    is_complete: bool
    """Whether the number of validations was enough to try everything."""


def extract_finding(
    table: str,
    name: str,
    output: str,
    options: Options,
    *,
    redact: bool,
    validations: int,
    storage: StorageSettings = ENVIRONMENT,
) -> Extraction:
    """Write the smallest table that still shows a finding, as a golden case.

    Args:
        table: path or URI.
        name: fingerprint of the finding or its first digits, or code or name of its rule: then its first finding.
        output: directory of the case, new or empty, outside of tables.
        options: how the table is validated.
        redact: whether to replace names and values.
        validations: number of validations that may be used.
        storage: settings of the storage clients.

    Raises:
        InvalidUsage: there is no such finding, it cannot be extracted or redacted, or the directory cannot be used.
        TableUnreadable: there is no table.
        StorageError: a file that is needed cannot be read.
    """
    store = open_store(table, storage)
    require_new_directory(output, store.root)
    report = validate_store(store, options)
    finding = find_finding(report, name)
    options = _restrict(options, finding)
    test = FindingTest(store, options, finding, frozenset(each.rule for each in report.findings), validations)
    files = load_files(store, finding.level)
    if not test.holds(files):
        raise InvalidUsage(f"{finding.rule}: the finding does not show in a copy of the table, so it is not extracted")
    files = reduce_files(files, test)
    files = _read_data(store, files)
    files = reduce_content(files, test)
    is_complete = test.remaining > 0
    if redact:
        files = redact_files(files)
        test.remaining = 1
        if test.find(files, same=False) is None:
            raise CannotRedact(
                f"{finding.rule}: the finding does not show with made-up names and values, so nothing was written. "
                "Without --redact, the case contains the original ones"
            )
    version = build_plan(store.uri, DraftStore(store, files).list_log(), at=None, history="latest").version
    write_case(output, files, finding, version, redacted=redact)
    sizes = {path: len(data) for path, data in files.items() if isinstance(data, bytes)}
    log_files = sum(path.startswith(f"{LOG_DIRECTORY}/") for path in sizes)
    return Extraction(finding, log_files, len(sizes) - log_files, sum(sizes.values()), test.used, is_complete)


def find_finding(report: Report, name: str) -> Finding:
    """Return the finding of a report that a fingerprint, its first digits, or a rule names.

    Raises:
        InvalidUsage: there is none, or several findings have fingerprints with these digits.
    """
    codes = {name.upper(), *(rule.code for rule in RULES.values() if rule.name == name)}
    for each in report.findings:
        if each.rule in codes:
            return each
    digits = name.lower()
    fingerprints = {each.fingerprint for each in report.findings}
    known = {each for each in fingerprints if len(digits) >= MIN_DIGITS and each.startswith(digits)}
    if len(known) > 1:
        raise InvalidUsage(f"{len(known)} fingerprints begin with {name!r}; write more digits")
    for each in report.findings:
        if each.fingerprint in known:
            return each
    rules = ", ".join(dict.fromkeys(each.rule for each in report.findings)) or "nothing"
    raise InvalidUsage(f"no finding {name!r} at level {report.level}; found: {rules}")


def _restrict(options: Options, finding: Finding) -> Options:
    """Return options that read no more than the finding needs."""
    return replace(options, level=RULES[finding.rule].level, at=None)


def _read_data(store: Store, files: Files) -> Files:
    """Read the data files that are left.

    Raises:
        InvalidUsage: they are too large.
        StorageError: one cannot be read.
    """
    total = sum(data.size_bytes for data in files.values() if not isinstance(data, bytes))
    if total > MAX_DATA_BYTES:
        raise InvalidUsage(
            f"the finding needs {size(total)} of data files; extract copies at most {size(MAX_DATA_BYTES)}"
        )
    return {path: data if isinstance(data, bytes) else store.read(path, MAX_DATA_BYTES) for path, data in files.items()}
