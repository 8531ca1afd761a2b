"""Mutations of Parquet footers."""

CAUGHT_BY: dict[str, str] = {}
