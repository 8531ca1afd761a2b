"""From a URI to a verdict."""

from deltaspec.validation.run import validate_table

__all__ = ["validate_table"]
