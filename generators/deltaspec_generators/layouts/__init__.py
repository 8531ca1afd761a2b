"""Legal ways to write down the log of a table, whatever its history."""
