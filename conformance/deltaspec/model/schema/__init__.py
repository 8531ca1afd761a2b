"""Schemas and values: types, fields, column mapping, partition values, statistics."""
