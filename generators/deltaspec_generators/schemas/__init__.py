"""Schemas of a table: drawn, and changed over time."""
