"""Parquet: footers, column chunks, pages and batches of rows."""
