"""Strategies for random valid tables with data files."""
