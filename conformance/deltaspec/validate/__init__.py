"""From a URI to a verdict."""

from deltaspec.validate.run import validate_table

__all__ = ["validate_table"]
