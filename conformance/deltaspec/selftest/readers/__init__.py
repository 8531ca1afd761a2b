"""Faulty readers, by what they get wrong."""
