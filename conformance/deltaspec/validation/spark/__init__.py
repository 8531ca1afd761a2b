"""The Spark backend. Only modules of this package import pyspark, and only inside functions."""
