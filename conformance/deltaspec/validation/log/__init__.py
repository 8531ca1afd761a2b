"""Validation of the log: read it, replay it, compare what was derived from it."""
