"""What could not be looked at stands in the ledger: by every rule that needs it, and by no other."""

from pathlib import Path

from deltaspec.rules import RULES
from deltaspec.validate import validate_table
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.data_bases import VECTOR_FILE, with_data, with_stored_vectors

BY_FOOTER_ALONE = {"PQT001", "PQT002", "PQT003", "PQT004"}


def not_checked(files: TableFiles, root: Path, level: str) -> set[str]:
    write_table(files, root)
    return {entry.rule for entry in validate_table(str(root), level=level).checked.not_checked}


def test_without_the_schema_no_rule_that_needs_it_passes_in_silence(tmp_path: Path) -> None:
    files = with_data()
    action(files, 0, "metaData")["schemaString"] = "{"
    of_footers = {code for code, rule in RULES.items() if rule.level == "footers"}
    assert not_checked(files, tmp_path, "footers") & of_footers == of_footers - BY_FOOTER_ALONE


def test_vector_that_cannot_be_read_leaves_footers_and_sizes_checked(tmp_path: Path) -> None:
    files = with_stored_vectors()
    name = f"deletion_vector_{VECTOR_FILE}.bin"
    files.missing.add(name)
    (tmp_path / name).mkdir()
    assert {code[:3] for code in not_checked(files, tmp_path, "rows")} == {"DVX", "ROW", "STA"}
