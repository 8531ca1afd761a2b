"""The names of permissions that the installed kit reads are those of the registered tables."""

from planted_faults.explain_data import encode_permissions

from deltaspec.requirement_coverage import PERMISSIONS_FILE, load_permissions
from planted_tables.permissions.all_permissions import PERMISSIONS


def test_permissions_file_is_current() -> None:
    """`nox -s explain_data` writes the file again."""
    assert PERMISSIONS_FILE.read_bytes() == encode_permissions()


def test_permissions_are_listed_by_requirement() -> None:
    listed = {(requirement, name) for requirement, names in load_permissions().items() for name in names}
    assert listed == {(each.requirement, each.name) for each in PERMISSIONS.values()}
