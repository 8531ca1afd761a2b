"""Faults of writers, by idea."""
