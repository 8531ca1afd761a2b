"""Views of the log's files and lines."""
