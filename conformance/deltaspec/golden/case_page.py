"""The page of `deltaspec golden show`."""

from deltaspec.golden.case_format import Expect
from deltaspec.golden.corpus import StoredCase
from deltaspec.report.text import count


def render_case(case: StoredCase) -> str:
    """Return question, expected answer and files of a case as text."""
    document = case.description
    features, twin = document.features, document.twin
    rows = {
        "requires": ", ".join(document.requirements),
        "sections": "; ".join(dict.fromkeys(anchor.section for anchor in document.anchors)),
        "since": document.spec.since,
        "features": ", ".join(sorted({*features.reader, *features.writer})) or "none",
        "defect": f"{twin.defect}; otherwise equal to {twin.id}" if twin else "",
        "bugs": ", ".join(document.origin.bugs),
        "meaning": str(document.meaning),
        "folder": str(case.folder),
    }
    lines = [f"{case.id}  {document.title}", "", _describe_expectation(document.expect), ""]
    lines += [f"{name:<10}{value}" for name, value in rows.items() if value]
    paths = sorted(case.listed.sha256)
    specs = [path for path in paths if path.startswith(("specs/", "specs-x/"))]
    lines += ["", "Questions:", *(f"  {path}" for path in specs)] if specs else []
    lines += ["", "Files of the table:"]
    return "\n".join([*lines, *(f"  {path.removeprefix('delta/')}" for path in paths if path.startswith("delta/"))])


def _describe_expectation(expect: Expect) -> str:
    match expect.kind:
        case "rows":
            return f"A reader returns {count(expect.num_rows or 0, 'row')} at version {expect.version}."
        case "refuse":
            return f"A reader fails in phase {expect.phase} at the latest: {expect.requirement} is violated."
    return f"A validator reports {expect.requirement}; a reader may refuse or read the table."
