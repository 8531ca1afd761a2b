"""Commands of several screens, and what commands share. Nothing that takes time is imported before it is needed."""
