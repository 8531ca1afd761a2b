"""Validation of the files next to the log: presence, deletion vectors, footers, rows."""
