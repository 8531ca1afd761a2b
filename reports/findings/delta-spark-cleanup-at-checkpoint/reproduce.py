"""Delta Spark deletes versions within delta.logRetentionDuration. Needs pyspark and delta-spark."""

import os
import tempfile
import time
from pathlib import Path

import delta
from pyspark.sql import SparkSession

builder = (
    SparkSession.builder.master("local[1]")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
)
spark = delta.configure_spark_with_delta_pip(builder).getOrCreate()
path = Path(tempfile.mkdtemp()) / "t"
log, table = path / "_delta_log", f"delta.`{path}`"
properties = "'delta.logRetentionDuration' = 'interval 7 days', 'delta.checkpointInterval' = '3'"
spark.sql(f"CREATE TABLE {table} (id LONG) USING delta TBLPROPERTIES ({properties})")
spark.sql(f"INSERT INTO {table} VALUES (1)")
spark.sql(f"INSERT INTO {table} VALUES (2)")
long_ago = time.time() - 30 * 86_400
for file in log.iterdir():
    os.utime(file, (long_ago, long_ago))
# Version 2 has been the table for 30 days. Version 3 is new, and Delta Spark writes the first checkpoint for it.
spark.sql(f"INSERT INTO {table} VALUES (3)")
print(sorted(each.name for each in log.iterdir() if not each.name.startswith(".")))
