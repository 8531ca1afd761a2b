"""Tables broken in row ids; level `log` and `rows` shows it."""
