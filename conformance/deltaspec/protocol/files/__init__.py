"""Values of file actions: paths, partition values, statistics, deletion vectors."""
