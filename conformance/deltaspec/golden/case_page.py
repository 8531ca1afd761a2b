"""The page of `deltaspec golden show`."""

from collections.abc import Mapping
from typing import Any

from deltaspec.golden.corpus import StoredCase


def render_case(case: StoredCase) -> str:
    """Return question, expected answer and files of a case as text."""
    document = case.read_document()
    features = document["features"]
    lines = [f"{case.id}  {document['title']}", "", *_render_expectation(document["expect"]), ""]
    twin = document.get("twin")
    rows = {
        "requires": ", ".join(document["requirements"]),
        "sections": "; ".join(dict.fromkeys(anchor["section"] for anchor in document["anchors"])),
        "since": document["spec"]["since"],
        "features": ", ".join(sorted({*features["reader"], *features["writer"]})) or "none",
        "defect": f"{twin['defect']}; otherwise equal to {twin['id']}" if twin else "",
        "meaning": str(document["meaning"]),
        "folder": str(case.folder),
    }
    lines += [f"{name:<10}{value}" for name, value in rows.items() if value]
    specs = sorted(path for path in case.listed.sha256 if path.startswith(("specs/", "specs-x/")))
    lines += ["", "Questions:", *(f"  {path}" for path in specs)] if specs else []
    lines += ["", "Files of the table:"]
    lines += [f"  {path.removeprefix('delta/')}" for path in sorted(case.listed.sha256) if path.startswith("delta/")]
    return "\n".join(lines)


def _render_expectation(expect: Mapping[str, Any]) -> list[str]:
    match expect["kind"]:
        case "rows":
            return [f"A reader returns {expect['num_rows']} rows at version {expect['version']}."]
        case "refuse":
            return [f"A reader fails in phase {expect['phase']} at the latest: {expect['requirement']} is violated."]
    return [f"A validator reports {expect['requirement']}; a reader may refuse or read the table."]
