"""Mutations of statistics that the rows contradict."""

CAUGHT_BY: dict[str, str] = {}
