"""Values of data files, read by the table schema, and deletion vectors."""
