"""Histories of writes: operations with concrete rows, and the expected contents of the table after each of them.

The expectation comes from a table of plain Python rows (`plain_table`), with conditions of the model. It shares no code
with engines; the reference writer shares only the conditions of operations.
"""
