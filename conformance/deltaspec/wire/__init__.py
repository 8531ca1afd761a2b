"""Decode the bytes of a table: storage, JSON lines, Parquet files, deletion vectors.

All bytes are treated as hostile: sizes are bounded before anything is allocated, and undecodable input becomes a value
or exception that says why.
"""
