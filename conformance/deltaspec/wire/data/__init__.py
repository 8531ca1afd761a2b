"""Values of data files, read with the table schema, and deletion vectors."""
