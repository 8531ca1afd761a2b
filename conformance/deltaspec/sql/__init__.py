"""Spark SQL expressions of table metadata: parse, check against an allow-list, evaluate, and render for Spark."""
