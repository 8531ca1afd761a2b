"""Mutations of rows of data files."""

CAUGHT_BY: dict[str, str] = {}
