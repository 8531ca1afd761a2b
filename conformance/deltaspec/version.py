"""Release number of deltaspec. A module without imports, so that every other module can import it."""

__version__ = "1.0.0"
