"""Suites: questions to candidates about tables whose rows, changes and state are known.

A check is a plain function `check_*` that asks a candidate about one table and raises `Mismatch` if an answer is wrong.
It names the requirements that it tests.
"""
