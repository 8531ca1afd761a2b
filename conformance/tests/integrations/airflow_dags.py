"""Two DAGs that `nox -s airflow` runs. Each has one task of the example operator."""

import os

from airflow.sdk import DAG
from airflow_operator import ValidateDeltaTable

with DAG("sound", schedule=None, params={"table": os.environ["SOUND_TABLE"]}):
    ValidateDeltaTable(task_id="check", table="{{ params.table }}", level="log")

with DAG("faulty", schedule=None):
    ValidateDeltaTable(task_id="check", table=os.environ["FAULTY_TABLE"], level="log", retries=3)
