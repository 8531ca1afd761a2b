"""Names of the change data feed. Source: Change Data Files, Add CDC File."""

FEATURE = "changeDataFeed"
CHANGE_TYPE = "_change_type"
"""Column of a change data file with the type of change."""
INSERT, PREIMAGE, POSTIMAGE, DELETE = "insert", "update_preimage", "update_postimage", "delete"
CHANGE_TYPES = (INSERT, PREIMAGE, POSTIMAGE, DELETE)
DIRECTORY = "_change_data/"
"""Directory of change data files, below the table's root."""
COMMIT_COLUMNS = ("_commit_version", "_commit_timestamp")
"""Columns that readers of changes add to each row; files need not contain them."""
