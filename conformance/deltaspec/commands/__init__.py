"""Large commands, and helpers that commands share. Modules that are slow to import are imported when needed."""
