"""The reference candidate: a reader and a writer that share no code with the generators of tables and histories.

It is independent on purpose, so it implements again what the generators implement. It reads the log with `wire` and
`model`, and data files row by row. Nothing in it is tuned. The suites must accept all its answers; faulty copies of it
show that the suites notice faults.
"""
