"""The files of a golden case: `case.json`, specs and `manifest.json`. `golden-tables/README.md` explains them.

`case.schema.json` is the JSON Schema of `CaseDocument`.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from deltaspec.json_schemas import describe_type

FORMAT = 2
"""Format of the manifest. 2 added specs and the digests of expectations."""
Revision: TypeAlias = Literal["r1", "r2", "r3", "current"]
Kind: TypeAlias = Literal["rows", "refuse", "violation"]
Portability: TypeAlias = Literal["posix-names", "absolute-paths", "large"]
Code: TypeAlias = Literal[
    "invalid_log", "invalid_checkpoint", "invalid_metadata", "missing_file", "invalid_dv", "unsupported"
]
Identity: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$")]
RequirementId: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]


class Spec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """First and last revision of the protocol under which the answer holds."""

    since: Revision
    until: Revision | None = None


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """A section of the protocol."""

    section: str
    revision: Revision


class Features(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Table features of the newest protocol, listed or implied by its versions."""

    reader: tuple[str, ...]
    writer: tuple[str, ...]


class Twin(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The valid case that a broken one was made from, and the one difference."""

    id: Identity
    defect: str


class AcceptedError(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Category of an error, and the phase in which it may occur at the latest; as in the candidate protocol."""

    category: str
    phase: str


class Place(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where a table breaks a requirement."""

    file: str | None = None
    """Relative to the table."""
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """In a Parquet file the row."""
    path: str | None = None
    """Path of the data file concerned, as the log spells it."""
    column: str | None = None


_KINDS = (
    "rows: a scan gives these rows. refuse: a reader fails, in this phase at the latest, for one of these reasons. "
    "violation: a validator names the requirement; a reader may refuse or read the table."
)


class Expect(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What a reader must do with the table."""

    kind: Annotated[Kind, msgspec.Meta(description=_KINDS)]
    version: Annotated[int, msgspec.Meta(ge=0, description="Newest version of the table.")]
    rows: str | None = None
    num_rows: Annotated[int, msgspec.Meta(ge=0)] | None = None
    requirement: RequirementId | None = None
    codes: tuple[Code, ...] = ()
    phase: Literal["snapshot", "scan"] | None = None
    accepted: tuple[AcceptedError, ...] = ()
    severity: Literal["violation", "warning", "divergence"] | None = None
    where: tuple[Place, ...] = ()
    harm: str | None = None
    clock_ms: Annotated[int | None, msgspec.Meta(description="Time of the check; null if it does not matter.")] = None
    modification_times: Annotated[dict[str, int], msgspec.Meta(description="To set before the check, by file.")] = {}


class Origin(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """How the case was built, and known bugs of engines that it would have found."""

    writer: str
    command: str
    bugs: tuple[str, ...] = ()


class CaseDocument(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Content of `case.json`."""

    id: Annotated[Identity, msgspec.Meta(description="Permanent; the part before the first dot is the chapter.")]
    meaning: Annotated[int, msgspec.Meta(ge=1, description="Increases when the expectation of the id changes.")]
    title: Annotated[str, msgspec.Meta(min_length=1)]
    requirements: Annotated[tuple[RequirementId, ...], msgspec.Meta(min_length=1)]
    spec: Spec
    anchors: Annotated[tuple[Anchor, ...], msgspec.Meta(min_length=1)]
    authority: Literal["protocol", "reading", "engines"]
    features: Features
    ops: tuple[Literal["snapshot", "scan", "changes"], ...]
    expect: Expect
    origin: Origin
    portability: tuple[Portability, ...]
    twin: Twin | None = None


class ListedCase(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case in `manifest.json`."""

    id: str
    meaning: int
    path: str
    title: str
    expectation: str
    """SHA-256 of everything that is expected, independent of how Parquet files are encoded."""
    sha256: dict[str, str]


class Manifest(msgspec.Struct, frozen=True):
    """Content of `manifest.json`."""

    format: int
    pyarrow: str
    """Release that wrote the Parquet files, whose bytes depend on it."""
    cases: tuple[ListedCase, ...]


class ReleasedCase(msgspec.Struct, frozen=True, array_like=True):
    """A case in `released.json`."""

    id: str
    meaning: int
    expectation: str


class Released(msgspec.Struct, frozen=True):
    """Content of `released.json`: the cases of the last release, whose ids and expectations are permanent."""

    release: str
    cases: tuple[ReleasedCase, ...]


def build_json_schema() -> dict[str, Any]:
    """Build the JSON Schema of `case.json`."""
    schema = describe_type(CaseDocument)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "description": "Content of case.json of a golden table. See README.md.",
    }


def encode_document(value: Any) -> bytes:
    """Encode a value as an indented JSON file."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
