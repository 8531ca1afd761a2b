"""Spark SQL expressions of table metadata: parse, admit, evaluate, and translate for Spark."""
