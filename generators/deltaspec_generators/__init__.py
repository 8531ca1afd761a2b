"""Hypothesis strategies for valid tables, a builder that writes them, and mutations that break them."""
