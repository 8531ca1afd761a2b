"""Build golden tables operation by operation, with the expected answer of every version."""
