"""The checkpoint directory of a Spark context: rows in it survive the executors that computed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaspec.validation.spark.session import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def has_checkpoint_directory(session: SparkSession) -> bool:
    """Return whether the user has set a checkpoint directory. A client of Spark Connect could not clean it up."""
    return not is_remote(session) and session.sparkContext.getCheckpointDir() is not None


def delete_checkpoint(frame: DataFrame) -> None:
    """Delete the files of a frame that `DataFrame.checkpoint` returned."""
    java: Any = frame
    context: Any = frame.sparkSession.sparkContext
    file = java._jdf.queryExecution().analyzed().rdd().getCheckpointFile()
    if file.isDefined():
        path = context._jvm.org.apache.hadoop.fs.Path(file.get())
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)
