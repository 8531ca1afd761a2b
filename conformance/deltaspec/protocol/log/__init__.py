"""Files of the log and their names."""
