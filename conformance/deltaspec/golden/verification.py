"""Verify built golden cases: tables conform, and the reference reader gives every expected answer.

The files of the case are verified, not the definitions, so that the files that clients download are right.
"""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.host import Died, Refused
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import At, Changes, Scan, Snapshot, Wanted
from deltaspec.candidates.reference.engine import READER_FEATURES, Engine
from deltaspec.candidates.row_comparison import WrongType, find_row_difference
from deltaspec.golden.corpus import StoredCase
from deltaspec.golden.importing.sql_predicates import NotTranslatable, build_predicate_tree
from deltaspec.golden.questions import OURS
from deltaspec.protocol.features.catalog_managed import CatalogAnswer
from deltaspec.protocol.features.table_features import FEATURES
from deltaspec.protocol.property_names import STATS_AS_JSON
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.report.report_types import FEATURE_PREFIX
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import ignore_progress
from deltaspec.validation.run import run_embedded
from deltaspec_generators.table_uris import get_elsewhere, replace_table_uri

CATALOG_SPEC = "specs-x/catalog-snapshot.json"
"""Spec of every table that a catalog manages."""
_ALL_WANTED: tuple[Wanted, ...] = ("files", "transactions", "domains")


class Verification(msgspec.Struct, frozen=True):
    """Results of verifying a case."""

    questions: int
    """Number of questions that the reference reader was asked."""
    problems: tuple[str, ...]
    not_asked: str = ""
    """Why the reference reader was asked nothing; then only the validator confirms the case."""


def verify_case(case: StoredCase) -> Verification:
    """Validate the table of a case, and ask the reference reader every question about it."""
    with tempfile.TemporaryDirectory(prefix="deltaspec-golden-") as scratch:
        table = Path(scratch) / "table"
        _copy_table(case, table)
        problems = list(_check_verdict(case, table))
        unsupported = sorted({*case.description.features.reader} - {*READER_FEATURES})
        if unsupported and case.description.expect.kind == "rows":
            return Verification(0, tuple(problems), f"the reference does not read {', '.join(unsupported)}")
        specs = [path for path in case.listed.sha256 if path.startswith(("specs/", "specs-x/"))]
        for path in sorted(specs):
            found = _ask(case, table, path)
            problems += [f"{path}: {found}"] if found else []
    return Verification(len(specs), tuple(problems))


def _copy_table(case: StoredCase, table: Path) -> None:
    """Copy a table with the modification times that its specs state, and with its absolute paths."""
    shutil.copytree(case.folder / "delta", table)
    elsewhere = get_elsewhere(case.folder / "delta")
    if elsewhere.is_dir():
        shutil.copytree(elsewhere, get_elsewhere(table))
    for path in table.rglob("*.json"):
        path.write_bytes(replace_table_uri(path.read_bytes(), f"{table.as_uri()}/"))
    if "specs-x/timestamps.json" in case.listed.sha256:
        times = json.loads(case.read_file("specs-x/timestamps.json"))["modificationTimes"]
        for name, moment in times.items():
            if (table / name).exists():
                os.utime(table / name, ns=(moment * 1_000_000,) * 2)


def _check_verdict(case: StoredCase, table: Path) -> Iterator[str]:
    """Yield findings of the validator on a valid table, or a finding that is missing on a broken one."""
    unknown = [f"{FEATURE_PREFIX}{name}" for name in case.description.features.writer if name not in FEATURES]
    kind = case.description.expect.kind
    known = _load_catalog(case)
    with tempfile.TemporaryDirectory(prefix="deltaspec-golden-") as scratch:
        answer = Path(scratch) / "catalog.json"
        if known is not None:
            answer.write_bytes(msgspec.json.encode(known))
        options = Options.create(
            level="rows",
            history="all",
            allow_outside=True,
            accept_unchecked=unknown,
            revision=case.description.spec.until or "current",
            catalog_commits=None if known is None else str(answer),
        )
        report = run_embedded(str(table), options, RunSettings(ignore_progress, None, False, None))
    found = sorted({finding.rule for finding in report.findings})
    if kind == "rows" and report.verdict != "conforms":
        yield f"the validator says {report.verdict}: {', '.join(found)}"
    requirements = {finding.requirement for finding in report.findings}
    if kind == "violation" and case.description.expect.requirement not in requirements:
        yield f"the validator does not report {case.description.expect.requirement}, but: {', '.join(found)}"


def _load_catalog(case: StoredCase) -> CatalogAnswer | None:
    """Return what the catalog knows that manages the table, or None."""
    if CATALOG_SPEC not in case.listed.sha256:
        return None
    document = json.loads(case.read_file(CATALOG_SPEC))
    return msgspec.convert(document["catalog"], CatalogAnswer)


def _ask(case: StoredCase, table: Path, path: str) -> str:
    """Ask the reference reader one question; return how its answer differs, or nothing."""
    document = json.loads(case.read_file(path))
    reference = InProcess(Engine())
    try:
        found = _compare(case, reference, table, path, document)
    except Refused as error:
        if "error" not in document:
            return f"refused: {error.refusal.category}: {error.refusal.message}"
        return "" if CATALOG_SPEC in case.listed.sha256 else _check_refusal(case, error)
    except (Died, WrongType) as error:
        return str(error)
    return "the table is read" if "error" in document else found


def _check_refusal(case: StoredCase, error: Refused) -> str:
    category, phase = error.refusal.category, error.refusal.phase
    accepted = [(each.category, each.phase) for each in case.description.expect.accepted]
    phases = {"snapshot": ("snapshot",), "scan": ("snapshot", "scan")}
    if any(category == wanted and (phase is None or phase in phases[latest]) for wanted, latest in accepted):
        return ""
    return f"refused with {category} in phase {phase}, expected {accepted}"


def _compare(case: StoredCase, reference: InProcess, table: Path, path: str, document: dict[str, Any]) -> str:
    at = At(version=document["version"]) if "version" in document else None
    location = str(table)
    match document["type"]:
        case "snapshot":
            answer = reference.snapshot(Snapshot(location, at=at))
            return _compare_snapshot(document, answer)
        case "read" | "row-ids" as kind:
            return _compare_read(case, reference, location, path, document, row_ids=kind == "row-ids")
        case "catalog-snapshot":
            known = _load_catalog(case)
            return _compare_snapshot(document, reference.snapshot(Snapshot(location, catalog=known)))
        case "catalog-read":
            rows = reference.scan(Scan(location, "", at=at, catalog=_load_catalog(case))).table
            return _compare_rows(case, path, rows)
        case "cdf":
            rows = reference.changes(
                Changes(location, "", start=document["startVersion"], end=document["endVersion"])
            ).table
            return _compare_rows(case, path, rows)
        case "state":
            answer = reference.snapshot(Snapshot(location, want=_ALL_WANTED))
            expected = replace_table_uri(document["expected"], f"{table.as_uri()}/")
            actual = {
                "version": answer.version,
                "files": {each.path: each.deletion_vector_id or "" for each in answer.files or ()},
                "transactions": answer.transactions,
                "domains": answer.domains,
            }
            wanted = {
                **expected,
                "files": {each["path"]: each.get("deletionVectorId", "") for each in expected["files"]},
            }
            if "inCommitTimestamp" in wanted:
                actual["inCommitTimestamp"] = answer.in_commit_timestamp
            return "" if actual == wanted else f"expected {wanted}, got {actual}"
        case "timestamps":
            for each in document["expected"]:
                moment = At(timestamp_ms=each["timestampMs"])
                version = reference.snapshot(Snapshot(location, at=moment)).version
                if version != each["version"]:
                    return f"at {each['timestampMs']} expected version {each['version']}, got {version}"
            return ""
    return f"no spec has the type {document['type']}"


def _compare_snapshot(document: dict[str, Any], answer: Any) -> str:
    if "error" in document:
        return ""
    expected = document["expected"]
    if answer.version != document[OURS]["version"]:
        return f"expected version {document[OURS]['version']}, got {answer.version}"
    protocol = {name: value for name, value in answer.protocol.items() if value is not None}
    if {name: sorted(each) if isinstance(each, list) else each for name, each in protocol.items()} != {
        name: sorted(each) if isinstance(each, list) else each for name, each in expected["protocol"].items()
    }:
        return f"expected the protocol {expected['protocol']}, got {protocol}"
    for name in ("id", "schemaString", "partitionColumns", "configuration", "name", "description"):
        if answer.metadata.get(name) != expected["metadata"].get(name):
            return f"expected {name} {expected['metadata'].get(name)!r}, got {answer.metadata.get(name)!r}"
    return ""


def _compare_read(
    case: StoredCase, reference: InProcess, location: str, path: str, document: dict[str, Any], *, row_ids: bool
) -> str:
    at = At(version=document["version"]) if "version" in document else None
    tree = None
    skippable = 0
    if "predicate" in document:
        metadata = reference.snapshot(Snapshot(location, at=at)).metadata
        assert metadata is not None
        if metadata["configuration"].get(STATS_AS_JSON) != "false":
            skippable = document[OURS]["filesSkippable"]  # the reference does not read statistics as structs
        try:
            tree = build_predicate_tree(document["predicate"], parse_schema(metadata["schemaString"]))
        except NotTranslatable as error:
            return f"{document['predicate']} {error}"
    columns = tuple((name,) for name in document["columns"]) if "columns" in document else None
    answer = reference.scan(
        Scan(
            location,
            "",
            at=at,
            columns=columns,
            predicate=document.get("predicate"),
            predicate_tree=tree,
            row_ids=row_ids,
        )
    )
    if "error" in document:
        return ""
    if (answer.files_skipped or 0) < skippable:
        return f"{skippable} files can be skipped, the reference skipped {answer.files_skipped}"
    return _compare_rows(case, path, answer.table)


def _compare_rows(case: StoredCase, path: str, actual: pa.Table) -> str:
    name = path.rpartition("/")[2].removesuffix(".json")
    data = case.read_file(f"expected/{name}/expected_data/rows.parquet")
    expected = pq.read_table(io.BytesIO(data))
    found = find_row_difference(expected, actual)
    return "" if found is None else str(found)
