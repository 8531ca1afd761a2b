"""Tables broken in rows of data files; level `rows` shows it."""
