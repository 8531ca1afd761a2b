"""Tables broken in Parquet footers; level `footers` shows it."""
