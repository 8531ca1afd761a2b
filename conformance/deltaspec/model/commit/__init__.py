"""Commit validation: decide whether a commit may follow a snapshot."""
