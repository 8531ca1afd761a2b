"""Rows: deletion vectors, row tracking, change data, data skipping."""
