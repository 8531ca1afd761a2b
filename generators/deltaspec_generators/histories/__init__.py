"""Histories of writes: operations with concrete rows, and the expected contents of the table after each of them.

The expected contents come from a table of plain Python rows (`plain_table`), which evaluates conditions with the model.
It shares no code with engines, except that the reference writer evaluates conditions with the same model.
"""
