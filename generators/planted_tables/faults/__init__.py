"""Planted faults: tables that break one requirement each."""
