"""Validation of a table: from options and a URI to a report."""
