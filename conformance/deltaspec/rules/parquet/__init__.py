"""Rules over the Parquet files of data: footers, column names under column mapping, and write settings."""
