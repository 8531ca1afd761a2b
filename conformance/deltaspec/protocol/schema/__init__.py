"""Schemas, data types, column mapping, and how columns are stored in Parquet."""
