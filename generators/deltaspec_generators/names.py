"""Deterministic names of files and columns."""

from uuid import UUID


def build_uuid(number: int) -> str:
    """Build a UUID from a number."""
    return str(UUID(int=number, version=4))


def build_physical_name(column_id: int) -> str:
    """Build the physical name of the mapped column with this id."""
    return f"col-{column_id:08x}-0000-4000-8000-000000000000"
