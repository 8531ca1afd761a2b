"""Engines under test: the candidate protocol, the host that runs candidates, and adapters for known engines."""
