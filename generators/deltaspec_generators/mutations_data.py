"""Tables broken in files of the table: presence, size, deletion-vector files; level `files` shows it."""
