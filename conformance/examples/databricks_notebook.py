# Databricks notebook source
# MAGIC %md
# MAGIC # Validate Delta tables of a schema
# MAGIC Checks whether the tables follow the transaction-log protocol, and fails the job if one does not. Nothing is
# MAGIC written into them. Install the wheel of deltaspec as a library of the cluster: the executors need it too.

# COMMAND ----------

dbutils.widgets.text("tables", "main.sales.orders")
dbutils.widgets.dropdown("level", "files", ["log", "files", "footers", "rows"])
tables = [each.strip() for each in dbutils.widgets.get("tables").split(",")]
level = dbutils.widgets.get("level")

# COMMAND ----------

from deltaspec.spark import validate

reports = {table: validate(spark, table, level=level) for table in tables}

# COMMAND ----------

verdicts = [(table, report.verdict) for table, report in reports.items()]
display(spark.createDataFrame(verdicts, "table string, verdict string"))

# COMMAND ----------

for report in reports.values():
    if report.verdict != "conforms":
        report.show()
        display(report.findings)

# COMMAND ----------

bad = [table for table, report in reports.items() if report.verdict != "conforms"]
if bad:
    raise RuntimeError("do not conform: " + ", ".join(bad))
