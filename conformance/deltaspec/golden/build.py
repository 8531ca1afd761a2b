"""Build the golden tables of a checkout from their definitions.

Logs and specs are the same on every machine. The bytes of Parquet files, and with them their sizes in the log, depend
on the release of pyarrow, which the manifest names.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.errors import InvalidUsage
from deltaspec.golden.case_format import (
    FORMAT,
    AcceptedError,
    Anchor,
    CaseDocument,
    Code,
    Expect,
    Features,
    ListedCase,
    Manifest,
    Origin,
    Released,
    ReleasedCase,
    Spec,
    Twin,
    build_json_schema,
    encode_document,
)
from deltaspec.golden.conditions import Condition
from deltaspec.golden.definition import GoldenCase, load_cases
from deltaspec.golden.expected_rows import mark_required
from deltaspec.golden.questions import Question, list_questions
from deltaspec.output_files import write_file
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.requirements import load_requirements
from deltaspec_generators.table_files import encode_table
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.table_uris import get_elsewhere
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.values.arrow_values import to_plain_values

MANIFEST, SCHEMA, RELEASED = "manifest.json", "case.schema.json", "released.json"
COMMAND = "deltaspec golden build"
_LATEST = "expected/latest/"
_CODE_OF_CHAPTER: dict[str, Code] = {
    "checkpoint": "invalid_checkpoint",
    "sidecar": "invalid_checkpoint",
    "add": "missing_file",
    "deletion-vectors": "invalid_dv",
    "metadata": "invalid_metadata",
    "schema": "invalid_metadata",
    "column-mapping": "invalid_metadata",
}


class BuiltCase(msgspec.Struct, frozen=True):
    """A case in memory: its files by path in its folder, and its entry in the manifest. A `corpus.CaseFiles`."""

    description: CaseDocument
    files: dict[str, bytes]
    listed: ListedCase

    @property
    def id(self) -> str:
        return self.listed.id

    def read_file(self, path: str) -> bytes:
        return self.files[path]

    def iter_files(self) -> Iterator[tuple[str, bytes]]:
        yield from sorted(self.files.items())


def build_case(case: GoldenCase, *, command: str = COMMAND) -> BuiltCase:
    """Build every file of a case; `command` is what its origin names."""
    table = case.build()
    files: dict[str, bytes] = {}
    expectation = hashlib.sha256()
    if case.defect is not None:
        broken = case.build_broken()
        files |= {f"delta/{path}": data for path, data in encode_table(broken).items()}
        version = max(broken.commits, default=table.versions[-1].version)
        questions = [_ask_for_refusal(case)] if case.defect.accepted else []
        expect = _expect_defect(case, version)
    else:
        files |= {f"delta/{path}": data for path, data in encode_table(table.files).items()}
        files |= {f"{get_elsewhere(Path('delta'))}/{path}": data for path, data in table.files.elsewhere.items()}
        questions = list_questions(table, conditions=_parse_conditions(case), drawn=case.predicates)
        newest = table.versions[-1]
        latest = f"{_LATEST}table_content/rows.parquet"
        if table.catalog is not None:  # a reader that has only the path must not find the rows of the newest version
            latest = questions[0].rows_path
        else:
            files[latest] = encode_rows(newest.rows, newest.schema)
            files[f"{_LATEST}table_version_metadata.json"] = _describe_latest(newest.state)
        expect = Expect(kind="rows", version=newest.version, rows=latest, num_rows=newest.rows.num_rows)
    schemas = {each.version: each.schema for each in table.versions}
    for question in questions:
        files[question.path] = encode_document(question.document)
        expectation.update(files[question.path])
        if question.rows is not None:
            schema = schemas[question.document.get("version", table.versions[-1].version)]
            files[question.rows_path] = encode_rows(question.rows, schema)
            expectation.update(_list_plain_rows(question.rows).encode())
    expectation.update(msgspec.json.encode(expect))
    description = _describe(case, table, expect, command)
    files["case.json"] = encode_document(description)
    files["test_case_info.json"] = encode_document({"name": case.id, "description": case.title})
    listed = ListedCase(
        id=case.id,
        meaning=case.meaning,
        path=f"{case.chapter}/{case.id}",
        title=case.title,
        expectation=expectation.hexdigest(),
        sha256={path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)},
    )
    return BuiltCase(description, files, listed)


def encode_rows(rows: pa.Table, schema: Struct | None) -> bytes:
    """Encode expected rows as a small Parquet file; `schema` says which columns are required, None that none is."""
    sink = io.BytesIO()
    pq.write_table(
        rows if schema is None else mark_required(rows, schema),
        sink,
        compression="snappy",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )
    return sink.getvalue()


def _parse_conditions(case: GoldenCase) -> list[Condition]:
    """Parse conditions such as `("id", ">", 3)`."""
    return [Condition(*each) for each in case.where]


def _ask_for_refusal(case: GoldenCase) -> Question:
    assert case.defect is not None
    is_early = all(phase == "snapshot" for _, phase in case.defect.accepted)
    document = {"type": "snapshot" if is_early else "read", "error": {"errorCode": case.requires[0]}}
    return Question("refused", document)


def _expect_defect(case: GoldenCase, version: int) -> Expect:
    assert case.defect is not None
    accepted = case.defect.accepted
    if not accepted:
        return Expect(kind="violation", version=version, requirement=case.requires[0])
    chapter = case.requires[0].partition(".")[0]
    is_unsupported = accepted[0][0] == "unsupported"
    code: Any = case.defect.code or ("unsupported" if is_unsupported else _CODE_OF_CHAPTER.get(chapter, "invalid_log"))
    return Expect(
        kind="refuse",
        version=version,
        requirement=case.requires[0],
        codes=(code,),
        phase="snapshot" if all(phase == "snapshot" for _, phase in accepted) else "scan",
        accepted=tuple(AcceptedError(category=category, phase=phase) for category, phase in accepted),
    )


def _describe_latest(state: WrittenState) -> bytes:
    """Return the file with the newest version in the format of DAT."""
    return encode_document(
        {
            "version": state.version,
            "properties": state.configuration,
            "min_reader_version": state.protocol["minReaderVersion"],
            "min_writer_version": state.protocol["minWriterVersion"],
        }
    )


def _describe(case: GoldenCase, table: ReadableTable, expect: Expect, command: str) -> CaseDocument:
    known = load_requirements()
    sections = dict.fromkeys(part for each in case.requires for part in known[each].section.split("; "))
    protocol = table.versions[-1].state.protocol
    readers = protocol.get("readerFeatures") or (["columnMapping"] if protocol["minReaderVersion"] == 2 else [])
    changes = any(each.plain_changes is not None for each in table.versions)
    return CaseDocument(
        id=case.id,
        meaning=case.meaning,
        title=case.title,
        requirements=case.requires,
        spec=Spec(since=case.revision, until=case.until or None),  # type: ignore[arg-type]
        anchors=tuple(Anchor(section=each, revision="current") for each in sections),
        authority="reading" if any(known[each].reading for each in case.requires[:1]) else "protocol",
        features=Features(
            reader=tuple(readers),
            writer=tuple(protocol.get("writerFeatures") or ()),
        ),
        ops=("snapshot", "scan", "changes") if changes else ("snapshot", "scan"),
        expect=expect,
        origin=Origin(writer="deltaspec", command=command, bugs=case.bugs),
        portability=case.portability,
        twin=None if case.defect is None else Twin(id=case.defect.twin, defect=case.defect.text),
    )


def _list_plain_rows(rows: pa.Table) -> str:
    """Return the rows as text that does not depend on their encoding."""
    return repr([(field.name, str(field.type), to_plain_values(rows[field.name])) for field in rows.schema])


def build_corpus(cases: Iterable[GoldenCase]) -> tuple[dict[str, bytes], Manifest]:
    """Build every file by path in `golden-tables`, and the manifest."""
    files: dict[str, bytes] = {}
    listed = []
    for case in cases:
        built = build_case(case)
        files |= {f"{built.listed.path}/{path}": data for path, data in built.files.items()}
        listed.append(built.listed)
    manifest = Manifest(FORMAT, pa.__version__, tuple(listed))
    files[MANIFEST] = encode_document(manifest)
    files[SCHEMA] = encode_document(build_json_schema())
    return files, manifest


def read_built_files(root: Path) -> dict[str, bytes]:
    """Read the built files below a directory: the folders of cases, the manifest and the schema."""
    found = {}
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and ((len(parts) > 2 and "__pycache__" not in parts) or parts in ((MANIFEST,), (SCHEMA,))):
            found["/".join(parts)] = path.read_bytes()
    return found


def load_manifest(root: Path) -> Manifest | None:
    """Read the manifest of an earlier build; None if there is none in this format."""
    try:
        return msgspec.json.decode((root / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None


def load_released(root: Path) -> Released:
    """Read the cases of the last release."""
    return msgspec.json.decode((root / RELEASED).read_bytes(), type=Released)


def encode_released(release: str, manifest: Manifest) -> bytes:
    """Encode the cases of a release, one to a line."""
    cases = [ReleasedCase(each.id, each.meaning, each.expectation) for each in manifest.cases]
    lines = ",\n".join(msgspec.json.encode(each).decode() for each in cases)
    return f'{{"release": {msgspec.json.encode(release).decode()}, "cases": [\n{lines}\n]}}\n'.encode()


def check_permanence(old: Manifest | Released, new: Manifest) -> list[str]:
    """Return broken promises about ids: an id that is gone, or an expectation that changed silently."""
    found = []
    now: Mapping[str, ListedCase] = {each.id: each for each in new.cases}
    for before in old.cases:
        after = now.get(before.id)
        if after is None:
            found.append(f"{before.id} is gone: ids are permanent")
        elif after.meaning < before.meaning:
            found.append(f"{before.id}: meaning decreased from {before.meaning} to {after.meaning}")
        elif after.expectation != before.expectation and after.meaning == before.meaning:
            found.append(f"{before.id}: the expectation changed, but meaning is still {after.meaning}")
    return found


def require_release(root: Path) -> None:
    """Raise `InvalidUsage` if another release of pyarrow wrote the golden tables."""
    manifest = load_manifest(root)
    if manifest is not None and manifest.pyarrow != pa.__version__:
        raise InvalidUsage(
            f"the golden tables were written with pyarrow {manifest.pyarrow}, this is {pa.__version__}. Install that "
            "release, or use --rewrite to write all Parquet files again"
        )


def find_differences(built: Mapping[str, bytes], existing: Mapping[str, bytes]) -> list[str]:
    """Return a line for each file that a build would change."""
    found = [
        f"{'differs' if path in existing else 'is missing'}: {path}"
        for path in sorted(built)
        if existing.get(path) != built[path]
    ]
    return found + [f"does not belong to a case: {path}" for path in sorted(existing.keys() - built.keys())]


def write_files(root: Path, built: Mapping[str, bytes], existing: Mapping[str, bytes]) -> None:
    """Write changed files, and delete files that belong to no case."""
    for path, data in built.items():
        if existing.get(path) != data:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write_file(root / path, data)
    for path in existing.keys() - built.keys():
        (root / path).unlink()


def build_all(root: Path) -> tuple[dict[str, bytes], Manifest]:
    """Build all cases that a directory defines."""
    return build_corpus(load_cases(root).values())


def select_comparable(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that every release of pyarrow writes equally: questions and answers without rows."""
    return {
        path: data
        for path, data in files.items()
        if path != MANIFEST and "/delta/" not in path and not path.endswith(".parquet")
    }
