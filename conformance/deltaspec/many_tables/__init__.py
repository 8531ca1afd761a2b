"""Validate many tables in one call, and collect their results."""
