"""Encoding of variant values."""
