"""Compare two writers: they perform the same random histories, and every version of both tables must mean the same.

The reference reader reads both tables, and one of the writers reads them too. Choices that the protocol leaves to the
writer are counted, not compared (`facts`).
"""
