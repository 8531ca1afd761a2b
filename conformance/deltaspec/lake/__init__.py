"""The overview of many tables: verdicts, what is new since the report before, and the trend."""
