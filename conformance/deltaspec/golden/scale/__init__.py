"""Large golden tables: written as a stream, with aggregates as answers, to test the memory and time of a client.

`options` says how large, `values` what each row contains, `writer` writes the table, `case` the case around it.
"""
