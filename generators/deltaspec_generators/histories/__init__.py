"""Histories of writes: operations with concrete rows, and what a table must contain after each of them.

The expectation comes from a table of plain Python rows (`plain_table`), with conditions of the model. It shares no code
with engines; the reference writer shares only the conditions of operations.
"""
