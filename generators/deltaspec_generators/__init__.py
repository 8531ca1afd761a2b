"""Hypothesis strategies for valid tables, a builder that writes them, and planted faults that break them."""
