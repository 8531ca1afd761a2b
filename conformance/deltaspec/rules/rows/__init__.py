"""Rules over the rows of data files: values of single columns, and SQL expressions."""
