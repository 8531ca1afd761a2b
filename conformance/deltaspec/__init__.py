"""deltaspec: a conformance and validation test kit for the Delta transaction-log protocol."""

__version__ = "0.1.0"
