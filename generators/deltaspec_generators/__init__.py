"""Hypothesis strategies of valid logs, the builder that lays them down as tables, and mutations that break them."""
