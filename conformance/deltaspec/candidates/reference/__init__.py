"""The reference candidate: a plain reader of our own over `wire` and `model`.

It reads the log with the model and data files row by row. Nothing in it is tuned. The suites must accept all its
answers; faulty copies of it show that the suites notice faults.
"""
