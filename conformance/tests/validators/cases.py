"""Planted faults as golden cases for validators: each table breaks one requirement, next to its sound twin.

<requirement>/<case>/
    case.json      `expect.kind` is `violation`: the requirement, where the fault is, and what harm it does
    delta/         the broken table
    twin/          the sound table that it was made from, if there is one

python -m validators.cases DIRECTORY      (in conformance/tests; `nox -s validators` does it)
"""

import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from planted_faults.caught_by import CAUGHT_BY
from planted_faults.kill_table import find_revisions, write_and_validate
from planted_faults.log_examples import draw_simplest

from deltaspec.errors import TableUnreadable
from deltaspec.golden.case_format import (
    Anchor,
    CaseDocument,
    Expect,
    Features,
    Origin,
    Place,
    Spec,
    Twin,
    encode_document,
)
from deltaspec.golden.export.layouts import fill_new_directory
from deltaspec.report.report_types import Finding, Report
from deltaspec.requirements import REVISIONS, load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, encode_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.faults.registry import PlantedFault
from planted_tables.permissions.all_permissions import PERMISSIONS

COMMAND = "nox -s validators -- export"
_MOST_TRIED = 10


def validate(files: TableFiles, fault: PlantedFault) -> Report:
    """Validate a table at the level and in the newest revision in which a planted fault shows. Raises as `validate`."""
    return write_and_validate(files, fault.level, find_revisions(fault)[-1])


@cache
def find_twin(name: str) -> TableFiles | None:
    """Return the sound table that is most similar to the table of a planted fault; None if no sound one is known.

    Candidates are the tables from which the fault was made, then the sound tables of permissions.
    """
    drawn = draw_simplest(name)
    broken = encode_table(drawn.files)
    for tables in ([(each, encode_table(each)) for each in drawn.before], _list_permitted()):
        ranked = sorted(tables, key=lambda each: measure_difference(each[1], broken))
        tried: list[dict[str, bytes]] = [broken]
        for files, encoded in ranked:
            if encoded not in tried and _is_sound(files, PLANTED_FAULTS[name]):
                return files
            tried.append(encoded)
            if len(tried) > _MOST_TRIED:
                break
    return None


@cache
def _list_permitted() -> list[tuple[TableFiles, dict[str, bytes]]]:
    return [(files := each.table(), encode_table(files)) for each in PERMISSIONS.values()]


def measure_difference(files: dict[str, bytes], others: dict[str, bytes]) -> tuple[int, int]:
    """Return the number of files that differ, and the difference of their sizes in bytes."""
    differing = [path for path in {*files, *others} if files.get(path) != others.get(path)]
    return len(differing), sum(abs(len(files.get(path, b"")) - len(others.get(path, b""))) for path in differing)


def _is_sound(files: TableFiles, fault: PlantedFault) -> bool:
    try:
        return not validate(files, fault).totals
    except TableUnreadable:
        return False


def build_case(name: str) -> dict[str, bytes]:
    """Return the files of the case of a planted fault, by path in its folder."""
    fault, files = PLANTED_FAULTS[name], draw_simplest(name).files
    found = [each for each in validate(files, fault).findings if each.rule == CAUGHT_BY[name]]
    twin = find_twin(name)
    content = {"case.json": encode_document(_describe(fault, files, found, has_twin=twin is not None))}
    content |= {f"delta/{path}": data for path, data in encode_table(files).items()}
    return content | {f"twin/{path}": data for path, data in (encode_table(twin) if twin else {}).items()}


def identify(fault: PlantedFault) -> str:
    """Return the id of the case of a planted fault."""
    return f"{fault.requirement}.{fault.name.replace('_', '-').lower()}"


def _describe(fault: PlantedFault, files: TableFiles, found: Iterable[Finding], *, has_twin: bool) -> CaseDocument:
    requirement, rule = load_requirements()[fault.requirement], RULES[CAUGHT_BY[fault.name]]
    revisions = find_revisions(fault)
    features = _list_features(files)
    places = {(each.file, each.line, each.path, each.column) for each in found}
    return CaseDocument(
        id=identify(fault),
        meaning=1,
        title=rule.message,
        requirements=(fault.requirement,),
        spec=Spec(since=revisions[0], until=None if revisions[-1] == REVISIONS[-1] else revisions[-1]),  # type: ignore[arg-type]
        anchors=tuple(Anchor(section=each, revision="current") for each in requirement.section.split("; ")),
        authority="reading" if requirement.reading else "protocol",
        features=Features(reader=features, writer=features),
        ops=("snapshot", "scan"),
        expect=Expect(
            kind="violation",
            version=max(files.commits, default=0),
            requirement=fault.requirement,
            severity=rule.severity_in(revisions[-1]),
            where=tuple(Place(*each) for each in sorted(places, key=repr)),
            harm=rule.why,
            clock_ms=files.clock_ms,
            modification_times=dict(sorted(files.written_ms.items())),
        ),
        origin=Origin(writer="planted_tables", command=COMMAND),
        portability=(),
        twin=Twin(id=f"{identify(fault)}.twin", defect=rule.message) if has_twin else None,
    )


def _list_features(files: TableFiles) -> tuple[str, ...]:
    """List the features of the newest protocol in the commits that can be decoded."""
    protocols = [line["protocol"] for _, lines in sorted(files.commits.items()) for line in lines
                 if isinstance(line, dict) and isinstance(line.get("protocol"), dict)]  # fmt: skip
    if not protocols:
        return ()
    listed = [*(protocols[-1].get("readerFeatures") or ()), *(protocols[-1].get("writerFeatures") or ())]
    return tuple(sorted({each for each in listed if isinstance(each, str)}))


def iter_cases(names: Iterable[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield path and files of the case of each planted fault."""
    for name in names:
        fault = PLANTED_FAULTS[name]
        yield f"{fault.requirement.partition('.')[0]}/{identify(fault)}", build_case(name)


def write_cases(directory: Path, names: Iterable[str] = tuple(PLANTED_FAULTS)) -> int:
    """Write cases into a new or empty directory, and return their number. Raises `InvalidUsage`."""
    count = 0
    with fill_new_directory(directory) as content:
        for folder, files in iter_cases(names):
            count += 1
            for path, data in files.items():
                target = content / folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
    return count


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"{write_cases(Path(sys.argv[1]))} cases written")
