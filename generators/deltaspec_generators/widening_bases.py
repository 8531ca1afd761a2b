"""Sound tables whose columns change their types, for mutations and permissions of type widening."""

from collections.abc import Mapping, Sequence
from typing import Any

from deltaspec_generators import bases
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, metadata_action

ENABLED = {"delta.enableTypeWidening": "true"}
RECORD = "delta.typeChanges"
FEATURES = ("typeWidening", "timestampNtz")


def column(kind: Any, record: Any = None, name: str = "c") -> dict[str, Any]:
    """A column, and what it records as changes of its type."""
    metadata = {} if record is None else {RECORD: record}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def change(before: str, after: str, place: str | None = None) -> dict[str, str]:
    """A recorded change."""
    return {"fromType": before, "toType": after} | ({} if place is None else {"fieldPath": place})


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def pairs(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def table(*steps: dict[str, Any], writer: Sequence[str] = (), settings: Mapping[str, str] = ENABLED) -> TableFiles:
    """A table of the column `c` beside an id; its further forms come one a commit, while files stay."""
    files = bases.featured(*FEATURES, writer=writer, configuration=settings, fields=[("id", "long"), steps[0]])
    for version, step in enumerate(steps[1:], start=3):
        files.commits[version] = [commit_info(version), metadata_action([("id", "long"), step], configuration=settings)]
    return files
