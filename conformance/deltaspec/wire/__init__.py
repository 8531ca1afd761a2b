"""Bytes of a table to actions and columns, and back: storage, JSON lines, Parquet checkpoints, deletion-vector files.

Everything here treats bytes as hostile: sizes are bounded before anything is allocated, and what cannot be decoded
becomes a value that says why.
"""
