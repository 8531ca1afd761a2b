"""Golden cases conform, the reference agrees with them, and verification finds what is wrong."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from deltaspec.golden.case_format import AcceptedError
from deltaspec.golden.corpus import StoredCase, load_corpus
from deltaspec.golden.coverage import compute_coverage, count_by_revision, render_coverage
from deltaspec.golden.verification import verify_case
from deltaspec.requirements import load_requirements
from deltaspec.suites.subjects import Corpus, build_subject, describe_subject

CORPUS = load_corpus()
CASES = {case.id: case for case in CORPUS.cases}
PARTS = 40


@pytest.mark.slow("conformance/deltaspec/golden/verification.py")
@pytest.mark.parametrize("part", range(PARTS))
def test_cases_conform_and_the_reference_agrees(part: int) -> None:
    problems = {case.id: verify_case(case).problems for case in CORPUS.cases[part::PARTS]}
    assert {identity: found for identity, found in problems.items() if found} == {}


def change_case(identity: str, path: str, change: Callable[[Any], None], folder: Path) -> StoredCase:
    """Copy a case, and change one of its JSON files; the list of cases has the hash of the changed file."""
    case = CASES[identity]
    shutil.copytree(case.folder, folder)
    document = json.loads((folder / path).read_bytes())
    change(document)
    data = json.dumps(document).encode()
    (folder / path).write_bytes(data)
    hashes = {**case.listed.sha256, path: hashlib.sha256(data).hexdigest()}
    return replace(case, folder=folder, listed=replace(case.listed, sha256=hashes))


@pytest.mark.parametrize(
    ("identity", "path", "change", "problem"),
    [
        ("log.append-remove", "specs/version-1.json", lambda spec: spec.update(version=3), "missing"),
        ("log.append-remove", "specs/columns-1.json", lambda spec: spec.update(columns=["item"]), "columns: "),
        ("log.append-remove", "specs/where-1.json", lambda spec: spec.update(predicate="id IS NULL"), "missing"),
        ("log.append-remove", "specs/where-1.json", lambda spec: spec["x-deltaspec"].update(filesSkippable=9), "skip"),
        ("log.append-remove", "specs/snapshot.json", lambda spec: spec["expected"]["protocol"].clear(), "protocol"),
        ("log.append-remove", "specs-x/state.json", lambda spec: spec["expected"].update(domains={"a": ""}), "domains"),
        ("log.append-remove", "specs-x/timestamps.json", lambda spec: spec["expected"][0].update(version=2), "got"),
        ("log.append-remove", "specs/all.json", lambda spec: spec.update(error={}), "the table is read"),
        ("in-commit-timestamps.from-the-start", "specs-x/state.json",
         lambda spec: spec["expected"].update(inCommitTimestamp=1), "inCommitTimestamp"),
        ("deletion-vectors.inline-and-stored", "specs-x/state.json",
         lambda spec: spec["expected"]["files"][0].pop("deletionVectorId"), "inline.parquet"),
    ],
)  # fmt: skip
def test_wrong_expectations_are_found(
    identity: str, path: str, change: Callable[[Any], None], problem: str, tmp_path: Path
) -> None:
    problems = verify_case(change_case(identity, path, change, tmp_path / "case")).problems
    assert len(problems) == 1
    assert problem in problems[0]


def test_refusals_for_another_reason_are_found() -> None:
    case = CASES["refusals.file-missing"]
    expect = msgspec.structs.replace(
        case.description.expect, accepted=(AcceptedError(category="io", phase="snapshot"),)
    )
    found = verify_case(replace(case, description=msgspec.structs.replace(case.description, expect=expect)))
    assert found.questions == 1
    assert "refused with corrupt in phase scan" in found.problems[0]


def test_case_that_the_reference_cannot_read_is_named() -> None:
    found = verify_case(CASES["variants.shredded.scalars-as-text"])
    assert (found.questions, found.problems) == (0, ())
    assert found.not_asked == "the reference does not read variantShredding"


def test_tables_with_violations_are_found(tmp_path: Path) -> None:
    log = "delta/_delta_log/00000000000000000000.json"
    data = (CASES["log.append-remove"].folder / log).read_bytes()
    case = change_case("log.append-remove", "specs/all.json", lambda _: None, tmp_path / "case")
    (tmp_path / "case" / log).write_bytes(data.replace(b'"minWriterVersion":2', b'"minWriterVersion":2.5'))
    assert "the validator says" in verify_case(case).problems[0]


def test_every_requirement_of_readers_has_a_case_or_a_reason() -> None:
    found = compute_coverage()
    assert found.unexplained == []
    assert found.outdated == []


def test_golden_cases_are_subjects(tmp_path: Path) -> None:
    identities = Corpus(0, 0, written=False, golden=True).list_ids()
    assert "golden.log.append-remove" in identities
    assert "golden.reconciliation.added-twice" not in identities  # a reader may read it
    subject = build_subject("golden.refusals.file-missing", tmp_path)
    assert subject.broken is not None
    assert (subject.location / "part-00001.parquet").exists()
    assert not (subject.broken.location / "part-00001.parquet").exists()
    assert describe_subject("golden.log.append-remove").newest.rows.to_pylist() == [{"id": 4, "item": "fig"}]


def test_requirements_are_counted_by_actor_kind_and_revision() -> None:
    found = compute_coverage()
    counts = count_by_revision(found, {"case for writers": ["cdc.for-updates"]})
    assert counts["reader", "reason"]["current"] < counts["reader", "golden case"]["current"]
    assert ("reader", "none") not in counts
    assert counts["writer", "case for writers"] == {"r1": 1, "r2": 1, "r3": 1, "current": 1}
    total = sum(numbers["r1"] for numbers in counts.values())
    assert total == sum("r1" in each.revisions for each in load_requirements().values())
    assert "writer: case for writers" in render_coverage(
        found, {"case for writers": ["cdc.for-updates"]}, show_all=False
    )
