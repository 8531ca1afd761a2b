"""Changes of the column mapping mode, which rename columns in the files of earlier versions."""

from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.file_requirements import FileRequirements, RequirementHistory
from deltaspec_generators.table_files import schema_string
from planted_tables.bases.column_mapping import build_mapped_field

A, B = build_mapped_field("a", 1), build_mapped_field("b", 2)
Version = tuple[Struct | None, str | None]
"""Schema and mapping mode."""


def schema(*fields: object) -> Struct:
    return parse_schema(schema_string(fields))


def find_renamed(*versions: Version) -> list[tuple[int, str | None, int]]:
    """Return version, column and the first version of the column for each change."""
    history = RequirementHistory()
    for number, (each, mapping) in enumerate(versions):
        history.apply((number, "file", 1), FileRequirements({}), each, mapping, mapping)
    return [(each.version, each.renamed_column, each.renamed_since) for each in history.changes]


def test_turning_the_mapping_on_or_off_renames_the_oldest_column() -> None:
    off = (schema(A), None)
    assert find_renamed(off, (schema(A, B), None), (schema(A, B), "name")) == [(2, "a", 0)]
    assert find_renamed((schema(B, A), "name"), off) == [(1, "a", 0)]


def test_changes_while_the_mode_stays_rename_nothing() -> None:
    assert find_renamed((schema(A), None), (schema(A, B), None), (schema(B), None)) == []
    assert find_renamed((schema(A), "name"), (schema(B, A), "name"), (schema(A), "id")) == []


def test_schema_that_is_not_known_forgets_the_columns() -> None:
    first = schema(A)
    assert find_renamed((first, None), (None, None), (first, None), (first, "name")) == [(3, "a", 2)]
    assert find_renamed((first, None), (None, None), (schema(A), "name")) == []
