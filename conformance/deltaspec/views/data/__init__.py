"""Views of data files and their rows."""
