"""Suite snapshot: version, protocol, metadata, live files, transactions and domains of the newest version."""

import json
from collections.abc import Iterable
from typing import Any

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import Snapshot, SnapshotAnswer, Wanted
from deltaspec.protocol.files import paths
from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec.suites.checks import Fact, Mismatch, NotAsked, Notes, TableUnderTest, WrongFiles, check
from deltaspec.suites.outcomes import Cause
from deltaspec_generators.table_uris import TABLE_URI, replace_table_uri
from deltaspec_generators.tables.readable import ReadableTable

METADATA_FIELDS = ("id", "name", "description", "partitionColumns", "configuration", "createdTime", "schemaString")
SYSTEM_PREFIX = "delta."
"""Prefix of domains that an engine may keep to itself."""


def request_snapshot(candidate: Candidate, subject: TableUnderTest, *want: Wanted) -> SnapshotAnswer:
    """Ask for the newest snapshot. Raises `NotAsked` if the candidate does not offer a requested part."""
    hidden = [each for each in want if each not in candidate.capabilities.want]
    if hidden:
        raise NotAsked(f"the candidate does not list {', '.join(hidden)}")
    app_ids = tuple(subject.newest.state.transactions) if "transactions" in want else ()
    return candidate.snapshot(Snapshot(str(subject.location), want=want, app_ids=app_ids))


def _has_in_commit_timestamp(table: ReadableTable) -> bool:
    newest = table.versions[-1].state
    return "inCommitTimestamp" in newest.features and newest.is_enabled(IN_COMMIT_TIMESTAMPS)


def compare_value(what: str, expected: Any, actual: Any, *breaks: str, fact: Fact | None = None) -> None:
    """Raise `Mismatch` if two values differ.

    Args:
        what: name of the value.
        expected: value that the answer must have.
        actual: value of the answer.
        breaks: requirements that another value breaks.
        fact: fact of the mismatch, if the requirements depend on the values.
    """
    if expected != actual:
        text = f"wrong {what}: expected {_show(expected)}, got {_show(actual)}"
        raise Mismatch(text, fact or Cause(f"wrong {what}", breaks))


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) < 300 else text[:299] + "…"


@check("snapshot", "log.replay-in-order", operation="snapshot")
def check_version(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The newest version."""
    compare_value(
        "version", subject.newest.version, request_snapshot(candidate, subject).version, "log.replay-in-order"
    )


@check("snapshot", "protocol.reader-versions", operation="snapshot")
def check_protocol(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Protocol versions, and the listed features as sets."""
    actual = request_snapshot(candidate, subject).protocol
    if actual is None:
        raise NotAsked("the candidate does not show the protocol")
    compare_protocol(subject.newest.state.protocol, actual)


def compare_protocol(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    """Raise `Mismatch` if two protocols differ in their versions or listed features."""
    compare_value("protocol", _normalize_protocol(expected), _normalize_protocol(actual), "protocol.latest-holds")


def _normalize_protocol(body: dict[str, Any]) -> dict[str, Any]:
    versions = {name: body.get(name) for name in ("minReaderVersion", "minWriterVersion")}
    return versions | {name: _sort_names(body.get(name) or []) for name in ("readerFeatures", "writerFeatures")}


def _sort_names(names: Any) -> Any:
    """Sort a list of names; leave anything else as it is, which equals no list of names."""
    is_list = isinstance(names, list) and all(isinstance(each, str) for each in names)
    return sorted(names) if is_list else names


@check("snapshot", "log.replay-in-order", operation="snapshot")
def check_metadata(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """Id, name, description, schema, partition columns and properties, as far as the candidate shows them."""
    actual = request_snapshot(candidate, subject).metadata
    if actual is None:
        raise NotAsked("the candidate does not show the metadata")
    compare_metadata(subject.newest.state.metadata, actual, METADATA_FIELDS)


def compare_metadata(expected: dict[str, Any], actual: dict[str, Any], fields: Iterable[str]) -> None:
    """Raise `Mismatch` if two metadata differ in one of the fields that the candidate shows."""
    for name in fields:
        if name == "schemaString" and name in actual:
            compare_value("schema", json.loads(expected[name]), _parse_schema(actual[name]), "metadata.replaces-whole")
        elif name in actual:
            compare_value(f"metaData.{name}", expected.get(name), actual[name], "metadata.replaces-whole")


def _parse_schema(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise Mismatch(f"wrong schema: schemaString is not JSON: {_show(text)}") from None


@check(
    "snapshot",
    "reconciliation.queries-see-live-files",
    "add.replaces-same-file",
    "table.snapshot-isolation",
    operation="snapshot",
)
def check_live_files(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The live files, with their deletion vectors if the candidate shows them."""
    files = request_snapshot(candidate, subject, "files").files
    if files is None:
        raise NotAsked("the candidate does not list files")
    raw = subject.newest.state.live
    live = {_normalize_path(path, subject): body for path, body in raw.items()}
    # a path that is decoded already must not be decoded again
    is_decoded = {each.path: each.path in live and each.path not in raw for each in files}
    names = {path: path if decoded else _normalize_path(path, subject) for path, decoded in is_decoded.items()}
    listed = sorted(names[each.path] for each in files)
    missing = frozenset(path for path in raw if _normalize_path(path, subject) not in listed)
    wrong = WrongFiles(missing, frozenset({*listed} - live.keys()))
    compare_value("live files", sorted(live), listed, fact=wrong)
    for each in files:
        body = live[names[each.path]]
        if each.size is not None:
            cause = Cause("wrong size of a live file", ("add.replaces-same-file",))
            compare_value(f"size of {each.path}", body["size"], each.size, fact=cause)
    uri = f"{subject.location.as_uri()}/"
    if any(each.deletion_vector_id is not None for each in files):
        vectors = {path: _vector_id(replace_table_uri(body, uri)) for path, body in live.items()}
        listed_vectors = {names[each.path]: each.deletion_vector_id for each in files}
        compare_value("deletion vectors", vectors, listed_vectors, "add.logical-file-key")
    notes.add("files", len(files))


def _vector_id(body: dict[str, Any]) -> str | None:
    vector = body.get("deletionVector")
    if not vector:
        return None
    offset = vector.get("offset")
    identity: str = vector["storageType"] + vector["pathOrInlineDv"]
    return identity if offset is None else f"{identity}@{offset}"


def _normalize_path(path: str, subject: TableUnderTest) -> str:
    """Return a path without encoding and without the directory of the table.

    An engine may show the path of the log, a decoded path, or an absolute path. Drawn tables have `TABLE_URI` in place
    of their directory.
    """
    located = replace_table_uri(path.removeprefix(TABLE_URI), f"{subject.location.as_uri()}/")
    plain = paths.decode(located).removeprefix("file:")
    plain = "/" + plain.lstrip("/") if located.startswith("file:") else plain
    return plain.removeprefix(f"{subject.location}/")


@check("snapshot", "reconciliation.commit-info-of-its-version", needs=_has_in_commit_timestamp, operation="snapshot")
def check_in_commit_timestamp(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The in-commit timestamp of the newest version."""
    actual = request_snapshot(candidate, subject).in_commit_timestamp
    if actual is None:
        raise NotAsked("the candidate does not show in-commit timestamps")
    required = "reconciliation.commit-info-of-its-version"
    compare_value("in-commit timestamp", subject.newest.timestamp_ms, actual, required)


@check("snapshot", "transaction.latest-holds", operation="snapshot")
def check_transactions(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The newest version of each application."""
    actual = request_snapshot(candidate, subject, "transactions").transactions
    if actual is None:
        raise NotAsked("the candidate does not list transactions")
    expected = {app: body["version"] for app, body in subject.newest.state.transactions.items()}
    compare_value("transactions", expected, actual, "transaction.latest-holds")


@check("snapshot", "domain.readers-support-all", operation="snapshot")
def check_domains(candidate: Candidate, subject: TableUnderTest, notes: Notes) -> None:
    """The domains of users; system domains are compared if the candidate shows them."""
    actual = request_snapshot(candidate, subject, "domains").domains
    if actual is None:
        raise NotAsked("the candidate does not list domains")
    expected = {name: body["configuration"] for name, body in subject.newest.state.domains.items()}
    hidden = [name for name in expected if name.startswith(SYSTEM_PREFIX) and name not in actual]
    shown = {name: text for name, text in expected.items() if name not in hidden}
    required = "domain.removed-hidden" if actual.keys() - shown.keys() else "domain.readers-support-all"
    compare_value("domains", shown, actual, required)
