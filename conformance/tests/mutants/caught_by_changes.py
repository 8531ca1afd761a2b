"""Mutations of change data files."""

CAUGHT_BY: dict[str, str] = {}
