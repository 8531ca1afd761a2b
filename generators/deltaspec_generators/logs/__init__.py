"""Strategies for random valid logs and their layouts as files."""
