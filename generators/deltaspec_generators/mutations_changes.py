"""Tables broken in change data files; level `rows` shows it."""
