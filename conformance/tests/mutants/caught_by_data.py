"""Mutations of files of the table: presence, size, deletion-vector files."""

CAUGHT_BY: dict[str, str] = {}
