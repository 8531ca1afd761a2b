"""Faulty readers, by kind of fault."""
