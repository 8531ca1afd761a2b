"""Files of the log: JSON lines and checkpoints become actions and rows of file actions."""
