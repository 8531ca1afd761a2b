"""Adapter of the reference reader."""

from deltaspec.candidates.reference.engine import Engine

__all__ = ["Engine"]
