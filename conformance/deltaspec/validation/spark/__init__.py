"""The Spark driver. Everything that imports pyspark is below here, and imports it only when it runs."""

from deltaspec.validation.spark.run import validate

__all__ = ["validate"]
