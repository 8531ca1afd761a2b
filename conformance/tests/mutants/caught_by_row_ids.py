"""Mutations of row ids."""

CAUGHT_BY: dict[str, str] = {}
