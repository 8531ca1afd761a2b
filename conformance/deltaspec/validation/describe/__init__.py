"""Descriptions of a table and cost estimates of a run."""
