"""A large golden table with its questions: aggregates over all rows, and selected rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deltaspec.golden.build import encode_rows
from deltaspec.golden.case_format import Anchor, CaseDocument, Expect, Features, Origin, Spec, encode_document
from deltaspec.golden.export.layouts import fill_new_directory
from deltaspec.golden.questions import Question
from deltaspec.golden.scale.options import ScaleOptions
from deltaspec.golden.scale.values import build_rows, select_live
from deltaspec.golden.scale.writer import write_scale_table
from deltaspec.requirements import load_requirements
from deltaspec_generators.tables.corpus import GENERATOR_VERSION

COMMAND = "deltaspec golden draw --scale"
_REQUIREMENTS = ("reconciliation.queries-see-live-files", "log.replay-in-order")
_SELECTED = 5
"""Rows that are asked for by `id`, the first and the last among them."""


def write_scale_case(options: ScaleOptions, directory: Path) -> str:
    """Write a case into a new or empty directory, and return its id.

    Raises:
        InvalidUsage: the directory exists and is not empty, or cannot be written.
    """
    identity = f"scale.v{GENERATOR_VERSION}-{options.digest}"
    with fill_new_directory(directory) as content:
        aggregates = write_scale_table(options, content / "delta")
        version = options.commits + bool(options.deleted)
        answer = {"type": "aggregates", "version": version, "expected": aggregates.answer()}
        description = _describe(options, identity, version, aggregates.rows)
        files = {"case.json": encode_document(description)}
        for question in (Question("aggregates", answer, is_common=False), *_select_rows(options)):
            files[question.path] = encode_document(question.document)
            if question.rows is not None:
                files[question.rows_path] = encode_rows(question.rows, None)
        for name, data in files.items():
            (content / name).parent.mkdir(parents=True, exist_ok=True)
            (content / name).write_bytes(data)
    return identity


def _select_rows(options: ScaleOptions) -> Iterator[Question]:
    """Yield questions for single rows; a row that is deleted has an empty answer."""
    last = options.rows - 1
    for number in sorted({last * step // (_SELECTED - 1) for step in range(_SELECTED)}):
        rows: pa.Table = select_live(build_rows(options, number, 1), options, number)
        expected = {"rowCount": rows.num_rows}
        document = {"type": "read", "predicate": f"id = {number}", "expected": expected}
        yield Question(f"row-{number}", document, rows)


def _describe(options: ScaleOptions, identity: str, version: int, rows: int) -> CaseDocument:
    known = load_requirements()
    sections = dict.fromkeys(part for each in _REQUIREMENTS for part in known[each].section.split("; "))
    sizes = ", ".join(f"{value:,} {name}" for name, value in options.sizes.items() if value)
    return CaseDocument(
        id=identity,
        meaning=1,
        title=f"A large table: {sizes}.",
        requirements=_REQUIREMENTS,
        spec=Spec(since="current" if options.sidecars else "r1"),
        anchors=tuple(Anchor(section=each, revision="current") for each in sections),
        authority="protocol",
        features=Features(reader=options.features, writer=options.features),
        ops=("snapshot", "scan"),
        expect=Expect(kind="rows", version=version, num_rows=rows),
        origin=Origin(writer="deltaspec", command=COMMAND),
        portability=("large",),
    )
