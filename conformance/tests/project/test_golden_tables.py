"""The committed golden tables equal their manifest and schema, and keep the promises about ids."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec

from deltaspec.golden.build import check_permanence, load_manifest, load_released
from deltaspec.golden.case_format import CaseDocument, build_json_schema, encode_document
from deltaspec.golden.definition import ROOT, load_cases

MANIFEST = load_manifest(ROOT)
assert MANIFEST is not None


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_manifest_lists_every_case_and_file() -> None:
    """Whether a build would change anything is checked by the nox session `golden`."""
    assert [each.id for each in MANIFEST.cases] == list(load_cases())
    for listed in MANIFEST.cases:
        found = {
            path.relative_to(ROOT / listed.path).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (ROOT / listed.path).rglob("*")
            if path.is_file()
        }
        assert found == listed.sha256


def test_every_case_matches_the_json_schema() -> None:
    schema = read_json(ROOT / "case.schema.json")
    assert schema == json.loads(encode_document(build_json_schema()))
    validator = jsonschema.Draft202012Validator(schema)
    for listed in MANIFEST.cases:
        content = read_json(ROOT / listed.path / "case.json")
        validator.validate(content)
        document = msgspec.convert(content, CaseDocument)
        assert document.id == listed.id
        assert document.meaning == listed.meaning
        assert listed.path == f"{document.id.partition('.')[0]}/{document.id}"
        assert (document.twin is not None) == (document.expect.kind != "rows"), listed.id


def test_twins_are_valid_cases() -> None:
    cases = load_cases()
    twins = {case.defect.twin for case in cases.values() if case.defect is not None}
    assert twins
    assert [twin for twin in twins if cases[twin].defect is not None] == []


def test_cases_of_the_last_release_keep_their_ids_and_expectations() -> None:
    released = load_released(ROOT)
    assert released.cases
    assert check_permanence(released, MANIFEST) == []
