"""Data files of a table: Parquet encodings, statistics, and the rows that a file stores."""
